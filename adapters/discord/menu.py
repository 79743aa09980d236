"""The native commands, cut to Discord's limits. Pure: no I/O."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence

from adapters.discord.options import MenuEntry

MAX_COMMANDS = 100
MAX_SUMMARY = 100
MAX_CHOICES = 25
MAX_CHOICE = 100
NAME = re.compile(r"[a-z0-9_-]{1,32}")
ARGUMENT_SUMMARY = "What follows the command; empty for nothing"


def menu(entries: Iterable[MenuEntry]) -> tuple[MenuEntry, ...]:
    """The entries Discord takes: a name of 1-32 of `a-z0-9_-`, a summary of 1-100, 100 at most.

    A name that Discord would refuse is left out: one such name makes it refuse the whole list.
    """
    fit = [entry for entry in entries if NAME.fullmatch(entry.name)]
    return tuple(
        MenuEntry(e.name, (e.summary.strip() or e.name)[:MAX_SUMMARY], e.words)
        for e in fit[:MAX_COMMANDS]
    )


def choices(entry: MenuEntry, typed: str) -> tuple[str, ...]:
    """The words that may stand where the person is, at most 25; none once one is complete."""
    start = typed.lstrip().casefold()
    fit = [word for word in entry.words if word.startswith(start) and len(word) <= MAX_CHOICE]
    return tuple(fit[:MAX_CHOICES])


def line_of(name: str, argument: str) -> str:
    """The command line as a person could have typed it."""
    return f"/{name} {argument.strip()}".rstrip()


def digest(payload: Sequence[Mapping[str, object]]) -> str:
    """A hash of what Discord is told, the same for the same commands."""
    told = json.dumps(payload, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(told.encode()).hexdigest()
