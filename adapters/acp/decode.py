"""What a runner sends, as values: raw lines, updates of its session, requests for permission, and
the outcome it is told. Pure: no I/O, no clock, no state.

A newer runner may send what this does not know; that is None, never an error.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeAlias

from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AllowedOutcome,
    ContentToolCallContent,
    DeniedOutcome,
    EmbeddedResourceContentBlock,
    FileEditToolCallContent,
    PermissionOption,
    RequestPermissionRequest,
    ResourceContentBlock,
    SessionNotification,
    TextContentBlock,
    TextResourceContents,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
)
from pydantic import ValidationError

from adapters.acp.kept import short
from core.delegation.ports import Permission
from core.fence import clip

TITLE_CHARS = 160
DETAIL_CHARS = 1_500
RAW_BYTES = 6_000

Outcome: TypeAlias = AllowedOutcome | DeniedOutcome
CANCELLED = DeniedOutcome(outcome="cancelled")


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
    """A tool call of the runner's, begun or gone on; what is "" has not changed."""

    id: str
    title: str
    status: str
    begun: bool


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
            return Called(call.tool_call_id, title, call.status or "", begun)
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


# Permissions


def permission(request: RequestPermissionRequest, known: str) -> Permission:
    """What is asked for; `known` is the call's title as the runner told it before, or ""."""
    call = request.tool_call
    title = short(call.title or "", TITLE_CHARS) or known or call.kind or "a tool call"
    return Permission(title, short("; ".join(_details(call)), DETAIL_CHARS))


def _details(call: ToolCallUpdate) -> list[str]:
    """The command first: it is what a person decides on, whatever the title says."""
    found: list[str] = []
    raw = call.raw_input
    if isinstance(raw, dict) and isinstance(raw.get("command"), str):
        found.append(raw["command"])
        raw = {key: value for key, value in raw.items() if key != "command"}
    if raw:
        found.append(clip(json.dumps(raw, ensure_ascii=False), RAW_BYTES))
    found += [place.path for place in call.locations or ()]
    for piece in call.content or ():
        match piece:
            case FileEditToolCallContent(path=path):
                found.append(f"edits {path}")
            case ContentToolCallContent(content=TextContentBlock(text=text)):
                found.append(text)
            case _:
                pass
    return list(dict.fromkeys(found))


def outcome(options: list[PermissionOption], *, allowed: bool) -> Outcome:
    """What the runner is told: an option for this once, never one for always; where it offers
    none, that the request was cancelled."""
    wanted = "allow_once" if allowed else "reject_once"
    for option in options:
        if option.kind == wanted:
            return AllowedOutcome(outcome="selected", option_id=option.option_id)
    return CANCELLED
