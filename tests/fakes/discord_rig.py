"""Runs the real Discord adapter against the fake Discord, with timeouts fit for tests."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from adapters.discord.adapter import DiscordPlatform
from adapters.discord.options import DiscordOptions, MenuEntry
from core.messages import Address, PlatformName
from tests.fakes.discord_api import FakeDiscord
from tests.fakes.intake import FakeIntake

MENU = (
    MenuEntry("goal", "Set, show or change the goal", ("pause", "resume", "clear")),
    MenuEntry("stop", "Stop the work"),
    MenuEntry("status", "What this chat is doing"),
    MenuEntry("queue", "Send a message that waits"),
)


class RealClock:
    """The machine's clocks."""

    def now(self) -> float:
        """Epoch seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()


@dataclass(slots=True)
class Crowd:
    """Everybody may talk but the strangers; `ids` are those who are known beforehand."""

    ids: tuple[int, ...] = ()
    strangers: tuple[int, ...] = ()

    def known(self) -> tuple[int, ...]:
        """See `People.known`."""
        return self.ids

    def admits(self, person: str, chat: str) -> bool:
        """See `People.admits`."""
        return bool(chat) and int(person) not in self.strangers


def quick(fake: FakeDiscord) -> DiscordOptions:
    """Options that point at the fake and never wait long."""
    return DiscordOptions(
        token=fake.token,
        api_base=fake.api_base,
        gateway_url=fake.gateway_url,
        call_s=3.0,
        upload_s=5.0,
        connect_s=5.0,
        backoff_s=0.02,
        backoff_cap_s=0.1,
        identify_s=0.02,
        settle_s=0.05,
        catch_up_s=3.0,
        close_s=1.0,
        progress_gap_s=0.0,
    )


def platform_for(
    fake: FakeDiscord,
    folder: Path,
    *,
    commands: Sequence[MenuEntry] = MENU,
    people: Crowd | None = None,
    **changes: object,
) -> DiscordPlatform:
    """An adapter that is not running."""
    options = replace(quick(fake), **changes)  # type: ignore[arg-type]
    return DiscordPlatform(
        options,
        commands=commands,
        people=people or Crowd(),
        clock=RealClock(),
        state_dir=folder,
        hold=nullcontext,
    )


@asynccontextmanager
async def running(platform: DiscordPlatform, intake: FakeIntake) -> AsyncIterator[None]:
    """Run the adapter; begins when it has caught up, fails when it does."""
    intake.caught.clear()
    task = asyncio.create_task(platform.run(intake), name="platform")
    ready = asyncio.create_task(intake.wait_for(lambda: intake.caught), name="ready")
    try:
        await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            await task
        await ready
        yield
    finally:
        task.cancel()
        ready.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        with contextlib.suppress(asyncio.CancelledError):
            await ready


def at(fake: FakeDiscord, channel: int) -> Address:
    """The address of a channel, thread or private chat."""
    account = str(fake.backend.bot_user.id)
    parent = fake.backend.get_channel(channel).parent_id
    if parent:
        return Address(PlatformName.DISCORD, account, str(parent), str(channel))
    return Address(PlatformName.DISCORD, account, str(channel))
