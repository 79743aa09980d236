"""What a runner asks leave for, and the outcome it is told. Pure: no I/O, no clock, no state.

A person who gives leave has to see all of it, so what is too long for any card, or no text at
all, is never put to one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import TypeAlias

from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    RequestPermissionRequest,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
)
from pydantic import BaseModel

from adapters.acp.kept import short
from core.delegation.ports import Permission

TITLE_CHARS = 160
MOST = 20_000
"""More characters than any chat shows in one message."""

ToolCall: TypeAlias = ToolCallUpdate | ToolCallStart | ToolCallProgress
Outcome: TypeAlias = AllowedOutcome | DeniedOutcome
CANCELLED = DeniedOutcome(outcome="cancelled")

NOT_ONCE = "it cannot be allowed just once"
NOTHING_TOLD = "it did not say what it wants to do"
TOO_LONG = f"what it asks for has more than {MOST} characters, and a person has to see all of it"
NO_TEXT = "what it asks for cannot be shown as text, and a person has to see all of it"


@dataclass(frozen=True, slots=True)
class Told:
    """What a runner has told of a tool call so far; None is what it has not told.

    `raw` is its input but for the command, as JSON; `content` what it shows, one JSON a line;
    `places` a JSON list of paths. Each is whole, or cut to one character more than `MOST`.
    """

    title: str | None = None
    tool: str | None = None
    command: str | None = None
    raw: str | None = None
    content: str | None = None
    places: str | None = None

    def then(self, later: Told) -> Told:
        """With what it told later, which stands in place of what it told before."""
        new = {name: text for name, text in asdict(later).items() if text is not None}
        return replace(self, **new)


@dataclass(frozen=True, slots=True)
class Unaskable:
    """A request that is put to nobody, and why."""

    title: str
    why: str


def told(call: ToolCall) -> Told:
    """What one message tells of a call."""
    command, raw = _input(call.raw_input)
    content = None if call.content is None else _json(map(_bare, call.content))
    places = None if call.locations is None else _json([[at.path for at in call.locations]])
    return Told(*map(_cut, (call.title, call.kind, command, raw, content, places)))


def _input(given: object) -> tuple[str | None, str | None]:
    """The command and the rest; where any is told it takes the place of all that was."""
    if given is None:
        return None, None
    command = ""
    if isinstance(given, dict) and isinstance(given.get("command"), str):
        command = given["command"]
        given = {key: value for key, value in given.items() if key != "command"}
    return command, "" if given in ({}, [], "") else _json([given])


def _bare(piece: BaseModel) -> object:
    return piece.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"field_meta"})


def _json(values: Iterable[object]) -> str:
    """Each on a line of its own; one that is nested too deeply counts as too long."""
    try:
        return "\n".join(json.dumps(value, ensure_ascii=False) for value in values)
    except RecursionError:
        return " " * (MOST + 1)


def _cut(text: str | None) -> str | None:
    return None if text is None else text[: MOST + 1]


def permission(request: RequestPermissionRequest, known: Told) -> Permission | Unaskable:
    """What is asked for; `known` is what the runner told of the call before."""
    call = known.then(told(request.tool_call))
    title = short(call.title or "", TITLE_CHARS) or call.tool or "a tool call"
    told_whole = [call.command or "", call.raw or "", call.content or ""]
    arguments = "\n".join(filter(None, told_whole[1:]))
    if not any(told_whole):
        arguments = (call.title or "").strip()  # all that some runners tell of a command
    size = sum(map(len, (*told_whole, call.title or "", call.places or "")))
    if outcome(request.options, allowed=True) is CANCELLED:
        return Unaskable(title, NOT_ONCE)
    if size > MOST:
        return Unaskable(title, TOO_LONG)
    paths = tuple(json.loads(call.places or "[]"))
    if not any((*told_whole, arguments, *paths)):
        return Unaskable(title, NOTHING_TOLD)
    if not _is_text("".join((*told_whole, arguments, *paths))):
        return Unaskable(title, NO_TEXT)
    return Permission(
        title=title,
        tool=call.tool or "other",
        command=call.command or "",
        arguments=arguments,
        paths=tuple(filter(None, paths)),
    )


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def outcome(options: list[PermissionOption], *, allowed: bool) -> Outcome:
    """What the runner is told: an option for this once, never one for always; where it offers
    none, that the request was cancelled."""
    wanted = "allow_once" if allowed else "reject_once"
    for option in options:
        if option.kind == wanted:
            return AllowedOutcome(outcome="selected", option_id=option.option_id)
    return CANCELLED
