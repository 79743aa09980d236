"""Cuts a long Markdown text into pieces that each read well. Pure and deterministic: a restart
cuts alike.

A code block that is cut is closed and opened again. What a piece may hold is the platform's to
say, and how it counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

TIDY, FULL = 2 / 3, 1.0
LINE = re.compile(r"[^\n]*\n|[^\n]+")
FENCE = re.compile(r"^(?P<lead>[ \t>]*)(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)$")

Size: TypeAlias = Callable[[str], int]
"""How a platform counts a text; at most two for one character."""


@dataclass(frozen=True, slots=True)
class Room:
    """How much one message of a platform holds: `limit` in what `size` counts, of the text as
    the platform is sent it."""

    limit: int
    size: Size = len

    def holds(self, text: str) -> bool:
        """Whether a text fits one message."""
        return self.size(text) <= self.limit


@dataclass(slots=True)
class _Piece:
    """Lines on their way into one piece; `fence` is the code block's first line while in one."""

    measure: Size
    lines: list[str] = field(default_factory=list)
    taken: int = 0
    fence: re.Match[str] | None = None
    fresh: bool = True
    """Nothing but a re-opened fence is in it."""

    def add(self, line: str) -> None:
        """Take a line and follow whether it opens or closes a fence."""
        self.lines.append(line)
        self.taken += self.measure(line)
        self.fresh = False
        mark = FENCE.match(line.rstrip("\n"))
        if mark is None:
            return
        if self.fence is None:
            if mark["mark"][0] == "~" or "`" not in mark["info"]:
                self.fence = mark
        elif (
            mark["mark"][0] == self.fence["mark"][0]
            and len(mark["mark"]) >= len(self.fence["mark"])
            and not mark["info"].strip()
        ):
            self.fence = None

    @property
    def closing(self) -> str:
        """The line that ends the open fence, "" for none."""
        return "" if self.fence is None else f"{self.fence['lead']}{self.fence['mark']}"

    def closed(self) -> str:
        """The piece as a text of its own."""
        text = "".join(self.lines)
        if self.fence is None:
            return text.strip("\n")
        return f"{text.rstrip(chr(10))}\n{self.closing}"

    def successor(self) -> _Piece:
        """An empty piece, or one that re-opens the fence."""
        if self.fence is None:
            return _Piece(self.measure)
        opening = f"{self.fence['mark']}{self.fence['info']}\n"
        again = FENCE.match(opening.rstrip("\n"))
        return _Piece(self.measure, [opening], self.measure(opening), again)


def pieces_of(text: str, budget: int, early: float = TIDY, *, size: Size = len) -> Iterator[str]:
    """The text in pieces of at most about `budget` of source, as `size` counts it.

    A piece ends at a blank line once it holds the share `early` of the budget, else at the last
    line that fits.
    """
    piece = _Piece(size)
    for line in _lines(text, max(16, budget // 10), size):
        room = budget - (size(piece.closing) + 1 if piece.fence else 0)
        late = piece.taken > budget * early and not line.strip() and piece.fence is None
        if not piece.fresh and (piece.taken + size(line) > room or late):
            if done := piece.closed():
                yield done
            piece = piece.successor()
            if late:
                continue
        piece.add(line)
    if not piece.fresh and (done := piece.closed()).strip():
        yield done


def _lines(text: str, limit: int, size: Size) -> Iterator[str]:
    """The lines with their ends; one over `limit` in bits, cut after spaces."""
    for line in LINE.findall(text):
        yield from _bits(line, limit, size)


def _bits(line: str, limit: int, size: Size) -> Iterator[str]:
    rest = line
    while len(rest) > limit or (len(rest) > limit // 2 and size(rest) > limit):
        room = limit // 2 if not rest[:limit].isascii() else limit
        space = rest.rfind(" ", room // 2, room)
        end = room if space < 0 else space + 1
        yield rest[:end]
        rest = rest[end:]
    if rest:
        yield rest
