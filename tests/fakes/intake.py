"""An `Intake` that keeps what it is given in memory: dedupes, can fail, can be slow.

It stands for the durable inbox in adapter tests; it starts no turn and answers nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import TypeVar

from core.errors import TransientError
from core.messages import Ack, Duplicate, Inbound, Message, PlatformName, Queued

T = TypeVar("T")


class FakeIntake:
    """Records batches in `accepted` (duplicates left out) and `attempts` (everything)."""

    def __init__(self) -> None:
        self.accepted: list[Inbound] = []
        self.attempts: list[tuple[tuple[Inbound, ...], tuple[str, str] | None]] = []
        self.cursors: dict[str, str] = {}
        self.caught: list[PlatformName] = []
        self.acks: Callable[[Inbound], Ack] = lambda _: Queued(0)
        """What a fresh value is answered with."""
        self.failures = 0
        """So many accepts fail from now on."""
        self.gate = asyncio.Event()
        """While cleared, accept waits."""
        self.gate.set()
        self._seen: set[str] = set()
        self._waiters: set[asyncio.Future[None]] = set()

    async def accept(
        self, batch: Sequence[Inbound], *, cursor: tuple[str, str] | None = None
    ) -> tuple[Ack, ...]:
        """Keep a batch, or fail as planned."""
        self.attempts.append((tuple(batch), cursor))
        self._notify()
        await self.gate.wait()
        if self.failures:
            self.failures -= 1
            raise TransientError("the disk is full")
        acks = tuple(self._keep(inbound) for inbound in batch)
        if cursor is not None:
            self.cursors[cursor[0]] = cursor[1]
        self._notify()
        return acks

    async def cursor(self, source: str) -> str | None:
        """The position last committed."""
        return self.cursors.get(source)

    def caught_up(self, platform: PlatformName) -> None:
        """The first backlog is in."""
        self.caught.append(platform)
        self._notify()

    @property
    def texts(self) -> list[str]:
        """The texts of the messages kept."""
        return [i.text for i in self.accepted if isinstance(i, Message)]

    async def wait_for(self, predicate: Callable[[], T | None], within_s: float = 5.0) -> T:
        """The predicate's first true value; asked anew after each batch."""
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
        raise AssertionError(f"not seen within {within_s} s; accepted: {self.accepted}")

    async def got(self, count: int, within_s: float = 5.0) -> list[Inbound]:
        """What was kept, once it is `count` values."""
        return await self.wait_for(
            lambda: self.accepted if len(self.accepted) >= count else None, within_s
        )

    def _keep(self, inbound: Inbound) -> Ack:
        if inbound.dedupe in self._seen:
            return Duplicate()
        self._seen.add(inbound.dedupe)
        self.accepted.append(inbound)
        return self.acks(inbound)

    def _notify(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
