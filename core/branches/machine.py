"""The run of a branch table, as a pure function.

Everything that decides where a run goes is here and in `people`. It reads no clock, calls no
model and asks nobody: it is given what happened and answers with the new state and what to do.
What to do follows from the state alone (`orders`), so a restart takes a stored state up again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias, assert_never

from core.branches import overseer
from core.branches.cases import QUESTION_CHARS, case_of, filled
from core.branches.events import (
    AskHuman,
    AskOverseer,
    Cancelled,
    CheckReport,
    ChildEvent,
    ChildFailed,
    ChildReported,
    Effect,
    Event,
    Expired,
    Finish,
    HumanAnswered,
    IllegalTransition,
    NotDeliverable,
    OverseerEvent,
    OverseerFailed,
    OverseerSpoke,
    Patch,
    RepairChild,
    ReportChecked,
    Resolve,
    RunChild,
    ToHuman,
    Unusable,
    Validate,
    Validated,
    Word,
)
from core.branches.faults import TableError
from core.branches.people import human_event, to_human
from core.branches.report import Accepted, Account, Repair, ToDefault
from core.branches.run import (
    REASON_CHARS,
    Case,
    Checking,
    DecidedBy,
    Ended,
    Final,
    Overseeing,
    Phase,
    Run,
    Running,
    State,
    Status,
    Validating,
    WaitingHuman,
    end,
    finish,
)
from core.branches.table import DEFAULT, Choice, Escalate, Report, Route
from core.fence import one_line

MAX_BAD_WORDS = 2
"""How many of its overseers' replies may be of no use before a person is asked."""
SUMMARY_CHARS = 6_000
REPORT_CHARS = 60_000

#: Every change of status that can ever happen; the docs' diagram is drawn from it and a property
#: test holds `advance` to it. One that leads to itself is asked anew.
EDGES: Mapping[Status, frozenset[Status]] = {
    Status.VALIDATING: frozenset({Status.RUNNING}),
    Status.RUNNING: frozenset(
        {Status.CHECKING, Status.OVERSEER, Status.WAITING_HUMAN, Status.CANCELLED}
    ),
    Status.CHECKING: frozenset(
        {
            Status.RESOLVED,
            Status.RUNNING,
            Status.OVERSEER,
            Status.WAITING_HUMAN,
            Status.CANCELLED,
        }
    ),
    Status.OVERSEER: frozenset(
        {
            Status.OVERSEER,
            Status.RESOLVED,
            Status.RUNNING,
            Status.WAITING_HUMAN,
            Status.CANCELLED,
        }
    ),
    Status.WAITING_HUMAN: frozenset(
        {
            Status.RESOLVED,
            Status.RUNNING,
            Status.DECLINED,
            Status.UNANSWERED,
            Status.UNDELIVERABLE,
            Status.CANCELLED,
        }
    ),
    Status.RESOLVED: frozenset(),
    Status.DECLINED: frozenset(),
    Status.UNANSWERED: frozenset(),
    Status.UNDELIVERABLE: frozenset(),
    Status.CANCELLED: frozenset(),
}

Change: TypeAlias = tuple[State, tuple[Effect, ...]]


def advance(state: State, event: Event) -> Change:
    """The state after an event, and the orders that follow from it. Raises IllegalTransition."""
    after = _after(state, event)
    if after is state:
        return state, ()
    return after, (orders(after),)


def orders(state: State) -> Effect:
    """What is to be done in a state: given with the change to it, and again after a restart."""
    match state:
        case Validating():
            return Validate()
        case Ended(final):
            return Finish(final)
        case Run(phase=phase):
            return _order(state, phase)
        case _:
            assert_never(state)


def _order(run: Run, phase: Phase) -> Effect:
    match phase:
        case Running(()):
            return RunChild(run.children, run.table, run.instruction)
        case Running(faults):
            return RepairChild(run.children, run.table, run.instruction, faults)
        case Checking(report, repaired):
            return CheckReport(run.children, run.table, report, repaired)
        case Overseeing(case, complaint):
            return AskOverseer(
                run.asked, run.original, run.table, case, run.instruction, complaint
            )
        case WaitingHuman(case, question):
            return AskHuman(run.rounds, question, case)
        case _:
            assert_never(phase)


def _after(state: State, event: Event) -> State:
    match state:
        case Validating(goal):
            return _validated(state, event, goal)
        case Ended():
            if isinstance(event, Validated):
                raise IllegalTransition(state, event)
            return state  # late: a child, an overseer or a person had not heard that it is over
        case Run():
            return _run_after(state, event)
        case _:
            assert_never(state)


def _validated(state: Validating, event: Event, goal: str) -> State:
    match event:
        case Validated(table):
            seen = (table.fingerprint,)
            return Run(goal=goal, original=table, table=table, phase=Running(), seen=seen)
        case _:
            raise IllegalTransition(state, event)


def _run_after(run: Run, event: Event) -> State:
    match event:
        case ChildReported() | ChildFailed() | ReportChecked():
            return _child_event(run, event)
        case OverseerSpoke() | OverseerFailed():
            return _overseer_event(run, event)
        case HumanAnswered() | Expired() | NotDeliverable():
            return human_event(run, event)
        case Cancelled(reason):
            return end(run, Status.CANCELLED, reason=reason)
        case Validated():
            raise IllegalTransition(run, event)
        case _:
            assert_never(event)


# Children


def _child_event(run: Run, event: ChildEvent) -> State:
    if not 1 <= event.child <= run.children:
        raise IllegalTransition(run, event)
    if event.child < run.children:
        return run  # late: another child works by now
    match run.phase, event:
        case Running(faults), ChildReported(_, report):
            kept = report[:REPORT_CHARS]  # cut, it is no JSON any more, and goes back
            return replace(run, phase=Checking(kept, bool(faults)))
        case Running(), ChildFailed(_, reason):
            return _no_report(run, reason)
        case Running(faults=()), ReportChecked():
            raise IllegalTransition(run, event)  # nothing was reported
        case Checking() as checking, ReportChecked():
            return _checked(run, checking, event)
        case _:
            return run  # late: a second report, or an end after the report


def _no_report(run: Run, reason: str) -> State:
    """The default branch says who looks at it; it is nothing that could be reported."""
    default = run.table.default
    case = Case(why=_why(f"the child came to no report: {reason}"))
    if isinstance(default, Escalate):
        choice = run.table.otherwise
        question = filled(run.goal, default.prompt, choice, None, QUESTION_CHARS)
        case = replace(case, question=question, human=default.human)
        if default.route is Route.HUMAN:
            return to_human(run, case)
    return _to_overseer(run, case)


def _checked(run: Run, checking: Checking, event: ReportChecked) -> State:
    match event.checked:
        case Accepted(account):
            choice = run.table.find(account.label)
            if choice is None:
                raise IllegalTransition(run, event)
            return _follow(run, choice, account, f"the child found {choice.label}")
        case Repair(faults) if not checking.repaired:
            return replace(run, phase=Running(faults))
        case Repair(faults):  # the one repair is spent, whoever checked
            return _follow(run, run.table.otherwise, None, "; ".join(faults[:1]))
        case ToDefault(account, reason):
            return _follow(run, run.table.otherwise, account, _leaning(run, account, reason))
        case _:
            assert_never(event.checked)


def _leaning(run: Run, account: Account | None, why: str) -> str:
    """Why it is the default branch, with the branch that the child had chosen instead."""
    label = account.label if account else DEFAULT
    leant = label != DEFAULT and run.table.find(label) is not None
    return f"{why}; it leaned to {label}" if leant else why


def _follow(run: Run, choice: Choice, account: Account | None, why: str) -> State:
    """Carry a branch out."""
    branch = choice.branch
    case = case_of(run.goal, choice, account, why)
    match branch:
        case Report(with_evidence=True) if not case.quotes:
            # A default that asks for evidence, and there is none: not for a child to settle.
            return _to_overseer(run, case)
        case Report(format=form):
            summary = filled(run.goal, form, choice, account, SUMMARY_CHARS) or case.observed
            final = Final(
                outcome=Status.RESOLVED,
                summary=summary or f"{choice.words}: {why}",
                branch=choice.label,
                quotes=case.quotes,
                decided_by=DecidedBy.CHILD,
            )
            return finish(run, final)
        case Escalate(Route.HUMAN):
            return to_human(run, case)
        case Escalate():
            return _to_overseer(run, case)
        case _:
            assert_never(branch)


# Overseers


def _to_overseer(run: Run, case: Case) -> State:
    if run.overseers >= run.original.depth:
        return to_human(run, case)
    return replace(run, phase=Overseeing(case), overseers=run.overseers + 1)


def _overseer_event(run: Run, event: OverseerEvent) -> State:
    if not 1 <= event.asked <= run.asked:
        raise IllegalTransition(run, event)
    if event.asked < run.asked or not isinstance(run.phase, Overseeing):
        return run  # late: it was asked anew, or has replied already
    case = run.phase.case
    match event:
        case OverseerFailed(_, reason):
            why = _why(f"no overseer could be asked: {reason}")
            return to_human(run, replace(case, why=why))
        case OverseerSpoke(_, word):
            return _heed(run, case, word)
        case _:
            assert_never(event)


def _heed(run: Run, case: Case, word: Word) -> State:
    match word:
        case Resolve(label, summary):
            return _resolve(run, case, label, summary)
        case Patch(conditions):
            try:
                table = overseer.patched(run.table, conditions)
            except TableError as error:
                return _bad_word(run, case, str(error))
            if table.fingerprint in run.seen:
                return to_human(run, replace(case, why="the overseer's table was tried before"))
            return replace(
                run,
                table=table,
                seen=(*run.seen, table.fingerprint),
                children=run.children + 1,
                phase=Running(),
            )
        case ToHuman(question):
            asked = "\n".join(part for part in (case.question, question.strip()) if part)
            asked = asked[:QUESTION_CHARS]
            why = "the overseer leaves it to a person"
            return to_human(run, replace(case, question=asked, why=why))
        case Unusable(why):
            return _bad_word(run, case, why)
        case _:
            assert_never(word)


def _resolve(run: Run, case: Case, label: str, summary: str) -> State:
    choice = run.table.find(label) if label else None
    if label and choice is None:
        return _bad_word(run, case, f"there is no branch {label[:60]!r}")
    match choice:
        case Choice(branch=Report(with_evidence=True)) if not case.quotes:
            why = f"{label} needs evidence, and the host has found none"
            return _bad_word(run, case, why)
        case Choice(branch=Escalate(Route.HUMAN, prompt, human)):
            # The table leaves this to a person: no overseer may decide it instead.
            account = Account(
                label=label, observed=case.observed, expected=case.expected, tried=case.tried
            )
            question = filled(run.goal, prompt, choice, account, QUESTION_CHARS)
            why = _why(f"the overseer found {label}: {summary}")
            moved = replace(case, label=label, condition=choice.words, why=why, human=human)
            return to_human(run, replace(moved, question=question))
        case _:
            final = Final(
                outcome=Status.RESOLVED,
                summary=summary[:SUMMARY_CHARS],
                branch=label,
                quotes=case.quotes,
                decided_by=DecidedBy.OVERSEER,
            )
            return finish(run, final)


def _bad_word(run: Run, case: Case, why: str) -> State:
    run = replace(run, bad_words=run.bad_words + 1)
    if run.bad_words >= MAX_BAD_WORDS:
        return to_human(run, replace(case, why=_why(f"the overseers were of no use: {why}")))
    return replace(run, phase=Overseeing(case, _why(why)))


def _why(text: str) -> str:
    return one_line(text, REASON_CHARS)
