"""The keys of the schema: which there are, which hold secrets, which a mistyped one meant.

Pure; reads the models and no values.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from typing import Annotated, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from gateway.errors import KeyPath, dotted
from gateway.settings.schema import Settings

ANY = "*"
"""Stands in a path for a name that people choose."""

LATER = {
    "auxiliary.transcription": "voice transcription",
}
"""Keys that belong to parts this version does not have, and the part."""


def fields(
    model: type[BaseModel] = Settings, at: KeyPath = ()
) -> Iterator[tuple[KeyPath, FieldInfo]]:
    """Every key with its field, groups before what is in them."""
    for name, info in model.model_fields.items():
        path = (*at, name)
        yield path, info
        inner = group_in(info.annotation)
        if inner is not None:
            named = dict in {getattr(kind, "__origin__", None) for kind in _kinds(info.annotation)}
            yield from fields(inner, (*path, ANY) if named else path)


def group_in(annotation: object) -> type[BaseModel] | None:
    """The group that a field holds, itself or by name; None for a plain value."""
    for kind in _kinds(annotation):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
        inner = next(filter(None, map(group_in, get_args(kind))), None)
        if inner is not None:
            return inner
    return None


@cache
def secret_keys() -> frozenset[KeyPath]:
    """The keys whose values are never shown."""
    found: set[KeyPath] = set()
    for path, info in fields():
        kinds = _kinds(info.annotation)
        if SecretStr in kinds:
            found.add(path)
        elif any(SecretStr in map(_bare, get_args(kind)) for kind in kinds):
            found.add((*path, ANY))
    return frozenset(found)


def is_secret(path: KeyPath) -> bool:
    """Whether the value at `path` must not be shown."""
    return any(_fits(path, key) for key in secret_keys())


def later(path: KeyPath) -> str:
    """The part of Pursuit that a key belongs to and this version lacks; "" for none."""
    ends = (dotted(path[:n]) for n in range(1, len(path) + 1))
    return next((LATER[end] for end in ends if end in LATER), "")


def nearest(path: KeyPath) -> str:
    """The valid key that a wrong one resembles most, "" when none does."""
    *above, wrong = path
    every = [key for key, _ in fields()]
    beside = [str(key[-1]) for key in every if _fits((*above, key[-1]), key)]
    close = get_close_matches(str(wrong), beside, 1)
    if close:
        return dotted((*above, close[0]))
    namesakes = [key for key in every if key[-1] == wrong and ANY not in key]
    return dotted(namesakes[0]) if namesakes else ""


def _fits(path: KeyPath, key: KeyPath) -> bool:
    return len(path) == len(key) and all(k in {ANY, p} for p, k in zip(path, key, strict=True))


def _kinds(annotation: object) -> tuple[object, ...]:
    """The alternatives of a union, or the type alone."""
    parts = get_args(annotation)
    union = type(None) in parts
    return tuple(_bare(p) for p in parts if p is not type(None)) if union else (annotation,)


def _bare(kind: object) -> object:
    """A type without what is annotated to it."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind
