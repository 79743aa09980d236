"""A person at this process's own terminal, who is asked on standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from adapters.console.clean import one_line
from adapters.console.decode import MAX_TEXT_BYTES
from adapters.console.front import Heard, Typed
from adapters.console.lines import LineCutter
from adapters.console.stdio import CLOSED, InputThread, OutputWriter
from core.sessions.conversation import Question

WORDS = "Your answer: "
CHOICE = "Your choice (a number): "


class TerminalPerson:
    """Reads answers line by line; standard input is left alone until there is a question."""

    def __init__(self, fds: tuple[int, int]) -> None:
        self._input = fds[0]
        self._errors = OutputWriter(fds[1])
        self._reader: InputThread | None = None
        self._cutter = LineCutter(MAX_TEXT_BYTES)
        self._read: list[Heard] = []

    async def answer(self, question: Question, choices: Sequence[str]) -> str | None:
        """See `Person.answer`."""
        offered = [f"  {n}. {_plain(label, n)}" for n, label in enumerate(choices, 1)]
        await self._errors.write("\n".join([*offered, CHOICE if offered else WORDS]))
        heard = await self._line()
        if heard is None:
            return None
        return heard.text if isinstance(heard, Typed) else ""

    def close(self) -> None:
        """Let go of standard input."""
        if self._reader is not None:
            self._reader.close()

    async def _line(self) -> Heard | None:
        if self._reader is None:
            self._reader = InputThread(self._input)
        while not self._read:
            data = await self._reader.chunk()
            self._read += self._cutter.feed(data) if data else self._cutter.end()
            if not data and not self._read:
                return None
        return self._read.pop(0)


def terminal_person() -> TerminalPerson | None:
    """Who sits at standard input and reads standard error, None where it is nobody."""
    streams = (sys.__stdin__, sys.__stderr__)
    if not all(stream is not None and stream.isatty() for stream in streams):
        return None
    fds = [CLOSED if stream is None else stream.fileno() for stream in streams]
    return TerminalPerson((fds[0], fds[1]))


def _plain(label: str, number: int) -> str:
    """A label without the number that it may bring itself."""
    return one_line(label).removeprefix(f"{number}. ")
