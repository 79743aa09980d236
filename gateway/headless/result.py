"""What came of a headless run, and its exit code. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from core.gates.chain import Blocked, Unverified
from core.gates.gate import quoting
from core.goals.goal import Goal, GoalStatus
from core.goals.machine import FAILED_LIMIT, STALL_LIMIT, UNLOOKED_LIMIT, UNREADABLE_LIMIT
from core.ports import Usage
from core.sessions.lane import Outcome
from core.sessions.ports import Ending
from core.transcript import Json

NO_END = "It was stopped before it had an answer."
UNANSWERED = "It waits for an answer that nobody gave."
CLEARED = "Its goal was cleared."


class Status(StrEnum):
    """What came of a run."""

    DONE = "done"
    """Answered, and no gate was asked."""
    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    """A gate does not let the answer pass, or a gate or the goal's judge could not look."""
    BLOCKED = "blocked"
    """Nobody can do it, it goes round in circles, or nobody answered what it waits for."""
    SPENT = "spent"
    """A budget of its goal does not reach further."""
    FAILED = "failed"
    STOPPED = "stopped"


EXIT: Mapping[Status, int] = {
    Status.DONE: 0,
    Status.VERIFIED: 0,
    Status.UNVERIFIED: 1,
    Status.BLOCKED: 3,
    Status.SPENT: 3,
    Status.FAILED: 69,
    Status.STOPPED: 130,
}
"""The exit codes of `pursuit agent`."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What all model calls of a run have used, children and judges included."""

    turns: int = 0
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a run; `reason` is one line on why it is no better."""

    status: Status
    answer: str = ""
    reason: str = ""

    def data(self, spent: Spent) -> dict[str, Json]:
        """The last event of a run that is told as JSON."""
        return {
            "event": "result",
            "status": self.status.value,
            "exit_code": EXIT[self.status],
            "reason": self.reason,
            "answer": self.answer,
            "turns": spent.turns,
            "input_tokens": spent.usage.input_tokens,
            "output_tokens": spent.usage.output_tokens,
            "cost": spent.usage.cost,
        }


def came(last: Ending | None, goal: Goal | None, paused: str) -> tuple[Status, str]:
    """What a run has come to, and why it is no better. `last` is how its last turn ended, None
    for a run that was stopped; `paused` is what was told of the goal's pause."""
    if last is None:
        return Status.STOPPED, NO_END
    if last.outcome is Outcome.PARKED:
        return Status.BLOCKED, UNANSWERED
    if goal is not None and goal.status is GoalStatus.BLOCKED:
        return Status.BLOCKED, goal.reason
    if goal is not None and goal.status is GoalStatus.CLEARED:
        return Status.STOPPED, CLEARED
    if last.outcome is not Outcome.ANSWERED:
        return _of_failure(last, paused)
    if goal is not None and goal.status is not GoalStatus.DONE:
        return _of_pause(goal, paused)
    return _of_answer(last)


def _of_failure(last: Ending, paused: str) -> tuple[Status, str]:
    match last.outcome:
        case Outcome.CAPPED:
            return Status.SPENT, paused or last.reason
        case Outcome.FAILED | Outcome.REVOKED:
            return Status.FAILED, last.reason
        case _:
            return Status.STOPPED, last.reason or NO_END


def _of_pause(goal: Goal, paused: str) -> tuple[Status, str]:
    """Of a goal that was paused after an answer; in the order in which the goal itself asks."""
    unjudged = goal.unreadable >= UNREADABLE_LIMIT or goal.failed >= FAILED_LIMIT
    if unjudged or goal.unlooked >= UNLOOKED_LIMIT:
        return Status.UNVERIFIED, paused
    if goal.stall.count >= STALL_LIMIT:
        return Status.BLOCKED, paused
    used, most = goal.turns, goal.budget.turns
    if used >= most:
        return Status.SPENT, f"{used}/{most} turns used: {goal.reason}"
    return Status.SPENT, paused or f"its goal is {goal.status}"


def _of_answer(last: Ending) -> tuple[Status, str]:
    match last.ruling:
        case Blocked(_, reason):
            return Status.BLOCKED, reason
        case Unverified(gate, reason, said=said):
            return Status.UNVERIFIED, f"{gate}: {quoting(reason, said)}"
        case None:
            return (Status.VERIFIED if last.checked else Status.DONE), ""
