"""From what was typed to what it means. Pure: whether a file exists is asked elsewhere."""

from __future__ import annotations

import io
import shlex
from dataclasses import dataclass
from typing import TypeAlias

from adapters.console.clean import clean

MAX_TEXT_BYTES = 400_000
"""The longest line that is read at all. The gateway takes fewer characters and says how many."""

_LEAVING = frozenset({"/quit", "/exit"})
_ATTACH = "/attach"


@dataclass(frozen=True, slots=True)
class Empty:
    """Nothing was said."""


@dataclass(frozen=True, slots=True)
class Quit:
    """The person leaves."""


@dataclass(frozen=True, slots=True)
class Words:
    """A message or a command for the bot."""

    text: str


@dataclass(frozen=True, slots=True)
class Attach:
    """A file to send along, with what to say about it."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Mistake:
    """It cannot be meant that way; `text` says how it is done."""

    text: str


Order: TypeAlias = Empty | Quit | Words | Attach | Mistake


def decode(raw: str) -> Order:
    """What a typed text asks for."""
    text = clean(raw).strip()
    if not text:
        return Empty()
    if text in _LEAVING:
        return Quit()
    command, _, rest = text.partition(" ")
    return _attach(rest.strip()) if command == _ATTACH else Words(text)


def _attach(rest: str) -> Order:
    """Split `PATH message`; a path with spaces is quoted as in a shell, as terminals paste it."""
    first, newline, below = rest.partition("\n")
    stream = io.StringIO(first)
    lexer = shlex.shlex(stream, posix=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        path = lexer.get_token()
    except ValueError:
        return Mistake("The quotes round that path do not close. Usage: /attach PATH [message]")
    if not path:
        return Mistake("Usage: /attach PATH [message]")
    return Attach(path, f"{stream.read()}{newline}{below}".strip())
