"""What a child's work must meet: texts for the judge, and checks that need no model. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from core.delegation.acceptance import late_schema
from core.errors import UserError
from core.fence import one_line
from core.replies import kind
from core.transcript import Json

MAX_CRITERIA = 8
MAX_TEXT = 4_000
"""The most characters of a text, a path or a command."""
WORDS_SHOWN = 300

SCHEMA: Mapping[str, Json] = {
    "description": (
        f"What the result must meet, at most {MAX_CRITERIA}: texts for an independent judge, or"
        ' checks by machine: {"file_exists": path}, {"file_contains": [path, text]},'
        ' {"command_succeeds": command}, {"json_schema": schema of the answer}'
    ),
    "anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "object"}]}},
    ],
}
"""The tool's parameter as models read it."""


@dataclass(frozen=True, slots=True)
class Judged:
    """For the judge: anything that can be said."""

    text: str


@dataclass(frozen=True, slots=True)
class FileExists:
    """A file or folder is in the workspace."""

    path: str


@dataclass(frozen=True, slots=True)
class FileContains:
    """A file of the workspace holds a text."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class CommandSucceeds:
    """A command exits with 0."""

    command: str


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """The child's whole output is JSON of this schema."""

    schema: Mapping[str, Json]


Criterion: TypeAlias = Judged | FileExists | FileContains | CommandSucceeds | JsonSchema


def parse(given: object) -> tuple[Criterion, ...]:
    """The criteria that a tool argument holds: a text or an object, a list of them, or None or
    an empty text for none. Raises UserError with a sentence that a model can act on."""
    if given is None or given == "":
        return ()
    items = given if isinstance(given, list) else [given]
    _check_count(len(items))
    return tuple(_criterion(item, f"acceptance_criteria {n}") for n, item in enumerate(items, 1))


def join(own: Sequence[Criterion], shared: Sequence[Criterion]) -> tuple[Criterion, ...]:
    """A task's own criteria and those of its batch. Raises UserError when they are too many."""
    joined = (*own, *shared)
    _check_count(len(joined), f" ({len(own)} of the task and {len(shared)} of the batch)")
    return joined


def lacking(criteria: Sequence[Criterion], toolsets: Collection[str]) -> str:
    """Why an agent with these toolsets may not ask for these checks, "" when it may."""
    for criterion in criteria:
        match criterion:
            case CommandSucceeds() if "terminal" not in toolsets:
                return "command_succeeds needs the toolset terminal, which you do not have."
            case FileExists() | FileContains() if not {"terminal", "file"} & set(toolsets):
                return (
                    "file_exists and file_contains need the toolset file or terminal, of which"
                    " you have neither."
                )
            case _:
                pass
    return ""


def words(criterion: Criterion) -> str:
    """A criterion as children and people read it; a judged one is its whole text."""
    match criterion:
        case Judged(text):
            return text
        case FileExists(path):
            return f"{one_line(path, WORDS_SHOWN)} exists"
        case FileContains(path, text):
            return f"{one_line(path, WORDS_SHOWN)} contains {json.dumps(text, ensure_ascii=False)}"
        case CommandSucceeds(command):
            return f"the command succeeds: {command}"
        case JsonSchema(schema):
            shape = json.dumps(schema, ensure_ascii=False)
            return f"the answer is nothing but JSON that fits this schema: {shape}"
        case _:
            assert_never(criterion)


def _check_count(count: int, where: str = "") -> None:
    if count > MAX_CRITERIA:
        raise UserError(
            f"acceptance_criteria: there are {count}{where}, at most {MAX_CRITERIA} are allowed."
            " Join some, or leave the least important out."
        )


def _criterion(item: object, at: str) -> Criterion:
    if isinstance(item, str):
        return Judged(_text(item, at).strip())
    if not isinstance(item, dict):
        raise UserError(f"{at}: it must be a text or an object, not {kind(item)}.")
    if len(item) != 1 or next(iter(item)) not in _CHECKS:
        given = ", ".join(one_line(str(key), 40) for key in list(item)[:4]) or "none"
        raise UserError(
            f"{at}: an object must have exactly one of the keys {', '.join(_CHECKS)} (it has:"
            f" {given}). Write anything else as a plain text."
        )
    ((key, value),) = item.items()
    return _CHECKS[key](value, f"{at}: {key}")


def _file_exists(value: object, at: str) -> Criterion:
    return FileExists(_text(value, at))


def _file_contains(value: object, at: str) -> Criterion:
    if not isinstance(value, list) or len(value) != 2:
        raise UserError(f"{at} takes a list of two texts, [path, text].")
    path, text = value
    return FileContains(_text(path, f"{at}'s path"), _text(text, f"{at}'s text", blank=True))


def _command_succeeds(value: object, at: str) -> Criterion:
    return CommandSucceeds(_text(value, at))


def _json_schema(value: object, at: str) -> Criterion:
    if not isinstance(value, dict):
        raise UserError(f"{at} takes a JSON schema as an object, not {kind(value)}.")
    if why := late_schema.complaint(value):
        raise UserError(f"{at}: {why}.")
    return JsonSchema(value)


_CHECKS: Mapping[str, Callable[[object, str], Criterion]] = {
    "file_exists": _file_exists,
    "file_contains": _file_contains,
    "command_succeeds": _command_succeeds,
    "json_schema": _json_schema,
}


def _text(value: object, at: str, *, blank: bool = False) -> str:
    """A text; `blank` when it may be of white space alone."""
    if not isinstance(value, str):
        raise UserError(f"{at} takes a text, not {kind(value)}.")
    if not value or not (blank or value.strip()):
        raise UserError(f"{at}: the text is empty.")
    if len(value) > MAX_TEXT:
        raise UserError(
            f"{at}: {len(value):,} characters are too many, at most {MAX_TEXT:,} are allowed."
        )
    if "\0" in value or value.encode(errors="replace").decode() != value:
        raise UserError(f"{at}: the text holds a NUL or half of a character.")
    return value
