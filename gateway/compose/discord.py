"""Discord from its settings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from adapters.discord.adapter import DiscordPlatform
from adapters.discord.options import API_BASE, GATEWAY_URL, DiscordOptions, MenuEntry
from core.commands import COMMANDS
from core.messages import PlatformName
from core.ports import Platform
from gateway.access import Access
from gateway.compose.setup import Setup
from gateway.token_lock import lock_file, locks_folder, token_lock


@dataclass(frozen=True, slots=True)
class Admitted:
    """The people of Discord, as the access rules have them at the moment."""

    access: Access

    def known(self) -> tuple[int, ...]:
        """See `People.known`."""
        listed = self.access.people(PlatformName.DISCORD)
        return tuple(int(person) for person in listed if person.isdecimal())

    def admits(self, person: str, chat: str) -> bool:
        """See `People.admits`."""
        return self.access.role(PlatformName.DISCORD, person, chat) is not None


def discord(setup: Setup) -> Platform:
    """The bot. Raises UserError for a token that cannot be one."""
    settings = setup.settings.platforms.discord
    options = DiscordOptions(
        token=settings.token.get_secret_value() if settings.token else "",
        api_base=settings.api_base or API_BASE,
        gateway_url=settings.gateway_url or GATEWAY_URL,
    )
    folder = locks_folder()
    hold = partial(
        token_lock,
        lock_file(folder, PlatformName.DISCORD, options.token),
        runs="the bot of platforms.discord.token",
        instead="another token",
    )
    return DiscordPlatform(
        options,
        commands=[MenuEntry(spec.name, spec.summary, spec.words) for spec in COMMANDS],
        people=Admitted(setup.access),
        clock=setup.clock,
        state_dir=folder,
        hold=hold,
    )
