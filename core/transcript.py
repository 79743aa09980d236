"""A session's conversation as the model sees it, append-only, and its JSON form in the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TypeAlias

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a tool call really did, as the host saw it; never the model's own words.

    `summary` is one line for people (`pytest -q`), `exit_code` is None for tools that are not
    commands, `path` and `size` (bytes) name a file written or sent, `seconds` is wall time.
    """

    ok: bool
    summary: str
    exit_code: int | None = None
    path: str = ""
    size: int = 0
    seconds: float = 0.0
    background: bool = False
    """A process that the call started still runs."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model asked for; `arguments` is the JSON text as it came, maybe broken."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A call's outcome: `text` goes to the model, `receipt` to the judge and the chat."""

    call: ToolCall
    text: str
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class User:
    """A user-role message: a person's, a continuation, an answer, a summary.

    `images` are data URLs, for models marked `vision: true` only.
    """

    text: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Assistant:
    """A model's reply: text, tool calls, or both."""

    text: str
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """The tool-role message that answers one call."""

    call_id: str
    text: str


Entry: TypeAlias = User | Assistant | Result


def to_json(entry: Entry) -> dict[str, Json]:
    """The stored form: the fields, with the entry's kind under "role"."""
    match entry:
        case User(text, images):
            return {"role": "user", "text": text, **({"images": list(images)} if images else {})}
        case Assistant(text, calls):
            kept: list[Json] = [asdict(call) for call in calls]
            return {"role": "assistant", "text": text, "calls": kept}
        case Result(call_id, text):
            return {"role": "tool", "call_id": call_id, "text": text}


def from_json(stored: Mapping[str, object]) -> Entry:
    """The entry that `to_json` stored."""
    text = str(stored["text"])
    match stored["role"]:
        case "user":
            images = stored.get("images", [])
            return User(text, tuple(str(i) for i in images) if isinstance(images, list) else ())
        case "assistant":
            calls = stored.get("calls", [])
            return Assistant(
                text, tuple(ToolCall(**c) for c in calls) if isinstance(calls, list) else ()
            )
        case "tool":
            return Result(str(stored["call_id"]), text)
        case other:
            raise ValueError(f"unknown transcript role {other!r}")
