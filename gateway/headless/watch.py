"""Looks on at the turns of a run, from beside them: it can hold nothing up and change nothing."""

from __future__ import annotations

from typing import Protocol

from core.agent.events import TurnEvent
from core.sessions.ports import Begun, Ending, TurnRef
from gateway.lanes import TurnWorker


class Watch(Protocol):
    """Who looks on."""

    def happened(self, event: TurnEvent) -> None:
        """Something happened in a turn."""
        ...

    def ended(self, ref: TurnRef, ending: Ending) -> None:
        """A turn's work has ended so; what the store makes of it comes later."""
        ...


class Watched:
    """A `TurnWorker` whose endings are seen."""

    def __init__(self, worker: TurnWorker, watch: Watch) -> None:
        self.clean_up = worker.clean_up
        self._worker = worker
        self._watch = watch

    async def work(self, ref: TurnRef, begun: Begun) -> Ending:
        """See `TurnWorker.work`."""
        ending = await self._worker.work(ref, begun)
        self._watch.ended(ref, ending)
        return ending
