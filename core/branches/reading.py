"""Reads values that a model or a person wrote, noting every fault with its place. Pure.

It knows what texts, lists and objects are, and nothing of tables.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import TypeVar

from core.branches.faults import Code, Fault
from core.fence import one_line
from core.replies import kind

E = TypeVar("E", bound=StrEnum)

FAULTS_KEPT = 50
_PLAIN_KEY = re.compile(r"[\w-]{1,40}\Z")


class Reading:
    """Collects faults. Each method gives a value that can be worked on with, also after a fault:
    nothing that it gave may be used once `faults` is not empty."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def fault(self, code: Code, path: str, message: str) -> None:
        """Note a fault."""
        if len(self.faults) < FAULTS_KEPT:
            self.faults.append(Fault(code, path, message))

    def bad(self, path: str, message: str) -> None:
        """Note a fault of form."""
        self.fault(Code.BAD_SCHEMA, path, message)

    def fields(self, value: object, path: str, known: Collection[str]) -> Mapping[str, object]:
        """An object's fields. Empty ones count as left out: small models fill in every field."""
        if not isinstance(value, dict):
            self.bad(path, f"it must be an object with {_listed(known)}, not {kind(value)}")
            return {}
        for key in value:
            if key not in known and not _blank(value[key]):
                here = f"it takes {_listed(known)}"
                self.bad(below(path, key), f"the key is unknown; {here}. Remove or rename it")
        return {key: value[key] for key in known if key in value and not _blank(value[key])}

    def items(self, value: object, path: str, what: str) -> list[object]:
        """A list's items."""
        if isinstance(value, list):
            return value
        self.bad(path, f"it must be a list of {what}, not {kind(value)}")
        return []

    def text(self, value: object, path: str, limit: int) -> str:
        """A text of 1 to `limit` characters."""
        if not isinstance(value, str):
            quoted = "; put it in quotes" if isinstance(value, bool | int | float) else ""
            self.bad(path, f"it must be a text, not {kind(value)}{quoted}")
            return ""
        if not value.strip():
            self.bad(path, "the text is empty; write one or leave the field out")
        elif len(value) > limit:
            self.bad(path, f"{len(value):,} characters are too many; at most {limit:,} fit")
        elif "\0" in value or value.encode(errors="replace").decode() != value:
            self.bad(path, "it holds a NUL or half of a character; write plain text")
        return value

    def texts(self, value: object, path: str, *, limit: int, most: int) -> tuple[str, ...]:
        """A list of at most `most` texts; what is there twice counts once."""
        items = self.items(value, path, "texts")
        if len(items) > most:
            self.bad(path, f"it has {len(items)} entries; at most {most} are allowed. Join some")
        texts = [self.text(item, f"{path}[{n}]", limit) for n, item in enumerate(items[:most])]
        return tuple(dict.fromkeys(text.strip() for text in texts))

    def word(self, value: object, path: str, words: type[E], given: E) -> E:
        """One of an enumeration's words; `given` after a fault."""
        known = {word.value: word for word in words}
        if isinstance(value, str) and value in known:
            return known[value]
        found = repr(one_line(value, 40)) if isinstance(value, str) else kind(value)
        self.bad(path, f"it must be {' or '.join(known)}, not {found}")
        return given


def below(path: str, key: object) -> str:
    """The place of a key."""
    name = str(key)
    if not _PLAIN_KEY.match(name):
        name = repr(one_line(name, 40))
    return f"{path}.{name}" if path else name


def _blank(value: object) -> bool:
    return value is None or value in ("", [], {})


def _listed(names: Collection[str]) -> str:
    return ", ".join(names)
