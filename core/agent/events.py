"""What a running turn tells whoever shows its progress.

Values only, best effort: nothing that must not be lost goes this way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from core.gates.gate import GateEvent
from core.ports import Usage, Waiting
from core.transcript import ToolCall, ToolResult

SUMMARY_LENGTH = 80

TELLING = ("goal", "command", "pattern", "query", "path")
"""Arguments that say what a call is about, whatever stands before them; the first counts."""


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
class ToolWaits:
    """A call has asked a person; its turn ends for now, see `core.ports.Waiting`."""

    waiting: Waiting


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


@dataclass(frozen=True, slots=True)
class GateRan:
    """A gate has looked at the turn's answer."""

    event: GateEvent


TurnEvent: TypeAlias = (
    ModelAsked
    | TextStreamed
    | ModelReplied
    | ToolStarted
    | ToolEnded
    | ToolWaits
    | StepDone
    | ContextFolded
    | FoldFailed
    | GateRan
)


def call_summary(call: ToolCall) -> str:
    """A call as one short line: what it is about, such as the command, else its name."""
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return call.name
    line = _about(arguments) if isinstance(arguments, dict) else ""
    if len(line) > SUMMARY_LENGTH:
        line = line[: SUMMARY_LENGTH - 1] + "…"
    return line or call.name


def _about(arguments: Mapping[str, object]) -> str:
    """The argument that says most to a person: one of a telling name, a list of things to do
    ("3 tasks: write a; write b"), else the first text."""
    texts = _texts(arguments)
    return _telling(texts) or _listed(arguments) or next(iter(texts.values()), "")


def _listed(arguments: Mapping[str, object]) -> str:
    for name, value in arguments.items():
        things = [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
        abouts = list(filter(None, (_telling(_texts(one)) for one in things)))
        if len(things) == 1:
            return "".join(abouts)
        if things:
            return f"{len(things)} {name}" + (f": {'; '.join(abouts)}" if abouts else "")
    return ""


def _telling(texts: Mapping[str, str]) -> str:
    return next((texts[name] for name in TELLING if name in texts), "")


def _texts(arguments: Mapping[str, object]) -> dict[str, str]:
    """The texts among the arguments, each on one line."""
    lines = {key: " ".join(v.split()) for key, v in arguments.items() if isinstance(v, str)}
    return {key: line for key, line in lines.items() if line}
