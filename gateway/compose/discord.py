"""Discord from its settings."""

from __future__ import annotations

import platformdirs

from adapters.discord.adapter import DiscordPlatform
from adapters.discord.options import API_BASE, GATEWAY_URL, DiscordOptions, MenuEntry
from core.commands import COMMANDS
from core.ports import Platform
from gateway.compose.setup import Setup


def discord(setup: Setup) -> Platform:
    """The bot. Raises UserError for a token that cannot be one."""
    settings = setup.settings.platforms.discord
    access = setup.settings.access.discord
    options = DiscordOptions(
        token=settings.token.get_secret_value() if settings.token else "",
        api_base=settings.api_base or API_BASE,
        gateway_url=settings.gateway_url or GATEWAY_URL,
        people=(*access.owners, *access.members),
    )
    return DiscordPlatform(
        options,
        commands=[MenuEntry(spec.name, spec.summary, spec.words) for spec in COMMANDS],
        clock=setup.clock,
        state_dir=platformdirs.user_state_path("pursuit") / "locks",
    )
