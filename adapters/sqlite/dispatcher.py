"""`LocalDispatcher`: the `Dispatcher` port for one process that owns its data."""

from __future__ import annotations

from core.messages import LaneKey, TurnId
from core.sessions.lane_tasks import LaneTasks
from core.sessions.ports import Cancel, Drain


class LocalDispatcher:
    """At most `limit` lanes are drained at once; the others wait in the order they came."""

    def __init__(self, limit: int) -> None:
        self._lanes = LaneTasks(self._work, "lane", limit=limit)
        self._drain: Drain | None = None
        self._cancel: Cancel | None = None

    def enlist(self, lane: LaneKey) -> None:
        """See `Dispatcher.enlist`."""
        self._lanes.enlist(lane)

    def signal(self, lane: LaneKey, turn: TurnId) -> None:
        """See `Dispatcher.signal`."""
        if self._cancel is not None:
            self._cancel(lane, turn)

    async def lead(self) -> None:
        """The data directory's lock makes this process the only one."""

    async def run(self, drain: Drain, cancel: Cancel) -> None:
        """See `Dispatcher.run`."""
        self._drain, self._cancel = drain, cancel
        await self._lanes.run()

    async def _work(self, lane: LaneKey) -> None:
        if self._drain is not None:
            await self._drain(lane)
