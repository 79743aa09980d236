"""Who stands beside the way in: progress messages that are no longer the last of their chat,
the folders of lanes that get another key, and people whose words could not be stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from core.messages import LaneKey
from core.ports import Clock
from gateway.narrator import Narrator

TOLD_EVERY_S = 600.0


@dataclass(frozen=True, slots=True)
class Beside:
    """The router's `Bystander`. `rehome` gives a lane's folder to its new key; it may be told
    of the same move again."""

    narrator: Narrator
    rehome: Callable[[LaneKey, LaneKey], None]
    clock: Clock
    told: dict[LaneKey, float] = field(default_factory=dict)
    """When a lane was last told that nothing is stored, in monotonic time."""

    def wrote(self, lane: LaneKey) -> None:
        """See `Bystander.wrote`."""
        self.narrator.moved_on(lane)

    async def moved(self, old: LaneKey, new: LaneKey) -> None:
        """See `Bystander.moved`."""
        await asyncio.to_thread(self.rehome, old, new)

    def unsaved(self, lane: LaneKey, reason: str) -> None:
        """See `Bystander.unsaved`. The store cannot take this notice either, so it is sent past
        the outbox, best effort."""
        now = self.clock.monotonic()
        for old in [lane for lane, at in self.told.items() if now - at >= TOLD_EVERY_S]:
            del self.told[old]
        if lane not in self.told:
            self.told[lane] = now
            self.narrator.tell(lane, f"⚠ {reason}")
