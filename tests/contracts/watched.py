"""Something that changes and can be waited for without polling."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Watched:
    """Call `changed` after each change; `describe` tells what was seen when a wait fails."""

    def __init__(self, describe: Callable[[], str]) -> None:
        self._describe = describe
        self._waiters: set[asyncio.Future[None]] = set()

    def changed(self) -> None:
        """Ask every waiting predicate again."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def until(self, predicate: Callable[[], T | None], within_s: float) -> T:
        """The predicate's first true value."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while not (value := predicate()):
                    waiter = asyncio.get_running_loop().create_future()
                    self._waiters.add(waiter)
                    try:
                        await waiter
                    finally:
                        self._waiters.discard(waiter)
                return value
        raise AssertionError(f"not seen within {within_s} s: {self._describe()}")
