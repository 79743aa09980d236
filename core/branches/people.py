"""A branch table's run and the people it asks: at most two questions, and no answer is never a
yes. Pure; a part of the machine.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from core.branches.events import (
    Answer,
    Approved,
    Chose,
    Declined,
    Expired,
    HumanAnswered,
    HumanEvent,
    IllegalTransition,
    NotDeliverable,
    Wrote,
)
from core.branches.run import (
    Case,
    DecidedBy,
    Ended,
    Final,
    Run,
    Running,
    State,
    Status,
    WaitingHuman,
    end,
    finish,
)
from core.escalations.record import Kind, OnTimeout

MAX_ROUNDS = 2
"""How often a run may ask a person."""
INSTRUCTION_CHARS = 8_000


def to_human(run: Run, case: Case) -> State:
    """The run as it asks a person; it ends where it has asked too often."""
    if run.rounds >= MAX_ROUNDS:
        reason = f"a person was asked {MAX_ROUNDS} times, and it is open still: {case.why}"
        return end(run, Status.CANCELLED, case=case, reason=reason)
    question = case.question or case.observed or case.why
    return replace(run, phase=WaitingHuman(case, question), rounds=run.rounds + 1)


def human_event(run: Run, event: HumanEvent) -> State:
    """The run after a person's answer, or after there is none to come."""
    if not 1 <= event.round <= run.rounds:
        raise IllegalTransition(run, event)
    if event.round < run.rounds or not isinstance(run.phase, WaitingHuman):
        return run  # late: that question is decided
    case = run.phase.case
    match event:
        case HumanAnswered(_, answer, person):
            return _answered(run, case, answer, event, person)
        case Expired() if case.human.on_timeout is OnTimeout.DENY:
            return end(run, Status.UNANSWERED, case=case, reason="nobody answered in time")
        case Expired():
            ended = end(run, Status.CANCELLED, case=case, reason="nobody answered in time")
            return Ended(replace(ended.final, aborts=True))
        case NotDeliverable(_, reason):
            return end(run, Status.UNDELIVERABLE, case=case, reason=reason)
        case _:
            assert_never(event)


def _answered(run: Run, case: Case, answer: Answer, event: HumanAnswered, person: str) -> State:
    asked = case.human
    match answer:
        case Approved() if asked.kind is Kind.APPROVE:
            return _decided(run, case, person, Status.RESOLVED, "a person approved this")
        case Chose(option) if asked.kind is Kind.CHOOSE and option in asked.options:
            return _decided(run, case, person, Status.RESOLVED, f"a person chose: {option}")
        case Wrote(text) if asked.kind is Kind.TEXT and text.strip():
            told = text.strip()[:INSTRUCTION_CHARS]
            return replace(run, phase=Running(), instruction=told, children=run.children + 1)
        case Declined(reason):
            ended = _decided(run, case, person, Status.DECLINED, "")
            return Ended(replace(ended.final, reason=reason or "a person said no"))
        case Approved() | Chose() | Wrote():
            raise IllegalTransition(run, event)
        case _:
            assert_never(answer)


def _decided(run: Run, case: Case, person: str, outcome: Status, summary: str) -> Ended:
    final = Final(
        outcome=outcome,
        summary=summary,
        branch=case.label,
        quotes=case.quotes,
        decided_by=DecidedBy.HUMAN,
        person=person,
    )
    return finish(run, final)
