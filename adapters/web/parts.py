"""Cuts a long Markdown text into messages. Pure and deterministic: a restart cuts alike.

A page could hold any length; but what nobody reads in a chat is better a file.
"""

from __future__ import annotations

from itertools import islice

from adapters.web.markdown import clean
from core.messages import Outbound, Say, SendFile
from core.splitting import FULL, TIDY, pieces_of

MOST = 20_000
"""Characters of one message."""
MAX_PARTS = 3
TEASER = 600
FILE_NAME = "answer.md"


def parts(text: str) -> tuple[Outbound, ...]:
    """At most three messages, else a beginning and the whole as a file; nothing for a blank
    text."""
    whole = clean(text).strip("\n")
    if not whole.strip():
        return ()
    if len(whole) <= MOST:
        return (Say(whole, markdown=True),)
    for early in (TIDY, FULL):
        pieces = list(islice(pieces_of(whole, MOST, early), MAX_PARTS + 1))
        if len(pieces) <= MAX_PARTS:
            return tuple(Say(piece, markdown=True) for piece in pieces)
    teaser = next(iter(pieces_of(whole, TEASER)))
    return (
        Say(f"{teaser}\n\n… The whole answer is in the file.", markdown=True),
        SendFile(FILE_NAME, content=text),
    )
