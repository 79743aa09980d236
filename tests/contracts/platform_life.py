"""One life of an adapter in a rig: its `run` as a task, waited for at both ends."""

from __future__ import annotations

import asyncio
import contextlib

from core.ports import Platform
from tests.fakes.intake import FakeIntake

END_S = 15.0


class Life:
    """Runs an adapter at a time."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    async def begin(self, platform: Platform, intake: FakeIntake, within_s: float = 10.0) -> None:
        """Run it; returns when its first backlog is in, raises what ends it before."""
        intake.caught.clear()
        self._task = asyncio.create_task(platform.run(intake), name=f"{platform.name}-life")
        ready = asyncio.create_task(
            intake.wait_for(lambda: intake.caught, within_s), name="life-ready"
        )
        await asyncio.wait({self._task, ready}, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            ready.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await ready
            await self._task
            raise AssertionError("the adapter ended before it had caught up")
        await ready

    async def end(self) -> None:
        """Cancel it and wait; raises what it died of before, and when it does not end."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=END_S)
        assert done, f"{task.get_name()} does not end within {END_S} s"
        with contextlib.suppress(asyncio.CancelledError):
            await task
