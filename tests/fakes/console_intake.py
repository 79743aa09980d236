"""A small gateway behind the console: it records what it is given and answers by a script.

It is durable towards nobody; it only keeps the promises of `core.ports.Intake` and of `idle`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from core.messages import (
    Ack,
    Duplicate,
    Handled,
    Inbound,
    Message,
    PlatformName,
    Press,
    Queued,
)
from core.ports import Platform

Work: TypeAlias = Callable[[Platform, Message], Awaitable[None]]


class RecordingIntake:
    """Accepts everything in memory, once per dedupe key; `faults` are raised first, one a call.

    `replies` are given as acks in their order before the default ones are.
    """

    def __init__(self, *, faults: Sequence[Exception] = (), replies: Sequence[Ack] = ()) -> None:
        self.accepted: list[Inbound] = []
        self.caught: list[PlatformName] = []
        self._faults = deque(faults)
        self._replies = deque(replies)
        self._keys: set[str] = set()
        self._changed = asyncio.Condition()

    async def accept(
        self, batch: Sequence[Inbound], *, cursor: tuple[str, str] | None = None
    ) -> tuple[Ack, ...]:
        if self._faults:
            raise self._faults.popleft()
        acks = [self._take(value) for value in batch]
        async with self._changed:
            self._changed.notify_all()
        return tuple(acks)

    async def cursor(self, source: str) -> str | None:
        return None

    def caught_up(self, platform: PlatformName) -> None:
        self.caught.append(platform)

    def texts(self) -> list[str]:
        """What was said and pressed, in order."""
        return [text_of(value) for value in self.accepted]

    async def until(self, count: int) -> list[Inbound]:
        """The accepted values once there are `count` of them."""
        async with self._changed, asyncio.timeout(10):
            await self._changed.wait_for(lambda: len(self.accepted) >= count)
        return self.accepted

    def _take(self, value: Inbound) -> Ack:
        if value.dedupe in self._keys:
            return Duplicate()
        self._keys.add(value.dedupe)
        self.accepted.append(value)
        return self._replies.popleft() if self._replies else self.ack(value)

    def ack(self, value: Inbound) -> Ack:
        """What becomes of a value that no script speaks of."""
        return Queued(0)


class WorkingIntake(RecordingIntake):
    """Works each message off in its turn; `/stop` ends the running one and drops the rest."""

    def __init__(self, work: Work, on_stop: Work) -> None:
        super().__init__()
        self._work = work
        self._on_stop = on_stop
        self._waiting: deque[Message] = deque()
        self._turn: asyncio.Task[None] | None = None
        self._pending = 0
        self._stirred = asyncio.Event()
        self._rest = asyncio.Event()
        self._rest.set()

    def ack(self, value: Inbound) -> Ack:
        if isinstance(value, Message) and not value.text.startswith("/stop"):
            behind = self._pending
            self._waiting.append(value)
            self._count(1)
            return Queued(behind)
        if isinstance(value, Message):
            self._count(1)
            self._drop()
            self._waiting.append(value)
        return Handled(f"done: {text_of(value)}")

    async def idle(self) -> None:
        """Returns when nothing runs and nothing waits."""
        await self._rest.wait()

    async def serve(self, platform: Platform) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                while self._waiting:
                    message = self._waiting.popleft()
                    stops = message.text.startswith("/stop")
                    work = self._on_stop if stops else self._work
                    self._turn = group.create_task(_run(work, platform, message))
                    await asyncio.wait({self._turn})
                    self._turn = None
                    self._count(-1)
                self._stirred.clear()
                await self._stirred.wait()

    def _drop(self) -> None:
        self._count(-len(self._waiting))
        self._waiting.clear()
        if self._turn is not None:
            self._turn.cancel()

    def _count(self, by: int) -> None:
        self._pending += by
        self._stirred.set()
        if self._pending:
            self._rest.clear()
        else:
            self._rest.set()


async def _run(work: Work, platform: Platform, message: Message) -> None:
    await work(platform, message)


def text_of(value: Inbound) -> str:
    """The words of what came in."""
    match value:
        case Message():
            return value.text
        case Press():
            return f"[{value.command}]"
        case _:
            return ""
