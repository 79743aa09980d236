"""Tells when a lane has nothing left to do: for chats that end with their work."""

from __future__ import annotations

import asyncio

from core.messages import LaneKey
from core.sessions.ports import Store


class Stillness:
    """Wakes whoever waits for a lane to come to rest; `stir` after every change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stirred = asyncio.Event()

    def stir(self) -> None:
        """Something was committed, sent or ended."""
        self._stirred.set()

    async def of(self, lane: LaneKey) -> None:
        """Return when the lane runs nothing, waits for nothing, has no goal that goes on by
        itself, and everything was delivered."""
        while True:
            self._stirred.clear()
            if await self._store.at_rest(lane):
                return
            await self._stirred.wait()
