"""A tool's arguments: from a pydantic model to the short schema a model reads, and back.

Schemas are part of the stable prompt prefix: the same model gives the same bytes for ever. May
not know any single tool.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from core.errors import UserError
from core.transcript import Json

MAX_FAULTS = 3
"""How many faults of one call are told at once."""

NOISE = frozenset(
    {"title", "additionalProperties", "minLength", "maxLength", "minimum", "maximum"}
)
"""Schema keys that cost prompt tokens; a call that breaks one is told so when it is parsed."""


class Arguments(BaseModel):
    """The base of all argument models: unknown names are errors, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


A = TypeVar("A", bound=Arguments)


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not contain a NUL character")
    return text


Line = Annotated[str, AfterValidator(_without_nul)]
"""Text handed to the system as a path or a command, where a NUL would be a fault."""


def parameters(model: type[Arguments]) -> dict[str, Json]:
    """The JSON schema of `model` without titles, null branches and null defaults."""
    cleaned = _clean(model.model_json_schema())
    if not isinstance(cleaned, dict):
        raise TypeError(f"{model.__name__} has no object schema")
    cleaned.pop("description", None)  # the docstring is for people
    return cleaned


def _clean(node: object) -> Json:
    match node:
        case dict():
            return _flat({k: v for k, v in node.items() if k not in NOISE})
        case list():
            return [_clean(item) for item in node]
        case str() | int() | float() | bool() | None:
            return node
        case other:
            raise TypeError(f"{type(other).__name__} in a schema")


def _flat(node: Mapping[str, object]) -> dict[str, Json]:
    """An optional value as its plain type: that it may be left out, `required` says."""
    kept: dict[str, Json] = {}
    for key, value in node.items():
        if key == "properties" and isinstance(value, dict):
            kept[key] = {str(name): _clean(schema) for name, schema in value.items()}
        elif key == "anyOf" and isinstance(value, list):
            branches = [_clean(b) for b in value if b != {"type": "null"}]
            only = branches[0] if len(branches) == 1 else None
            kept.update(only if isinstance(only, dict) else {"anyOf": branches})
        elif not (key == "default" and value is None):
            kept[key] = _clean(value)
    return kept


def parse(model: type[A], text: str, tool: str) -> A:
    """The arguments as a value. Raises UserError with a short text that a model can act on."""
    try:
        return model.model_validate(json_object(text))
    except ValidationError as error:
        faults = [_fault(e["loc"], e["type"], e["msg"]) for e in error.errors()[:MAX_FAULTS]]
    except (ValueError, RecursionError) as error:
        faults = [f"not a JSON object: {error}"]
    names = ", ".join(
        name if field.is_required() else f"{name}?" for name, field in model.model_fields.items()
    )
    raise UserError(f"Bad arguments: {'; '.join(faults)}. {tool} takes: {names or 'none'}.")


def json_object(text: str) -> dict[str, object]:
    """Models send "" for no arguments, raw newlines in strings, and now and then an object that
    was encoded twice; each has one possible meaning. Raises ValueError or RecursionError."""
    value: object = json.loads(text, strict=False) if text.strip() else {}
    if isinstance(value, str):
        value = json.loads(value, strict=False)
    if not isinstance(value, dict):
        raise ValueError(f"got {type(value).__name__}")  # noqa: TRY004 (told like a JSON fault)
    if "\\u" in text and not _whole(value):
        raise ValueError("it holds half of a character (a lone surrogate); write all of it")
    return value


def _whole(value: Mapping[str, object]) -> bool:
    """Whether the text in it can be written down: half an emoji, as an escape, is legal JSON."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _fault(place: tuple[int | str, ...], kind: str, message: str) -> str:
    name = ".".join(str(part) for part in place)[:80]
    match kind:
        case "missing":
            return f"{name} is missing"
        case "extra_forbidden":
            return f"{name} is unknown"
        case _:
            said = message.removeprefix("Value error, ").removeprefix("Input ")
            return f"{name} {said[:1].lower()}{said[1:]}"
