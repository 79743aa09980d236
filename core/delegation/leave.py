"""A runner's request for permission as a question to a person, and the person's word as its
outcome. Pure."""

from __future__ import annotations

from core.delegation.ports import Permission, Permitted
from core.escalations import outcome
from core.escalations.desk import Asked
from core.escalations.outcome import Outcome
from core.escalations.record import Denied, Escalation, Fact, Kind, Label, OnTimeout, Purpose
from core.escalations.shown import line, name

REASON_CHARS = 120
REASONS = {
    Outcome.APPROVED: "{id} was approved by {by}",
    Outcome.DECLINED: "{id} was denied by {by}",
    Outcome.UNANSWERED: "nobody answered {id} in time",
    Outcome.UNDELIVERABLE: "{id} could not be shown to anybody",
    Outcome.CANCELLED: "{id} was stopped",
}


def key(path: str, number: int) -> str:
    """The key of a child's question; `path` is the child's, `number` counts them from 1."""
    return f"{path}!p{number}"


def asked(key: str, agent: str, permission: Permission) -> Asked:
    """The question: all that the runner told is exact, but for its title; `agent` is what people
    call the runner."""
    told = (
        (Label.COMMAND, permission.command),
        (Label.ARGUMENTS, permission.arguments),
        *((Label.PATH, path) for path in permission.paths),
        (Label.TOOL, permission.tool),
        (Label.AGENT, agent),
    )
    return Asked(
        key=key,
        kind=Kind.APPROVE,
        purpose=Purpose.PERMISSION,
        question=permission.title,
        facts=tuple(Fact(label, text) for label, text in told if text),
        on_timeout=OnTimeout.DENY,
    )


def stored(key: str) -> Asked:
    """What finds a question that was asked by an earlier run of the program; its words are
    stored with it."""
    return Asked(key=key, kind=Kind.APPROVE, purpose=Purpose.PERMISSION)


def permitted(escalation: Escalation, *, applied: bool) -> Permitted:
    """What the runner is told; `applied` is false where the answer was taken back meanwhile. Only
    a person's yes is one."""
    became = (outcome.outcome(escalation) if applied else None) or Outcome.CANCELLED
    decider, answer = escalation.decider, escalation.answer
    by = name(decider) if decider else "nobody"
    reason = REASONS[became].format(id=escalation.id, by=by)
    if became is Outcome.DECLINED and isinstance(answer, Denied) and answer.reason:
        reason = f"{reason}: {line(answer.reason, REASON_CHARS)}"
    return Permitted(allowed=became is Outcome.APPROVED, reason=reason)
