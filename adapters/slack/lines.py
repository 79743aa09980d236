"""One message of a lane at a time, in the order in which they came; lanes do not wait for each
other. Keeps nothing on disk and asks nobody."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from core.messages import LaneKey

HELD_S = 400.0
"""Slack brings an event again for about six minutes: then the lane waits for it no longer."""


@dataclass(slots=True)
class Line:
    """A lane's messages; `held` is the one that has to come again first, until `until`."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    held: str = ""
    until: float = 0.0


class Lines:
    """The lanes with something under way or held."""

    def __init__(self, held_s: float = HELD_S) -> None:
        self._held_s = held_s
        self._lines: dict[LaneKey, Line] = {}

    @asynccontextmanager
    async def turn(self, lane: LaneKey, dedupe: str) -> AsyncIterator[bool]:
        """The message's turn in its lane; false while another one has to come first."""
        line = self._lines.setdefault(lane, Line())
        line.users += 1
        try:
            async with line.lock:
                is_next = line.held in {"", dedupe} or _now() >= line.until
                if is_next:
                    line.held = ""
                yield is_next
        finally:
            line.users -= 1
            self._sweep()

    def hold(self, lane: LaneKey, dedupe: str) -> None:
        """Let nothing of the lane through before this message, whose turn it is."""
        line = self._lines[lane]
        line.held, line.until = dedupe, _now() + self._held_s

    def _sweep(self) -> None:
        now = _now()
        for lane, line in list(self._lines.items()):
            if not line.users and (not line.held or now >= line.until):
                del self._lines[lane]


def _now() -> float:
    return asyncio.get_running_loop().time()
