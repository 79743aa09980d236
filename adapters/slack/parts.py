"""Cuts a long Markdown text into messages. Pure and deterministic: a restart cuts alike."""

from __future__ import annotations

from itertools import islice

from adapters.slack.encode import MAX_MARKDOWN, unpinged
from adapters.slack.reading import cleaned
from core.messages import Outbound, Say, SendFile
from core.splitting import FULL, TIDY, pieces_of

MAX_PARTS = 3
BUDGETS = (11_000, 9_000)
"""The second for a text whose re-opened fences make the pieces of the first too long."""
TEASER = 600
FILE_NAME = "answer.md"


def size(text: str) -> int:
    """The length as it goes out: broken mentions are longer."""
    return len(unpinged(text))


def parts(text: str) -> tuple[Outbound, ...]:
    """At most three messages that fit, else a beginning and the whole as a file.

    Nothing for a blank text.
    """
    whole = cleaned(text).strip("\n")
    if not whole.strip():
        return ()
    if size(whole) <= MAX_MARKDOWN:
        return (Say(whole, markdown=True),)
    for budget in BUDGETS:
        for early in (TIDY, FULL):
            pieces = list(islice(pieces_of(whole, budget, early, size=size), MAX_PARTS + 1))
            if len(pieces) <= MAX_PARTS and all(size(p) <= MAX_MARKDOWN for p in pieces):
                return tuple(Say(piece, markdown=True) for piece in pieces)
    teaser = next(iter(pieces_of(whole, TEASER, size=size)))
    return (
        Say(f"{teaser}\n\n… The whole answer is in the file.", markdown=True),
        SendFile(FILE_NAME, content=text),
    )
