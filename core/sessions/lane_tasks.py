"""One task a lane: what the dispatcher, the judge, the delivery and the cards have in common."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from core.errors import DamagedLane
from core.messages import LaneKey

LaneWork: TypeAlias = Callable[[LaneKey], Coroutine[object, object, None]]


class LaneTasks:
    """Runs `work(lane)` for enlisted lanes, many at a time and each lane by one task.

    A lane that is enlisted while its task runs is worked once more when that ends, so no wake-up
    is lost; a lane with nothing to do holds nothing. `limit` bounds how many work at once.
    `ended` is called after each lane's work. A damaged lane has none: its store has said why.
    """

    def __init__(
        self,
        work: LaneWork,
        name: str,
        *,
        limit: int | None = None,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self._work = work
        self._name = name
        self._slots = asyncio.Semaphore(limit) if limit else None
        self._ended = ended
        self._again: dict[LaneKey, bool] = {}
        self._early: dict[LaneKey, None] = {}
        self._group: asyncio.TaskGroup | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    def enlist(self, lane: LaneKey) -> None:
        """The lane may have something to do; idempotent and cheap, also before `run`."""
        if lane in self._again:
            self._again[lane] = True
        elif self._group is None:
            self._early[lane] = None
        else:
            self._start(self._group, lane)

    async def run(self) -> None:
        """Work until cancelled; then every lane's task is cancelled too."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            for lane in self._early:
                self._start(group, lane)
            self._early.clear()
            try:
                await asyncio.Event().wait()
            finally:
                self._group = None  # before the group shuts down, when it takes no more tasks

    async def idle(self) -> None:
        """Return when no lane is being worked."""
        await self._idle.wait()

    def _start(self, group: asyncio.TaskGroup, lane: LaneKey) -> None:
        self._again[lane] = False
        self._idle.clear()
        task = group.create_task(self._limited(lane), name=f"{self._name} {lane}")
        # Not `finally` inside the task: one that is cancelled before its first step never
        # enters its body, and the lane would stay busy for ever.
        task.add_done_callback(partial(self._done, lane))

    async def _limited(self, lane: LaneKey) -> None:
        with suppress(DamagedLane):  # it rests, and must take no other with it
            if self._slots is None:
                await self._work(lane)
                return
            async with self._slots:
                await self._work(lane)

    def _done(self, lane: LaneKey, task: asyncio.Task[None]) -> None:
        again = self._again.pop(lane)
        if again and not task.cancelled():  # cancelled: everything is ending
            self.enlist(lane)
        if not self._again:
            self._idle.set()
        self._ended()
