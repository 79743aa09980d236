"""Pauses that double, with jitter so that many bots do not come back in step."""

from __future__ import annotations

import asyncio
import random


class Backoff:
    """The pauses of one thing that fails."""

    def __init__(self, first_s: float, cap_s: float) -> None:
        self._first_s = first_s
        self._cap_s = cap_s
        self._failures = 0

    def reset(self) -> None:
        """All is well again."""
        self._failures = 0

    async def pause(self, at_least_s: float = 0.0) -> None:
        """Wait out one more failure."""
        self._failures += 1
        longest = min(self._cap_s, self._first_s * 2.0 ** min(self._failures - 1, 16))
        spread = random.uniform(0.5, 1.0)  # noqa: S311 - spreads reconnects, guards nothing
        await asyncio.sleep(max(at_least_s, longest * spread))
