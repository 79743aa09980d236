"""Tells a headless run as it happens, as lines for people or as JSON, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from core.agent.events import (
    ContextFolded,
    FoldFailed,
    GateRan,
    ToolEnded,
    ToolStarted,
    ToolWaits,
    TurnEvent,
)
from core.escalations.outcome import waiting_for
from core.gates.chain import Blocked, Unverified
from core.gates.gate import GateEvent, told
from core.goals.goal import Goal, GoalStatus
from core.messages import Outbound, Say, SendFile
from core.sessions.lane import Outcome
from core.sessions.ports import Ending, TurnRef
from core.transcript import Json, ToolResult
from gateway.narrator import tool_line

NO_END = "It was stopped before it had an answer."
UNANSWERED = "It waits for an answer that nobody gave."
CLEARED = "Its goal was cleared."

Tell = Callable[[str, Mapping[str, Json]], None]
"""Takes what happened: a text for people, "" for what they are not told, and the same as data."""


class Status(StrEnum):
    """What came of a run."""

    DONE = "done"
    """Answered, and no gate was asked."""
    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    BLOCKED = "blocked"
    """Nobody can do it, or nobody answered what it waits for."""
    SPENT = "spent"
    """Its goal was paused: a budget is spent, or something else keeps it from going on."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a run; `reason` is one line on why it is no better."""

    status: Status
    answer: str = ""
    reason: str = ""
    turns: int = 0


@dataclass(slots=True, kw_only=True)
class Report:
    """A `Watch` that tells. `redact` takes secrets, and what could steer a terminal, out of what
    it tells; `told_answers` says that answers are told as they come, as those of a goal are."""

    tell: Tell
    redact: Callable[[str], str]
    told_answers: bool = False
    _turns: set[int] = field(default_factory=set)
    _last: Ending | None = None
    _looking: bool = False
    _looked: bool = False
    """Whether any gate looked at the last answer."""
    _expected: list[str] = field(default_factory=list)
    _goal: Goal | None = None
    _finished: bool = False

    def happened(self, event: TurnEvent) -> None:
        """See `Watch.happened`."""
        match event:
            case ToolStarted(call, summary):
                self._note("", event="tool_started", tool=call.name, summary=summary)
            case ToolEnded(result):
                self._note(tool_line(result), event="tool_ended", **_call(result))
            case ToolWaits(waiting):
                note = waiting_for(waiting.asked)
                self._note(f"✋ {note}", event="waits", tool=waiting.call.name, note=note)
            case GateRan(gate):
                self._looking = True
                self._note(told(gate), event="gate", **_gate(gate))
            case ContextFolded():
                self._note("[context] folded into a summary", event="folded")
            case FoldFailed(_, reason):
                self._note(f"[context] not folded: {reason}", event="not_folded", reason=reason)
            case _:
                pass

    def ended(self, ref: TurnRef, ending: Ending) -> None:
        """See `Watch.ended`."""
        self._turns.add(ref.turn)
        self._last = ending
        self._looked, self._looking = self._looking, False
        self._expected += [
            self.redact(post.text) for post in ending.posts if isinstance(post, Say)
        ]

    def heard(self, what: Outbound) -> None:
        """The bot says something in its chat, redacted."""
        match what:
            case Say(text) if text in self._expected:
                self._expected.remove(text)
                self._note(text if self.told_answers else "", event="answer", text=text)
            case Say(text):
                self._note(text, event="said", text=text)
            case SendFile(name, caption):
                line = " ".join(filter(None, (f"📄 {name}", caption)))
                self._note(line, event="file", name=name, caption=caption)

    def finish(self, goal: Goal | None) -> None:
        """All is done; `goal` is what there was of one."""
        self._goal, self._finished = goal, True

    @property
    def result(self) -> Result:
        """What came of it."""
        last = self._last
        status, reason = self._status(last)
        answer = self.redact(last.answer) if last is not None else ""
        return Result(
            status=status, answer=answer, reason=self.redact(reason), turns=len(self._turns)
        )

    def _status(self, last: Ending | None) -> tuple[Status, str]:
        if not self._finished or last is None:
            return Status.STOPPED, NO_END
        if last.outcome is Outcome.PARKED:
            return Status.BLOCKED, UNANSWERED
        goal = self._goal
        if goal is not None and goal.status is not GoalStatus.DONE:
            return _of_goal(goal)
        match last.outcome:
            case Outcome.ANSWERED:
                return _of_answer(last, looked=self._looked)
            case Outcome.CAPPED:
                return Status.SPENT, last.reason
            case Outcome.FAILED | Outcome.REVOKED:
                return Status.FAILED, last.reason
            case _:
                return Status.STOPPED, last.reason or NO_END

    def _note(self, line: str, **data: Json) -> None:
        self.tell(self.redact(line), _redacted(data, self.redact))


def _of_goal(goal: Goal) -> tuple[Status, str]:
    match goal.status:
        case GoalStatus.BLOCKED:
            return Status.BLOCKED, goal.reason
        case GoalStatus.CLEARED:
            return Status.STOPPED, CLEARED
        case _:
            return Status.SPENT, goal.reason or f"its goal is {goal.status}"


def _of_answer(ending: Ending, *, looked: bool) -> tuple[Status, str]:
    match ending.ruling:
        case Blocked(_, reason):
            return Status.BLOCKED, reason
        case Unverified(gate, reason):
            return Status.UNVERIFIED, f"{gate}: {reason}"
        case None:
            return (Status.VERIFIED if looked else Status.DONE), ""


def _call(result: ToolResult) -> dict[str, Json]:
    receipt = result.receipt
    return {
        "tool": result.call.name,
        "summary": receipt.summary,
        "ok": receipt.ok,
        "exit_code": receipt.exit_code,
        "seconds": round(receipt.seconds, 3),
    }


def _gate(event: GateEvent) -> dict[str, Json]:
    return {
        "gate": event.gate.value,
        "result": event.result,
        "reason": event.reason,
        "bounce": event.bounce,
        "budget": event.budget,
        "ms": event.ms,
    }


def _redacted(data: Mapping[str, Json], redact: Callable[[str], str]) -> dict[str, Json]:
    return {key: redact(v) if isinstance(v, str) else v for key, v in data.items()}
