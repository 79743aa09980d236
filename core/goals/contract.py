"""What a person writes behind `/goal` and `/subgoal`, read into values. Pure.

A word is a subcommand only when the whole argument fits its grammar: `/goal clear` clears,
`/goal clear the backlog` is a goal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias

CONTRACT_KEYS = ("outcome", "verify", "constraints", "boundaries", "stop when")
MAX_BYTES = 20_000
"""The most that a goal, its contract and its criteria may come to together, in bytes of UTF-8.
Who judges is shown all of it, so there are judges that take less: `House.judge_reads`."""

_LINE = re.compile(rf"^\s*({'|'.join(CONTRACT_KEYS)})\s*:\s*(.*)$", re.IGNORECASE)
_NUMBER = r"\d{1,9}(?:\.\d{1,9})?"
_DURATION = re.compile(rf"(?:{_NUMBER}[smhd])*(?:{_NUMBER})?")
_PIECE = re.compile(rf"({_NUMBER})([smhd]?)")
_COST = re.compile(rf"\$?({_NUMBER})")
_WHOLE = re.compile(r"\d{1,12}")
_UNITS = {"s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A goal's limits; None is no limit. Cost is in US dollars."""

    turns: int = 20
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class SetGoal:
    """`/goal <text>`; `contract` maps some of `CONTRACT_KEYS` to their text, in that order."""

    text: str
    contract: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ShowStatus:
    """`/goal` or `/goal status`."""


@dataclass(frozen=True, slots=True)
class ShowGoal:
    """`/goal show`."""


@dataclass(frozen=True, slots=True)
class PauseGoal:
    """`/goal pause`."""


@dataclass(frozen=True, slots=True)
class ResumeGoal:
    """`/goal resume`."""


@dataclass(frozen=True, slots=True)
class ClearGoal:
    """`/goal clear`."""


@dataclass(frozen=True, slots=True)
class AcceptDraft:
    """`/goal accept`: the button under a drafted contract."""


@dataclass(frozen=True, slots=True)
class DraftGoal:
    """`/goal draft <text>`."""

    text: str


@dataclass(frozen=True, slots=True)
class WaitGoal:
    """`/goal wait <duration>`."""

    seconds: float


@dataclass(frozen=True, slots=True)
class ChangeBudget:
    """`/goal budget …`: the limits that were named, "none" among them as None."""

    changes: dict[str, int | float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AddCriterion:
    """`/subgoal <text>`."""

    text: str


@dataclass(frozen=True, slots=True)
class ListCriteria:
    """`/subgoal`."""


@dataclass(frozen=True, slots=True)
class RemoveCriterion:
    """`/subgoal remove N`, counted from 1."""

    number: int


@dataclass(frozen=True, slots=True)
class ClearCriteria:
    """`/subgoal clear`."""


@dataclass(frozen=True, slots=True)
class AddGate:
    """`/goal gate add <command>`."""

    command: str


@dataclass(frozen=True, slots=True)
class ListGates:
    """`/goal gate list`."""


@dataclass(frozen=True, slots=True)
class RemoveGate:
    """`/goal gate remove N`, counted from 1."""

    number: int


@dataclass(frozen=True, slots=True)
class Misread:
    """The line looks like a subcommand but cannot be used; `text` says what would fit."""

    text: str


GoalCommand: TypeAlias = (
    SetGoal
    | ShowStatus
    | ShowGoal
    | PauseGoal
    | ResumeGoal
    | ClearGoal
    | AcceptDraft
    | DraftGoal
    | WaitGoal
    | ChangeBudget
    | AddCriterion
    | ListCriteria
    | RemoveCriterion
    | ClearCriteria
    | AddGate
    | ListGates
    | RemoveGate
    | Misread
)

_WORDS: dict[str, GoalCommand] = {
    "": ShowStatus(),
    "status": ShowStatus(),
    "show": ShowGoal(),
    "pause": PauseGoal(),
    "resume": ResumeGoal(),
    "clear": ClearGoal(),
    "accept": AcceptDraft(),
}
_BUDGET_USAGE = "Usage: /goal budget turns=N tokens=N cost=N time=2h (each one optional)."
_GATE_USAGE = "Usage: /goal gate add <command>, /goal gate list, /goal gate remove N."
_GATE = re.compile(r"(?:list|remove(?:\s+\d+)?|add(?:\s.*)?)?", re.IGNORECASE | re.DOTALL)


def read_goal(argument: str) -> GoalCommand:
    """The argument of `/goal`."""
    argument = argument.strip()
    word = _WORDS.get(argument.lower())
    if word is not None:
        return word
    head, rest = (*argument.split(maxsplit=1), "")[:2]
    match head.lower():
        case "wait" if (seconds := read_duration(rest)) is not None:
            return WaitGoal(seconds)
        case "budget" if not rest or "=" in rest.split()[0]:
            return _read_budget(rest)
        case "draft" if rest:
            return DraftGoal(rest)
        case "gate" if _GATE.fullmatch(rest):
            return _read_gate(rest)
        case "draft" | "budget" | "wait" if not rest:
            return Misread("Usage: /goal draft <text>, /goal wait <duration, as 10m>.")
        case _:
            return _read_set(argument)


def _read_gate(rest: str) -> GoalCommand:
    word, argument = (*rest.split(maxsplit=1), "", "")[:2]
    match word.lower():
        case "" | "list":
            return ListGates()
        case "add" if argument:
            return AddGate(argument)
        case "remove" if argument:
            return RemoveGate(int(argument[:12]))
        case _:
            return Misread(_GATE_USAGE)


def _read_set(argument: str) -> GoalCommand:
    text: list[str] = []
    found: dict[str, list[str]] = {}
    current: list[str] = text
    for line in argument.splitlines():
        match = _LINE.match(line)
        if match is None:
            current.append(line)
        else:
            current = found.setdefault(match[1].lower(), [])
            current.append(match[2])
    said = ((key, "\n".join(found.get(key, ())).strip()) for key in CONTRACT_KEYS)
    contract = tuple((key, line) for key, line in said if line)
    goal = "\n".join(text).strip()
    if not goal and contract:
        goal, contract = contract[0][1], contract[1:]
    return SetGoal(goal, contract) if goal else Misread("Usage: /goal <text>.")


def read_subgoal(argument: str) -> GoalCommand:
    """The argument of `/subgoal`."""
    argument = argument.strip()
    match argument.lower().split():
        case []:
            return ListCriteria()
        case ["clear"]:
            return ClearCriteria()
        case ["remove", number] if number.isdecimal():
            return RemoveCriterion(int(number[:12]))
        case ["remove"]:
            return Misread("Usage: /subgoal remove N, with a number that /subgoal lists.")
        case _:
            return AddCriterion(argument)


def _read_budget(rest: str) -> GoalCommand:
    changes: dict[str, int | float | None] = {}
    for pair in rest.split():
        key, _, value = pair.partition("=")
        number = _read_limit(key.lower(), value.lower())
        if isinstance(number, str):
            return Misread(f"“{pair[:40]}” is not a budget. {_BUDGET_USAGE}")
        changes["seconds" if key.lower() == "time" else key.lower()] = number
    return ChangeBudget(changes) if changes else Misread(_BUDGET_USAGE)


def _read_limit(key: str, value: str) -> int | float | str | None:
    """A limit's number, None for "none", "" where it cannot be read."""
    if value in {"none", "off"} and key in {"tokens", "cost", "time"}:
        return None
    if key in {"turns", "tokens"}:
        plain = value.replace("_", "") if value[:1] != "_" else ""
        return int(plain) if _WHOLE.fullmatch(plain) and int(plain) > 0 else ""
    if key == "cost":
        match = _COST.fullmatch(value)
        return float(match[1]) if match and float(match[1]) > 0 else ""
    if key == "time":
        seconds = read_duration(value)
        return "" if seconds is None else seconds
    return ""


def read_duration(text: str) -> float | None:
    """Seconds of `90`, `10m`, `1h30m`; None where the whole text is not a duration above 0."""
    text = "".join(text.lower().split())
    if not _DURATION.fullmatch(text):
        return None
    total = sum(float(n) * _UNITS[unit] for n, unit in _PIECE.findall(text))
    return total if total > 0 else None


def too_long(what: str, text: str, limit: int) -> str:
    """The sentence that refuses `text` as too long for `what`, "" when it is not: its size counts
    in bytes of UTF-8."""
    size = len(text.encode(errors="replace"))
    if size <= limit:
        return ""
    return (
        f"{what} has {size:,} bytes; at most {limit:,} are taken. "
        "Put the details into a file and name it in the goal."
    )


def show_duration(seconds: float) -> str:
    """A duration for people: `45s`, `12m 5s`, `2h 3m`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60}s" if whole % 60 else f"{whole // 60}m"
    return f"{whole // 3600}h {whole % 3600 // 60}m" if whole % 3600 >= 60 else f"{whole // 3600}h"
