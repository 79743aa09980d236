"""Runs the real Telegram adapter against the fake Bot API, with timeouts fit for tests."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace

from adapters.telegram.adapter import TelegramPlatform
from adapters.telegram.options import MenuEntry, TelegramOptions
from core.messages import Address, PlatformName
from tests.fakes.intake import FakeIntake
from tests.fakes.telegram_api import FakeTelegram

MENU = (MenuEntry("goal", "Set, show or change the goal"), MenuEntry("stop", "Stop the work"))


class RealClock:
    """The machine's clocks."""

    def now(self) -> float:
        """Epoch seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()


class HeldClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.at = 1000.0

    def now(self) -> float:
        """The held time."""
        return self.at

    def monotonic(self) -> float:
        """The held time."""
        return self.at


def quick(fake: FakeTelegram) -> TelegramOptions:
    """Options that point at the fake and never wait long."""
    return TelegramOptions(
        token=fake.token,
        base_url=fake.base_url,
        base_file_url=fake.base_file_url,
        poll_s=2.0,
        call_s=2.0,
        connect_s=1.0,
        backoff_s=0.02,
        backoff_cap_s=0.1,
        close_s=1.0,
        progress_gap_s=0.0,
    )


def platform_for(
    fake: FakeTelegram,
    *,
    commands: Sequence[MenuEntry] = MENU,
    **changes: object,
) -> TelegramPlatform:
    """An adapter that is not running."""
    options = replace(quick(fake), **changes)  # type: ignore[arg-type]
    return TelegramPlatform(options, commands=commands, clock=RealClock(), hold=nullcontext)


@asynccontextmanager
async def running(platform: TelegramPlatform, intake: FakeIntake) -> AsyncIterator[None]:
    """Run the adapter; begins when its first backlog is in, fails when it does."""
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


def at(fake: FakeTelegram, chat: int, thread: int = 0) -> Address:
    """The address of a chat or topic."""
    return Address(
        PlatformName.TELEGRAM, str(fake.bot.id), str(chat), str(thread) if thread else ""
    )
