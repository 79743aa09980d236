"""`${VAR}` and `${VAR:-default}` in the texts of a configuration. Pure.

A variable without value or default is not at once a fault: an example file names the tokens of
platforms that are switched off. Its setting is left out, and the loader decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from core.transcript import Json
from gateway.errors import KeyPath

_REFERENCE = re.compile(
    r"\$(?P<escaped>\$)\{|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<or>:-(?P<default>[^}]*))?\}"
    r"|(?P<broken>\$\{)"
)


@dataclass(slots=True)
class Substitution:
    """One pass over a tree of values.

    `done` holds the settings whose text came from variables, `unset` those that were left out
    with the variable they want, `broken` those with a reference that cannot be read.
    """

    environ: Mapping[str, str]
    untouched: Callable[[KeyPath], bool]
    """True for settings that are not the file's: theirs is the last word."""
    done: set[KeyPath] = field(default_factory=set)
    unset: dict[KeyPath, str] = field(default_factory=dict)
    broken: list[KeyPath] = field(default_factory=list)

    def mapping(self, values: Mapping[str, Json], path: KeyPath = ()) -> dict[str, Json]:
        """The values with every reference replaced."""
        replaced = {key: self._value(value, (*path, key)) for key, value in values.items()}
        return {key: value for key, value in replaced.items() if (*path, key) not in self.unset}

    def _value(self, value: Json, path: KeyPath) -> Json:
        match value:
            case str() if "${" in value and not self.untouched(path):
                return self._text(value, path)
            case dict():
                return self.mapping(value, path)
            case list():
                return [self._value(item, (*path, n)) for n, item in enumerate(value)]
            case _:
                return value

    def _text(self, text: str, path: KeyPath) -> str:
        def replace(found: re.Match[str]) -> str:
            if found["escaped"]:
                return "${"
            if found["broken"]:
                self.broken.append(path)
                return ""
            value = self.environ.get(found["name"])
            if found["or"] is not None:
                return value or found["default"]
            if value is None:
                self.unset.setdefault(path, found["name"])
            return value or ""

        self.done.add(path)
        return _REFERENCE.sub(replace, text)
