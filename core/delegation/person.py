"""A branch table's question to a person: how it is put, and what the answer is for the run."""

from __future__ import annotations

from typing import assert_never

from core.branches import events
from core.branches.events import AskHuman, Cancelled, Event, Expired, HumanAnswered, NotDeliverable
from core.branches.run import Case
from core.delegation.waiting import Waits
from core.delegation.working import Run
from core.errors import UserError
from core.escalations import outcome
from core.escalations.desk import Asked, Desk
from core.escalations.outcome import Outcome
from core.escalations.record import (
    Chose,
    Denied,
    Escalation,
    Fact,
    Label,
    Purpose,
    Wrote,
)
from core.fence import one_line

FACT_CHARS = 300
NAME_CHARS = 60
NOBODY = "nobody can be asked from here"
STOPPED = "a person stopped it"


async def ask_person(desk: Desk | None, run: Run, order: AskHuman) -> Event | Waits:
    """Ask, or find what became of it. What may not be asked has reached nobody."""
    if desk is None:
        return NotDeliverable(order.round, NOBODY)
    asked = question(run, order)
    try:
        found = await desk.ask(run.context, run.context.caller.call, asked)
    except UserError as error:
        return NotDeliverable(order.round, str(error))
    if found.live:
        return Waits((found.id,))
    if not await desk.apply(run.context, asked.key):  # applied before, or cancelled since
        found = await desk.ask(run.context, run.context.caller.call, asked)
    return came_to(found, order.round)


def question(run: Run, order: AskHuman) -> Asked:
    """The question as it is put to people."""
    human = order.case.human
    return Asked(
        key=f"{run.ref.path}!{order.round}",
        kind=human.kind,
        purpose=Purpose.BRANCH,
        question=order.question,
        facts=_facts(run.task.goal, order.case),
        options=human.options,
        timeout_s=human.timeout_s,
        on_timeout=human.on_timeout,
    )


def _facts(goal: str, case: Case) -> tuple[Fact, ...]:
    told = (
        (Label.TASK, goal),
        (Label.BRANCH, case.label),
        (Label.CONDITION, case.condition),
        (Label.EXPECTED, case.expected),
        (Label.OBSERVED, case.observed),
        (Label.TRIED, "; ".join(case.tried)),
    )
    lines = ((label, one_line(text, FACT_CHARS)) for label, text in told)
    return tuple(Fact(label, text) for label, text in lines if text)


def came_to(found: Escalation, number: int) -> Event:
    """What a decided question is for the run. Raises ValueError for one that is open."""
    result = outcome.outcome(found)
    match result:
        case Outcome.APPROVED | Outcome.CHOSEN | Outcome.WRITTEN | Outcome.DECLINED:
            person = one_line(found.decider.name, NAME_CHARS) if found.decider else ""
            return HumanAnswered(number, _answer(found), person)
        case Outcome.UNANSWERED:
            return Expired(number)
        case Outcome.UNDELIVERABLE:
            return NotDeliverable(number, found.why)
        case Outcome.CANCELLED:
            return Cancelled(found.why or STOPPED)
        case None:
            raise ValueError(f"{found.id} is not decided")
        case _:
            assert_never(result)


def _answer(found: Escalation) -> events.Answer:
    match found.answer:
        case Chose(_, option):
            return events.Chose(option)
        case Wrote(text):
            return events.Wrote(text)
        case Denied(reason):
            return events.Declined(reason)
        case _:
            return events.Approved()
