"""Who works beside the lanes in tests of the lanes themselves: a worker that answers at once, and
followers to whom nothing matters."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from core.messages import LaneKey
from core.sessions.lane import Outcome
from core.sessions.ports import Begun, Ending, TurnRef
from tests.contracts.store_rig import answered, texts


@dataclass(slots=True)
class Answering:
    """A `TurnWorker` that answers at once and writes down what it was told to do; its turns end
    as `outcome` says."""

    outcome: Outcome = Outcome.ANSWERED
    did: list[str] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def work(self, ref: TurnRef, begun: Begun) -> Ending:
        """See `TurnWorker.work`."""
        self._note(*texts(begun))
        return replace(answered(), outcome=self.outcome)

    async def clean_up(self, ref: TurnRef) -> None:
        """See `TurnWorker.clean_up`."""
        self._note(f"cleaned up {ref.turn}")

    def _note(self, *words: str) -> None:
        self.did += words
        self.changed.set()

    async def until(self, words: str) -> list[str]:
        """All that it did, once this is among it."""
        async with asyncio.timeout(10):
            while words not in self.did:
                self.changed.clear()
                await self.changed.wait()
        return self.did


@dataclass(slots=True)
class Unheard:
    """A follower that takes every signal and does nothing."""

    lanes: list[LaneKey] = field(default_factory=list)

    def enlist(self, lane: LaneKey) -> None:
        """See `PerLane.enlist`."""
        self.lanes.append(lane)

    def stir(self) -> None:
        """See `Followers.stir`."""
