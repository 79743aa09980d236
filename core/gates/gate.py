"""A gate, and what one run of it comes to. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Gate(StrEnum):
    """The gates, in their order."""

    VERIFY = "verify"
    """The commands of the settings and of the chat, run in the workspace."""
    CRITIC = "critic"
    """A model that reads the answer and the receipts, with no tools."""


# What one run comes to.


@dataclass(frozen=True, slots=True)
class Passed:
    """Nothing was found wrong; `reason` may say what was looked at."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """There was nothing to do since it last passed, which counts as a pass."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The answer does not pass. `reason` is one line for people and the same for the same
    failure; `said` is what people read beside it, `shown` what the agent reads: others' text,
    which is data and may be another each time."""

    reason: str
    shown: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True)
class Impossible:
    """What was asked cannot be done, whoever works on it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unavailable:
    """It could not look: neither passed nor failed. `why` names the setting that a person may
    have to change."""

    why: str


Result: TypeAlias = Passed | Skipped | Rejected | Impossible | Unavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class GateEvent:
    """One run of a gate, for the event stream, the log and `/status`. `result` is a word of
    `word`, `bounce` the number of reflections so far, `budget` how many there may be, `ms` how
    long the gate took."""

    gate: Gate
    result: str
    reason: str
    bounce: int
    budget: int
    ms: int


def word(gate: Gate, result: Result) -> str:
    """A result in a word, as people know it from that gate."""
    match result:
        case Passed():
            return "APPROVE" if gate is Gate.CRITIC else "passed"
        case Skipped():
            return "skipped"
        case Rejected():
            return "REJECT" if gate is Gate.CRITIC else "failed"
        case Impossible():
            return "IMPOSSIBLE"
        case Unavailable():
            return "UNAVAILABLE"


def reason_of(result: Result) -> str:
    """One line on why, for people."""
    match result:
        case Unavailable(why):
            return why
        case Rejected():
            return quoting(result.reason, result.said)
        case _:
            return result.reason


def quoting(reason: str, said: str) -> str:
    """A reason with what others said of it, "" for nothing."""
    return f"{reason}: `{said}`" if said else reason


def told(event: GateEvent) -> str:
    """An event on one line: `[critic] REJECT: …`."""
    return f"[{event.gate}] {event.result}" + (f": {event.reason}" if event.reason else "")


def shown(event: GateEvent) -> str:
    """An event as the chat's progress message tells it."""
    match event.gate, event.result:
        case Gate.VERIFY, "passed":
            return f"✅ {event.reason} passed"
        case Gate.VERIFY, "skipped":
            return f"✅ not checked again: {event.reason}"
        case Gate.VERIFY, "failed":
            return f"❌ {event.reason}"
        case _:
            return told(event)
