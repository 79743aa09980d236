"""The templates of a branch table: six variables, put in once. Pure.

Nothing but these six is looked up, and what they hold is never looked at again: `{goal}` inside
an observed page stays as it is. `{{` and `}}` stand for braces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields

from core.fence import plain

VALUE_CHARS = 600
NOTHING = "(none)"

_PIECES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """What the variables stand for; the names are those of the variables."""

    observed_state: str = ""
    expected: str = ""
    branch: str = ""
    condition: str = ""
    tried: str = ""
    goal: str = ""


VARIABLES = tuple(field.name for field in fields(Values))


def unknown(template: str) -> tuple[str, ...]:
    """What in a template is neither text nor one of the variables, as it is written there."""
    return tuple(
        dict.fromkeys(
            match[0]
            for match in _PIECES.finditer(template)
            if match[0] not in {"{{", "}}"} and match[1] not in VARIABLES
        )
    )


def render(template: str, values: Values) -> str:
    """The template with its variables put in, each cut to 600 characters. What is unknown stays
    as it is written."""
    known = {name: _shown(getattr(values, name)) for name in VARIABLES}

    def put(match: re.Match[str]) -> str:
        if match[0] in {"{{", "}}"}:
            return match[0][0]
        return known.get(match[1] or "", match[0])

    return _PIECES.sub(put, template)


def _shown(value: str) -> str:
    text = plain(value).strip() or NOTHING
    return text if len(text) <= VALUE_CHARS else text[: VALUE_CHARS - 1] + "…"
