"""Work that cannot go on before people have answered: which questions it waits for. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from core.escalations.outcome import waiting_for

_ESCALATION = re.compile(r"\bE\d+\b")


@dataclass(frozen=True, slots=True)
class Waits:
    """`notes` are what the waiting calls say of it, such as "waiting for E7; the answer comes as
    a message"."""

    notes: tuple[str, ...]

    @property
    def asked(self) -> tuple[str, ...]:
        """The questions, as people call them: "E7"."""
        return _named(self.notes)


def note(waits: Iterable[Waits]) -> str:
    """All of them in one sentence, as the result of the call that waits."""
    notes = tuple(text for each in waits for text in each.notes)
    asked = _named(notes)
    told = [waiting_for(asked)] if asked else []
    nameless = (text for text in notes if not _ESCALATION.search(text))
    return "; ".join([*told, *dict.fromkeys(nameless)])


def _named(notes: Iterable[str]) -> tuple[str, ...]:
    found = {name for text in notes for name in _ESCALATION.findall(text)}
    return tuple(sorted(found, key=lambda name: int(name[1:])))
