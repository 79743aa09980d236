"""Text of others made safe to show on a card. Pure.

Words may be changed: what hides or pings is taken out. What is approved may not: there, what
cannot be seen is spelled out, so that the card shows all that will happen.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import chain

from core.messages import Principal, Sender

UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_MARKS = frozenset({"Mn", "Me"})
IGNORABLE = frozenset(
    chain(
        (0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFEFF, 0xFFA0),
        (0xFFFE, 0xFFFF, 0x13441, 0x13442, 0x16FE4, 0x1D159),
        range(0x180B, 0x1810),
        range(0x2060, 0x2070),
        range(0xFE00, 0xFE10),
        range(0xFFF0, 0xFFF9),
        range(0xE0000, 0xE1000),
    )
)
"""Letters, marks and unassigned characters that show as nothing; the categories do not tell."""
REORDERED = frozenset({"R", "AL", "AN"})
"""Bidirectional classes that are laid out from the right, neighbours without a direction too."""
MARKS_IN_ROW = 4
"""Some scripts stack three; more are there to cover the lines above."""
NAME = 40
FENCE = "```"
BAR = "│ "
"""What stands before each line of others where code cannot be set off."""
_PING = re.compile(r"<(?=[@!#&＠])")
_RUN = re.compile(r"`{3,}")


def unseen(character: str) -> bool:
    """Whether a character shows as nothing, or changes how its neighbours show."""
    return unicodedata.category(character) in UNSEEN or ord(character) in IGNORABLE


def words(text: str, limit: int, lines: int) -> str:
    """Somebody's words, cut to so many characters and lines: nothing in them hides, pings, or
    can end the block that they stand in."""
    kept = [line.rstrip() for line in _flat(text).strip("\n").split("\n")]
    cut = len(kept) > lines
    shown = "\n".join(kept[:lines]).strip("\n")
    if len(shown) > limit or cut:
        return f"{shown[: limit - 1].rstrip()}…"
    return shown


def line(text: str, limit: int) -> str:
    """Somebody's words on one line of at most so many characters."""
    whole = " ".join(_flat(text).split())
    return whole if len(whole) <= limit else f"{whole[: limit - 1].rstrip()}…"


def exact(text: str, *, lines: bool) -> str:
    """Every character of the text, in its order. Those that cannot be seen, that hide or move
    others, and line ends unless `lines`, stand as their number, such as ⟦U+202E⟧. A letter keeps
    one mark."""
    kept = "\n\t" if lines else ""
    made: list[str] = []
    carries = False
    for character in text:
        mark = unicodedata.category(character) in _MARKS
        plain = character in kept or not (_odd(character) or (mark and not carries))
        made.append(character if plain else f"⟦U+{ord(character):04X}⟧")
        carries = plain and not mark and not character.isspace()
    return "".join(made)


def foreign(text: str) -> bool:
    """Whether there is a character that may be taken for another."""
    return not text.isascii()


def name(person: Principal | Sender) -> str:
    """A person's name, whatever they call themselves: letters, digits, spaces and hyphens."""
    return _named(person.name) or f"the person {_named(person.id) or 'without a name'}"


def holds_fence(text: str) -> bool:
    """Whether the text could end a block of code on platforms that know one fence only."""
    return _RUN.search(text) is not None


def block(text: str, *, markdown: bool) -> str:
    """The text set off from the host's own lines: as code, or behind a bar on each line."""
    if markdown:
        return f"{FENCE}\n{text}\n{FENCE}"
    return "\n".join(f"{BAR}{one}" for one in text.split("\n"))


def _odd(character: str) -> bool:
    category = unicodedata.category(character)
    space = category == "Zs" and character != " "
    moves = unicodedata.bidirectional(character) in REORDERED
    return space or moves or category == "Cn" or unseen(character)


def _flat(text: str) -> str:
    """Without what hides, pings or marks up; line ends stay."""
    made: list[str] = []
    row = 0
    for character in text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " "):
        if character != "\n" and unseen(character):
            continue
        category = unicodedata.category(character)
        row = row + 1 if category in _MARKS else 0
        if row <= MARKS_IN_ROW:
            made.append(" " if category == "Zs" else character)
    return _PING.sub("‹", "".join(made).replace("`", "'").replace("@", "＠"))


def _named(text: str) -> str:
    kept = (c if c.isalnum() or c in " -'’" else " " for c in _flat(text))
    return " ".join("".join(kept).split())[:NAME].rstrip()
