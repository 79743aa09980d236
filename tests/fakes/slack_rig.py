"""Runs the real Slack adapter against the fake Slack, with timeouts fit for tests."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace

from adapters.slack.adapter import SlackPlatform
from adapters.slack.handover import Known
from adapters.slack.options import SlackOptions
from core.ports import Clock
from tests.fakes.intake import FakeIntake
from tests.fakes.slack_api import FakeSlack


class RealClock:
    """The machine's clocks."""

    def now(self) -> float:
        """Epoch seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()


def quick(fake: FakeSlack) -> SlackOptions:
    """Options that point at the fake and never wait long."""
    return SlackOptions(
        bot_token=fake.bot_token,
        app_token=fake.app_token,
        base_url=fake.base_url,
        call_s=3.0,
        connect_s=1.0,
        ping_s=0.3,
        deaf_s=3.0,
        backoff_s=0.02,
        backoff_cap_s=0.1,
        close_s=1.0,
        settle_s=0.05,
        progress_gap_s=0.0,
        extras_per_minute=1000,
    )


def platform_for(
    fake: FakeSlack,
    *,
    clock: Clock | None = None,
    known: Known = lambda *_: True,
    **changes: object,
) -> SlackPlatform:
    """An adapter that is not running; `known` says who is no stranger."""
    options = replace(quick(fake), **changes)  # type: ignore[arg-type]
    return SlackPlatform(options, clock=clock or RealClock(), hold=nullcontext, known=known)


@asynccontextmanager
async def running(platform: SlackPlatform, intake: FakeIntake) -> AsyncIterator[None]:
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
