"""`LocalDispatcher`: the `Dispatcher` port for one process that owns its data."""

from __future__ import annotations

import asyncio
from functools import partial

from core.messages import LaneKey, TurnId
from core.sessions.ports import Cancel, Drain


class LocalDispatcher:
    """At most `limit` lanes are drained at once, each by one task; the others wait in order.

    A lane that is enlisted while its worker runs is looked at once more when that ends, so no
    wake-up is lost.
    """

    def __init__(self, limit: int) -> None:
        self._slots = asyncio.Semaphore(limit)
        self._queue: asyncio.Queue[LaneKey] = asyncio.Queue()
        self._busy: dict[LaneKey, bool] = {}
        self._cancel: Cancel | None = None

    def enlist(self, lane: LaneKey) -> None:
        """See `Dispatcher.enlist`."""
        if lane in self._busy:
            self._busy[lane] = True
            return
        self._busy[lane] = False
        self._queue.put_nowait(lane)

    def signal(self, lane: LaneKey, turn: TurnId) -> None:
        """See `Dispatcher.signal`."""
        if self._cancel is not None:
            self._cancel(lane, turn)

    async def lead(self) -> None:
        """The data directory's lock makes this process the only one."""

    async def run(self, drain: Drain, cancel: Cancel) -> None:
        """See `Dispatcher.run`."""
        self._cancel = cancel
        async with asyncio.TaskGroup() as workers:
            while True:
                lane = await self._queue.get()
                await self._slots.acquire()
                worker = workers.create_task(drain(lane), name=f"lane {lane}")
                # Not `finally` inside the task: one that is cancelled before its first step
                # never enters its body, and the lane would stay busy for ever.
                worker.add_done_callback(partial(self._done, lane))

    def _done(self, lane: LaneKey, _: asyncio.Task[None]) -> None:
        self._slots.release()
        if self._busy.pop(lane):
            self.enlist(lane)
