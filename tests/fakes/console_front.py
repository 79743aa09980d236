"""Doubles for the two ends of the console: a front that a test speaks through, a screen that a
test reads, and a clock that a test moves."""

from __future__ import annotations

import asyncio
import io

from adapters.console.front import Hear, Heard
from core.messages import Say


class HandClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.time = 1000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


class HandFront:
    """Says what a test gives it and keeps what it is shown; `fault` is raised by printing."""

    def __init__(self, *, interactive: bool = True) -> None:
        self.interactive = interactive
        self.said: list[Say] = []
        self.notes: list[str] = []
        self.doing: list[tuple[int, str]] = []
        self.pinned: Say | None = None
        self.states: list[bool] = []
        self.fault: OSError | None = None
        self._words: asyncio.Queue[Heard | None] = asyncio.Queue()
        self._turned = asyncio.Event()

    def hears(self, *words: Heard) -> None:
        for word in words:
            self._words.put_nowait(word)

    def leaves(self) -> None:
        self._words.put_nowait(None)

    async def greet(self) -> None:
        if self.fault is not None:
            raise self.fault

    async def run(self, hear: Hear) -> None:
        while (heard := await self._words.get()) is not None:
            if not await hear(heard):
                return

    async def say(self, what: Say) -> None:
        if self.fault is not None:
            raise self.fault
        self.said.append(what)

    async def say_status(self, what: Say) -> None:
        await self.say(what)

    async def note(self, text: str) -> None:
        self.notes.append(text)

    async def progress(self, turn: int, text: str) -> None:
        self.doing.append((turn, text))

    def pin(self, what: Say | None) -> None:
        self.pinned = what

    def busy(self, *, working: bool) -> None:
        self.states.append(working)
        self._turned.set()

    async def until_working(self, working: bool) -> None:
        """Returns once the spinner turns, or stands still."""
        async with asyncio.timeout(10):
            while self.states[-1:] != [working]:
                self._turned.clear()
                await self._turned.wait()


class ReadScreen(io.StringIO):
    """A terminal's output that can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self._written = asyncio.Event()

    def write(self, text: str, /) -> int:
        self._written.set()
        return super().write(text)

    async def until(self, text: str) -> str:
        """All that was written, once `text` is in it."""
        async with asyncio.timeout(10):
            while text not in self.getvalue():
                self._written.clear()
                await self._written.wait()
        return self.getvalue()
