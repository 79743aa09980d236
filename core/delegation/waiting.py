"""Work that cannot go on before people have answered: which questions it waits for. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from core.ports import Waiting


@dataclass(frozen=True, slots=True)
class Waits:
    """`asked` are the questions as people call them, such as "E7"; at least one."""

    asked: tuple[str, ...]

    @classmethod
    def of(cls, parts: Iterable[Self | Waiting]) -> Self:
        """What waits for all that its parts wait for: each once, the oldest first."""
        asked = {id_ for part in parts for id_ in part.asked}
        return cls(tuple(sorted(asked, key=lambda id_: (len(id_), id_))))  # E9 is before E10
