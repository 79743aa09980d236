"""What a running turn tells whoever shows its progress.

Values only, best effort: nothing that must not be lost goes this way.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TypeAlias

from core.ports import Usage
from core.transcript import ToolCall, ToolResult

SUMMARY_LENGTH = 80


@dataclass(frozen=True, slots=True)
class ModelAsked:
    """The model is being asked for step `step`, counted from 0."""

    step: int


@dataclass(frozen=True, slots=True)
class TextStreamed:
    """A piece of the reply's text; whether it is the answer shows only at the reply's end."""

    piece: str


@dataclass(frozen=True, slots=True)
class ModelReplied:
    """A model call has ended, well or not; told for compaction calls too."""

    step: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A call is running; `summary` is one line for people."""

    call: ToolCall
    summary: str


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A call has its result, by running, by refusal or by recovery."""

    result: ToolResult


@dataclass(frozen=True, slots=True)
class StepDone:
    """All calls of step `step` have their results."""

    step: int


@dataclass(frozen=True, slots=True)
class ContextFolded:
    """What came before step `step` was folded into a summary."""

    step: int


@dataclass(frozen=True, slots=True)
class FoldFailed:
    """The conversation should have been folded and was not; nothing was dropped."""

    step: int
    reason: str


TurnEvent: TypeAlias = (
    ModelAsked
    | TextStreamed
    | ModelReplied
    | ToolStarted
    | ToolEnded
    | StepDone
    | ContextFolded
    | FoldFailed
)


def call_summary(call: ToolCall) -> str:
    """A call as one short line: its first text argument, such as the command, else its name."""
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return call.name
    values = arguments.values() if isinstance(arguments, dict) else ()
    line = next((" ".join(v.split()) for v in values if isinstance(v, str) and v.strip()), "")
    if len(line) > SUMMARY_LENGTH:
        line = line[: SUMMARY_LENGTH - 1] + "…"
    return line or call.name
