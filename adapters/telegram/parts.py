"""Cuts a long Markdown text into messages. Pure and deterministic: a restart cuts alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from adapters.telegram.decode import cleaned, units
from adapters.telegram.encode import render
from core.messages import Outbound, Say, SendFile

MAX_PARTS = 3
FIRST_BUDGET = 4000
LEAST_BUDGET = 60
ENTITIES = 95
SLACK = 30
"""What a share may be over the even one, as cuts fall on line ends."""
TIDY, FULL = 2 / 3, 1.0
TEASER = 600
HOPELESS = 40_000
"""Over so many characters the text becomes a file without trying."""
FILE_NAME = "answer.md"
LINE = re.compile(r"[^\n]*\n|[^\n]+")
FENCE = re.compile(r"^(?P<lead>[ \t>]*)(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)$")


def parts(text: str) -> tuple[Outbound, ...]:
    """At most three messages that fit after conversion, else a beginning and the whole as a file.

    Nothing for a blank text.
    """
    whole = cleaned(text).strip("\n")
    if not whole.strip():
        return ()
    for early in (TIDY, FULL) if len(whole) <= HOPELESS else ():
        pieces = list(islice(_fitting(whole, FIRST_BUDGET, early), MAX_PARTS + 1))
        if len(pieces) <= MAX_PARTS:
            return tuple(Say(piece, markdown=True) for piece in pieces)
    teaser = next(iter(pieces_of(whole, TEASER)))
    return (
        Say(f"{teaser}\n\n… The whole answer is in the file.", markdown=True),
        SendFile(FILE_NAME, content=text),
    )


def _fitting(text: str, budget: int, early: float) -> Iterator[str]:
    if units(text) <= 2 * FIRST_BUDGET:
        made = render(text, group=True)
        if made.fits or budget <= LEAST_BUDGET:
            yield text
            return
        shares = max(2, -(-units(made.text) // FIRST_BUDGET), -(-len(made.entities) // ENTITIES))
        budget = max(LEAST_BUDGET, min(budget - 1, units(text) // shares + SLACK))
    for piece in pieces_of(text, budget, early):
        yield from _fitting(piece, budget, early)


@dataclass(slots=True)
class _Piece:
    """Lines on their way into one piece; `fence` is the code block's first line while in one."""

    lines: list[str] = field(default_factory=list)
    size: int = 0
    fence: re.Match[str] | None = None
    fresh: bool = True
    """Nothing but a re-opened fence is in it."""

    def add(self, line: str) -> None:
        """Take a line and follow whether it opens or closes a fence."""
        self.lines.append(line)
        self.size += units(line)
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
            return _Piece()
        opening = f"{self.fence['mark']}{self.fence['info']}\n"
        again = FENCE.match(opening.rstrip("\n"))
        return _Piece([opening], units(opening), again)


def pieces_of(text: str, budget: int, early: float = TIDY) -> Iterator[str]:
    """The text in pieces of at most about `budget` UTF-16 units of source.

    A piece ends at a blank line once it holds the share `early` of the budget, else at the last
    line that fits.
    """
    piece = _Piece()
    for line in _lines(text, max(16, budget // 10)):
        room = budget - (units(piece.closing) + 1 if piece.fence else 0)
        late = piece.size > budget * early and not line.strip() and piece.fence is None
        if not piece.fresh and (piece.size + units(line) > room or late):
            if done := piece.closed():
                yield done
            piece = piece.successor()
            if late:
                continue
        piece.add(line)
    if not piece.fresh and (done := piece.closed()).strip():
        yield done


def _lines(text: str, limit: int) -> Iterator[str]:
    """The lines with their ends; one over `limit` units in bits, cut after spaces."""
    for line in LINE.findall(text):
        yield from _bits(line, limit)


def _bits(line: str, limit: int) -> Iterator[str]:
    rest = line
    while len(rest) > limit // 2 and units(rest) > limit:
        room = limit // 2 if not rest[:limit].isascii() else limit
        space = rest.rfind(" ", room // 2, room)
        end = room if space < 0 else space + 1
        yield rest[:end]
        rest = rest[end:]
    if rest:
        yield rest
