"""The errors that the program itself raises, in words that a person can act on.

Values only, and light: the command line maps them to exit codes without loading the settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from core.errors import UserError

KeyPath: TypeAlias = tuple[str | int, ...]
"""A setting's place: ("goals", "max_turns"), with list positions as numbers."""


def dotted(path: KeyPath) -> str:
    """The key as people write it: `access.telegram.owners[0]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault: where it is written (file:line:column, a variable), the key, and the text.

    `where` or `key` is "" where there is none: a syntax error has no key, and a key that is
    missing everywhere has no place.
    """

    where: str
    key: str
    text: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.key, self.text) if part)


class ConfigError(UserError):
    """The configuration cannot be used; `str()` lists every fault, one a line."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems), key=_by_place))
        super().__init__("\n".join(str(problem) for problem in self.problems))


class NoPermission(UserError):
    """The operating system denies a file or folder that is needed."""


def _by_place(problem: Problem) -> list[tuple[int, str]]:
    """An order in which line 10 comes after line 9."""
    return [(int(p), "") if p.isdigit() else (0, p) for p in re.split(r"(\d+)", str(problem))]
