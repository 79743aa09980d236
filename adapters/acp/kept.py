"""What a runner prints and says, held in bounded memory and made fit to show. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from core.fence import one_line, plain

ANSWER_BYTES = 200_000
ERROR_BYTES = 2_000

_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b\n]*(?:\x1b\\)?"  # DCS and its kin
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor
    r"|\x1b[ -/]*[0-~]?"
)


def clean(text: str) -> str:
    """Without escapes and control characters; of a line that a carriage return overwrote, the
    last state stays."""
    lines = _ESCAPES.sub("", text).split("\n")
    return plain("\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)).strip()


def short(text: str, limit: int) -> str:
    """On one line of at most `limit` characters, without escapes; of a text of megabytes only the
    beginning is looked at."""
    return one_line(_ESCAPES.sub("", text[: 4 * limit]), limit)


@dataclass(slots=True)
class Kept:
    """The first `head` and the last `tail` bytes of a text of any length."""

    head: int = ANSWER_BYTES // 2
    tail: int = ANSWER_BYTES // 2
    total: int = 0
    _first: bytearray = field(default_factory=bytearray)
    _last: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> None:
        """Take the next piece."""
        self.total += len(data)
        room = self.head - len(self._first)
        self._first += data[:room]
        self._last += data[room:]
        if len(self._last) > 2 * self.tail:
            del self._last[: -self.tail]

    @property
    def text(self) -> str:
        """The text, cleaned; a mark where its middle was left out."""
        last = self._last[-self.tail :]
        left_out = self.total - len(self._first) - len(last)
        if not left_out:
            return clean((self._first + last).decode("utf-8", "replace"))
        mark = f"[… {left_out} bytes left out …]"
        first, end = self._first.decode("utf-8", "ignore"), last.decode("utf-8", "ignore")
        return clean(f"{first}\n{mark}\n{end}" if first else f"{mark}\n{end}")


@dataclass(slots=True)
class Answer:
    """What a runner says in the course of its work. What it said after its last tool call is
    the answer, or all of it when it ended on a call."""

    _all: Kept = field(default_factory=Kept)
    _since: Kept = field(default_factory=Kept)
    _parted: bool = False

    def say(self, text: str) -> None:
        """The next piece of its message."""
        if not text:
            return
        data = text.encode("utf-8", "replace")
        if self._parted and self._all.total:
            self._all.feed(b"\n\n")
        self._parted = False
        self._all.feed(data)
        self._since.feed(data)

    def call(self) -> None:
        """It began a tool call."""
        self._since, self._parted = Kept(), True

    @property
    def text(self) -> str:
        """The answer so far."""
        return self._since.text or self._all.text
