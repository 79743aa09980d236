"""What a command's reply reads beside the lane itself; the store answers inside the commit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from core.commands import Invocation
from core.goals.contract import Budget, SetGoal
from core.messages import Principal, SessionId


@dataclass(frozen=True, slots=True)
class Spent:
    """What a goal has used so far, children and judges included; cost is in US dollars."""

    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class SessionFact:
    """One line of `/sessions`: `title` is the start of its first message."""

    id: SessionId
    title: str
    turns: int
    goal: str = ""
    """The goal's status, "" without one."""


class Facts(Protocol):
    """Read-only questions about the lane whose command is being obeyed."""

    def spent(self, goal: int) -> Spent:
        """The usage rows of a goal, summed."""
        ...

    def sessions(self) -> tuple[SessionFact, ...]:
        """The lane's sessions, newest first; at most 20."""
        ...

    def draft(self) -> SetGoal | None:
        """The contract that was drafted last in the lane's session."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A command as it was accepted; `seq` is its own inbox row, `now` is wall time.

    `defaults` are the limits that a new goal gets.
    """

    seq: int
    by: Principal
    line: Invocation
    now: float
    defaults: Budget = field(default_factory=Budget)
