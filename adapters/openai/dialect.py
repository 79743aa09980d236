"""What an endpoint has been seen to refuse, read from its own words. Pure.

Look-alike servers differ in the optional fields they take. We send what OpenAI takes and drop
what a server refuses by name, for good: a session then costs one refusal, not one per call.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Dialect:
    """Which optional fields go into a request. Each may only be lost, never won back."""

    json_schema: bool = True
    stream_options: bool = True
    temperature: bool = True
    effort: bool = True
    max_tokens: bool = True
    """False: `max_completion_tokens`, which OpenAI's newer models want instead."""


# Each field with the words by which servers name it when they refuse it.
_NAMES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("json_schema", ("response_format", "json_schema", "text.format", "guided_json")),
    ("stream_options", ("stream_options", "include_usage")),
    ("max_tokens", ("max_completion_tokens",)),
    ("temperature", ("temperature",)),
    ("effort", ("reasoning_effort", "reasoning.effort", "reasoning effort", "'reasoning'")),
)

_REFUSALS = frozenset({400, 404, 422, 501})


def refused(sent: Dialect, status: int, words: str) -> str | None:
    """The field of `sent` that the server's `words` refuse, None when they speak of another."""
    if status not in _REFUSALS:
        return None
    said = words.lower()
    for field, names in _NAMES:
        if getattr(sent, field) and any(name in said for name in names):
            return field
    return None


def without(dialect: Dialect, field: str) -> Dialect:
    """The dialect that no longer uses `field`."""
    match field:
        case "json_schema":
            return replace(dialect, json_schema=False)
        case "stream_options":
            return replace(dialect, stream_options=False)
        case "max_tokens":
            return replace(dialect, max_tokens=False)
        case "temperature":
            return replace(dialect, temperature=False)
        case "effort":
            return replace(dialect, effort=False)
        case other:
            raise ValueError(f"a dialect has no field {other!r}")
