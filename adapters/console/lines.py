"""The front without a terminal: a message a line in, plain text out.

Standard output carries what the bot says and nothing else; progress and remarks go to standard
error. The conversation is over when the input has ended and the lane is idle, or when nobody
reads the output any more.
"""

from __future__ import annotations

import asyncio
import codecs
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress

from adapters.console.front import Hear, Heard, Oversized, Typed
from adapters.console.stdio import InputThread, OutputWriter
from core.escalations import token
from core.messages import Say

_CLOCKS = re.compile(
    r"(?<=[ (])(?:\d+h ?)?(?:\d+m ?)?\d+(?:\.\d+)?s(?=[ ,)]|$)|(?<=: )step \d+(?= ·|$)"
)
"""What moves in a line of progress though nothing new is told: seconds and counted steps."""

_EARLIER = re.compile(r"… \d+ more")
"""What stands for the lines that a progress message no longer shows; they were printed."""


class LineCutter:
    """Cuts bytes into lines without ever holding more than `limit` bytes of one."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._size = 0
        self._started = False

    def feed(self, data: bytes) -> Iterator[Heard]:
        """The lines that `data` completes."""
        if not self._started:
            self._started = True
            data = data.removeprefix(codecs.BOM_UTF8)
        *whole, rest = data.split(b"\n")
        for piece in whole:
            self._add(piece)
            yield self._take()
        self._add(rest)

    def end(self) -> Iterator[Heard]:
        """The last line, where no line break ends it."""
        if self._size:
            yield self._take()

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._limit:
            self._kept += piece

    def _take(self) -> Heard:
        size, line = self._size, bytes(self._kept)
        self._size = 0
        self._kept.clear()
        if size > self._limit:
            return Oversized(size)
        return Typed(line.removesuffix(b"\r").decode("utf-8", "replace"))


class LinesFront:
    """Reads and writes descriptors; `greeting` is shown on standard error, "" for none.

    `idle` returns when the lane has nothing left to do and all was delivered.
    """

    interactive = False

    def __init__(
        self,
        idle: Callable[[], Awaitable[None]],
        *,
        limit: int,
        greeting: str = "",
        fds: tuple[int, int, int],
    ) -> None:
        self._idle = idle
        self._limit = limit
        self._greeting = greeting
        self._input = fds[0]
        self._output = OutputWriter(fds[1])
        self._errors = OutputWriter(fds[2])
        self._reader_gone = asyncio.Event()
        self._turn = 0
        self._told: set[str] = set()

    async def greet(self) -> None:
        """Say on standard error how to use a terminal that cannot do more than lines."""
        if self._greeting:
            await self.note(self._greeting)

    async def run(self, hear: Hear) -> None:
        """Hand over line by line, then wait for the lane to be idle."""
        reader = InputThread(self._input)
        try:
            async with asyncio.TaskGroup() as group:
                reading = group.create_task(self._converse(reader, hear), name="console-lines")
                gone = group.create_task(self._reader_gone.wait(), name="console-reader-gone")
                await asyncio.wait({reading, gone}, return_when=asyncio.FIRST_COMPLETED)
                reading.cancel()
                gone.cancel()
        finally:
            reader.close()

    async def _converse(self, reader: InputThread, hear: Hear) -> None:
        cutter = LineCutter(self._limit)
        going = True
        while going and (data := await reader.chunk()):
            going = await _hand_over(cutter.feed(data), hear)
        if going:
            await _hand_over(cutter.end(), hear)
        await self._idle()

    async def say(self, what: Say) -> None:
        """Print the text, and the commands that its buttons stand for. A question's card says
        itself how it is answered by one, and its tokens are nobody's to read."""
        commands = (b for b in what.buttons if not token.is_ours(b.command))
        lines = [what.text, *(f"  {b.label}: {b.command}" for b in commands)]
        try:
            await self._output.write("\n".join(lines) + "\n")
        except OSError:
            self._reader_gone.set()
            raise

    async def say_status(self, what: Say) -> None:
        """A status is progress here, and its buttons cannot be pressed."""
        await self.note(what.text)

    async def note(self, text: str) -> None:
        """Print to standard error, where it is open."""
        with suppress(OSError):
            await self._errors.write(text + "\n")

    async def progress(self, turn: int, text: str) -> None:
        """Print the lines of the progress message that tell what none did before in this turn."""
        if turn and turn != self._turn:
            self._turn, self._told = turn, set()
        fresh: list[str] = []
        for line in text.splitlines():
            news = _CLOCKS.sub("", line)
            if news.strip() and news not in self._told and not _EARLIER.fullmatch(news):
                self._told.add(news)
                fresh.append(line)
        if fresh:
            await self.note("\n".join(fresh))

    def pin(self, what: Say | None) -> None:
        """There is no place to keep anything in sight."""

    def busy(self, *, working: bool) -> None:
        """There is nothing to turn."""


async def _hand_over(lines: Iterator[Heard], hear: Hear) -> bool:
    for heard in lines:
        if not await hear(heard):
            return False
    return True
