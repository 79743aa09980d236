"""Who stands beside the way in: progress messages that are no longer the last of their chat,
and the folders of lanes that get another key."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from core.messages import LaneKey
from gateway.narrator import Narrator


@dataclass(frozen=True, slots=True)
class Beside:
    """The router's `Bystander`. `rehome` gives a lane's folder to its new key; it may be told
    of the same move again."""

    narrator: Narrator
    rehome: Callable[[LaneKey, LaneKey], None]

    def wrote(self, lane: LaneKey) -> None:
        """See `Bystander.wrote`."""
        self.narrator.moved_on(lane)

    async def moved(self, old: LaneKey, new: LaneKey) -> None:
        """See `Bystander.moved`."""
        await asyncio.to_thread(self.rehome, old, new)
