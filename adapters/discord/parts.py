"""Cuts a long Markdown text into messages. Pure and deterministic: a restart cuts alike."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from adapters.discord.decode import cleaned
from adapters.discord.encode import MAX_UNITS, render, units
from core.messages import Outbound, Say, SendFile
from core.splitting import FULL, TIDY, pieces_of

MAX_PARTS = 3
FIRST_BUDGET = 1950
LEAST_BUDGET = 60
SLACK = 30
"""What a share may be over the even one, as cuts fall on line ends."""
TEASER = 600
HOPELESS = 20_000
"""Over so many characters the text becomes a file without trying."""
FILE_NAME = "answer.md"


def parts(text: str) -> tuple[Outbound, ...]:
    """At most three messages that fit once rendered, else a beginning and the whole as a file.

    Nothing for a blank text.
    """
    whole = cleaned(text).strip("\n")
    if not whole.strip():
        return ()
    for early in (TIDY, FULL) if len(whole) <= HOPELESS else ():
        pieces = list(islice(_fitting(whole, FIRST_BUDGET, early), MAX_PARTS + 1))
        if len(pieces) <= MAX_PARTS:
            return tuple(Say(piece, markdown=True) for piece in pieces)
    teaser = next(iter(pieces_of(whole, TEASER, size=units)))
    return (
        Say(f"{teaser}\n\n… The whole answer is in the file.", markdown=True),
        SendFile(FILE_NAME, content=text),
    )


def _fitting(text: str, budget: int, early: float) -> Iterator[str]:
    if units(text) <= 2 * MAX_UNITS:
        made = units(render(text))
        if made <= MAX_UNITS or budget <= LEAST_BUDGET:
            yield text
            return
        shares = max(2, -(-made // MAX_UNITS))
        budget = max(LEAST_BUDGET, min(budget - 1, units(text) // shares + SLACK))
    for piece in pieces_of(text, budget, early, size=units):
        yield from _fitting(piece, budget, early)
