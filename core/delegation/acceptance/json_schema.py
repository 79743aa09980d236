"""Holds a text to a JSON schema that a model wrote: whatever it holds, nothing is fetched and
the check ends.

Python's regular expressions can take for ever on a short text, so patterns go to a linear engine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import best_match
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for
from pydantic_core import SchemaError as PatternError
from pydantic_core import SchemaValidator, core_schema
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012, specification_with

from core.delegation.ports import Finding
from core.fence import one_line
from core.replies import whole_json
from core.transcript import Json

MAX_SCHEMA = 20_000
MAX_OUTPUT = 1_000_000
MAX_STEPS = 50_000
"""Keywords applied in one check: less than a second."""
WHY_LIMIT = 300
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

Errors: TypeAlias = Iterable[ValidationError] | None
Keyword: TypeAlias = Callable[[Validator, object, object, object], Errors]


class _Endless(Exception):
    """The schema makes more work than the check may take."""


@dataclass(slots=True)
class _Steps:
    left: int

    def spend(self, count: int = 1) -> None:
        self.left -= count
        if self.left < 0:
            raise _Endless


def complaint(schema: Mapping[str, Json]) -> str:
    """Why a schema cannot be used, "" when it can."""
    try:
        if len(json.dumps(schema)) > MAX_SCHEMA:
            return f"it is too long: at most {MAX_SCHEMA:,} characters"
        if not isinstance(schema.get("$schema", ""), str):
            return "$schema must be a text"
        draft = _draft(schema)
        fault = best_match(draft(draft.META_SCHEMA).iter_errors(dict(schema)))
        return _told(fault) if fault else _unsafe(schema)
    except RecursionError:
        return "it is nested too deep"
    except (ValueError, TypeError) as error:
        return one_line(str(error), WHY_LIMIT)


def fits(schema: Mapping[str, Json], output: str) -> Finding:
    """Whether the whole output, perhaps in one code fence, is JSON that the schema admits."""
    if len(output) > MAX_OUTPUT:
        return Finding(None, f"the output is too long to be checked ({len(output):,} characters)")
    try:
        value = whole_json(output)
    except ValueError as error:
        return Finding(met=False, why=f"the output is not JSON and nothing else: {error}")
    try:
        fault = best_match(islice(_errors(schema, value), 50))
    except (_Endless, RecursionError):
        return Finding(None, "the schema takes too long to check")
    except Unresolvable as error:
        return Finding(None, one_line(f"the schema cannot be followed: {error}", WHY_LIMIT))
    except (ValueError, ArithmeticError) as error:  # numbers beyond what can be counted with
        return Finding(None, one_line(f"the output cannot be checked: {error}", WHY_LIMIT))
    if fault is None:
        return Finding(met=True, why="the output fits the schema")
    return Finding(met=False, why=_told(fault))


def _told(fault: ValidationError) -> str:
    return one_line(f"at {fault.json_path}: {fault.message}", WHY_LIMIT)


def _draft(schema: Mapping[str, Json]) -> type[Validator]:
    found: type[Validator] = validator_for(schema, default=Draft202012Validator)
    return found


def _errors(schema: Mapping[str, Json], value: Json) -> Iterator[ValidationError]:
    # Below a known "$schema" the library goes back to its own keywords: it stays away.
    bare = {key: part for key, part in schema.items() if key != "$schema"}
    draft = _draft(schema)
    steps = _Steps(MAX_STEPS)
    keywords = {**draft.VALIDATORS, "pattern": _pattern}
    guarded = {name: _counted(name, keyword, steps) for name, keyword in keywords.items()}
    made: type[Validator] = extend(draft, guarded)  # type: ignore[no-untyped-call]
    return made(bare, registry=Registry()).iter_errors(value)


def _counted(name: str, keyword: Keyword, steps: _Steps) -> Keyword:
    def apply(validator: Validator, wanted: object, instance: object, schema: object) -> Errors:
        steps.spend()
        if name == "uniqueItems" and isinstance(instance, list):
            steps.spend(len(instance) ** 2 // 4)
        return keyword(validator, wanted, instance, schema)

    return apply


def _pattern(
    validator: Validator, wanted: object, instance: object, schema: object
) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _regex(str(wanted)).isinstance_python(instance):
        yield ValidationError(f"{one_line(instance, 100)!r} does not match {wanted!r}")


@lru_cache(maxsize=64)
def _regex(pattern: str) -> SchemaValidator:
    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))


def _unsafe(schema: Mapping[str, Json]) -> str:
    known = _draft(schema).META_SCHEMA.get("$schema")
    draft = specification_with(known, default=DRAFT202012) if known else DRAFT202012
    resolver = Registry().resolver_with_root(draft.create_resource(dict(schema)))
    for depth, key, value in _pairs(schema):
        if key == "patternProperties":
            return "patternProperties is not supported: name the properties"
        if not isinstance(value, str):
            continue
        if key == "$schema" and depth:
            return "$schema may stand at the top only"
        if key in _REFERENCES:
            if not value.startswith("#"):
                return f"{key} may point into the schema only (#/…), not to {one_line(value, 80)}"
            try:
                resolver.lookup(value)
            except Unresolvable:
                return f"{key} points to nothing: {one_line(value, 80)}"
        if key == "pattern":
            try:
                _regex(value)
            except PatternError:
                return (
                    f"the pattern {one_line(value, 80)} cannot be used: look-around and"
                    " back-references are not supported"
                )
    return ""


def _pairs(schema: Mapping[str, Json]) -> Iterator[tuple[int, str, Json]]:
    """Every key of every object in it, with how deep that object lies."""
    open_nodes: list[tuple[int, Json]] = [(0, dict(schema))]
    while open_nodes:
        depth, node = open_nodes.pop()
        if isinstance(node, dict):
            yield from ((depth, key, value) for key, value in node.items())
            open_nodes.extend((depth + 1, value) for value in node.values())
        elif isinstance(node, list):
            open_nodes.extend((depth + 1, value) for value in node)
