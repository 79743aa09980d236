"""What a runner sends, as values: raw lines, and updates of its session. Pure: no I/O, no clock,
no state.

A newer runner may send what this does not know; that is None, never an error.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeAlias

from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    EmbeddedResourceContentBlock,
    ResourceContentBlock,
    SessionNotification,
    TextContentBlock,
    TextResourceContents,
    ToolCallProgress,
    ToolCallStart,
)
from pydantic import ValidationError

from adapters.acp.asked import TITLE_CHARS, Told, told
from adapters.acp.kept import short


def message(line: bytes) -> dict[str, Any] | None:
    """A line as a JSON-RPC message; None for what is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and _well_formed(found) else None


def _well_formed(found: dict[str, Any]) -> bool:
    if not isinstance(found.get("id"), int | str | None):
        return False
    if "method" in found:
        return isinstance(found["method"], str)
    return "id" in found and isinstance(found.get("error"), dict | None)


# Updates


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of the runner's message."""

    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """A tool call of the runner's, begun or gone on; what is "" has not changed. `told` is all
    that the message tells of it."""

    id: str
    title: str
    status: str
    begun: bool
    told: Told


@dataclass(frozen=True, slots=True)
class Planned:
    """The step of its plan that it is at, as a line."""

    line: str


Update: TypeAlias = Said | Called | Planned


def update(params: Any, session: str) -> Update | None:
    """The parameters of `session/update`; None for another session and what is not looked at."""
    try:
        found = SessionNotification.model_validate(params)
    except ValidationError:
        return None
    if found.session_id != session:
        return None
    match found.update:
        case AgentMessageChunk(content=content):
            return Said(_text(content))
        case ToolCallStart() | ToolCallProgress() as call:
            title = short(call.title or "", TITLE_CHARS)
            begun = isinstance(call, ToolCallStart)
            return Called(call.tool_call_id, title, call.status or "", begun, told(call))
        case AgentPlanUpdate() as plan:
            return _planned(plan)
        case _:
            return None


def _text(content: object) -> str:
    match content:
        case TextContentBlock(text=text):
            return text
        case ResourceContentBlock(name=name, uri=uri):
            return f"[{name}]({uri})"
        case EmbeddedResourceContentBlock(resource=TextResourceContents(text=text)):
            return text
        case _:
            return ""


def _planned(plan: AgentPlanUpdate) -> Planned | None:
    for number, entry in enumerate(plan.entries, 1):
        if entry.status != "completed":
            line = f"plan {number}/{len(plan.entries)}: {entry.content}"
            return Planned(short(line, TITLE_CHARS))
    return None
