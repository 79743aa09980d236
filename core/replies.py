"""Reading a model's reply that must be JSON and nothing else. Pure."""

from __future__ import annotations

import json
import re

from core.transcript import Json

_FENCE = re.compile(r"\A```[A-Za-z]*[ \t]*\n(.*)\n[ \t]*```\Z", re.DOTALL)
_STUCK = re.compile(r"(.)\1{15,}", re.DOTALL)
"""What a small model writes when it cannot stop: one character over and over."""


def whole_json(text: str) -> Json:
    """The JSON value that the whole text is, perhaps in one code fence; never a part of it.

    Raises ValueError, with the reason, for anything else, also for an object with a key twice.
    """
    stripped = text.strip()
    inner = _FENCE.match(stripped)
    try:
        value: Json = json.loads(
            inner[1] if inner else stripped,
            object_pairs_hook=_without_twins,
            parse_constant=_refuse_constant,
        )
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    return value


def unstuck(text: str) -> str:
    """The text with a character that never ends cut short."""
    return _STUCK.sub(r"\1\1\1…", text)


def _without_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    kept = dict(pairs)
    if len(kept) < len(pairs):
        raise ValueError("a key appears twice, so the object says two things")
    return kept


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def kind(value: object) -> str:
    """What a value of JSON is, in a word, for the sentence that refuses it."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object"
