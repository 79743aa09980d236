"""What `/goal` and `/subgoal` do to a lane. Pure; see `core.sessions.control`."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import assert_never

from core.goals import prompts, texts
from core.goals.contract import (
    MAX_BYTES,
    AcceptDraft,
    AddCriterion,
    AddGate,
    Budget,
    ChangeBudget,
    ClearCriteria,
    ClearGoal,
    DraftGoal,
    GoalCommand,
    ListCriteria,
    ListGates,
    Misread,
    PauseGoal,
    RemoveCriterion,
    RemoveGate,
    ResumeGoal,
    SetGoal,
    ShowGoal,
    ShowStatus,
    WaitGoal,
    show_duration,
    too_long,
)
from core.goals.events import (
    BudgetChanged,
    CriteriaChanged,
    GoalCleared,
    GoalPaused,
    GoalResumed,
    GoalSet,
    WaitAsked,
)
from core.goals.goal import Goal, GoalStatus
from core.goals.machine import MAX_WAIT_S
from core.messages import Role
from core.rights import Right, may
from core.sessions.denial import deny
from core.sessions.facts import Facts, Order, Spent
from core.sessions.goal_gates import change_gates, listed
from core.sessions.lane import (
    Change,
    Drop,
    Enqueue,
    Idle,
    Lane,
    LaneEffect,
    Post,
    Prio,
    RowKind,
    Wake,
    Withdraw,
)
from core.sessions.machine import tell_goal

MAX_CRITERIA = 20


def obey_goal(lane: Lane, order: Order, command: GoalCommand, facts: Facts) -> Change:
    """Carry out one goal command and say what came of it."""
    match command:
        case SetGoal():
            return _set(lane, order, command, facts)
        case AcceptDraft():
            draft = facts.draft()
            if draft is None:
                return _say(lane, "There is no draft to accept. Use /goal draft <text> first.")
            return _set(lane, order, draft, facts)
        case DraftGoal(text):
            return _draft(lane, order, text)
        case Misread(text):
            return _say(lane, text)
        case _:
            goal = lane.slot.goal
            if goal is None or goal.status is GoalStatus.CLEARED:
                none = isinstance(command, ResumeGoal)
                return _say(lane, texts.NOTHING_TO_RESUME if none else texts.NO_GOAL)
            return _with_goal(lane, goal, order, command, facts)


def _say(lane: Lane, text: str) -> Change:
    return lane, (Post(text),)


def _set(lane: Lane, order: Order, wanted: SetGoal, facts: Facts) -> Change:
    if not lane.idle:
        return _say(lane, texts.TURN_RUNNING)
    if lane.slot.active is not None and (lane.asking or lane.parked is not None):
        return _say(lane, texts.TURN_WAITING)
    judged = prompts.kickoff(wanted.text, (), dict(wanted.contract))
    if refusal := too_long("The goal", judged, facts.house.judge_reads):
        return _say(lane, refusal)
    withdrawn: tuple[LaneEffect, ...] = ()
    if lane.slot.goal is not None:
        lane, withdrawn = _withdrawn(lane, lane.slot.goal, "its goal was replaced")
    event = GoalSet(
        id=order.seq,
        text=wanted.text,
        by=order.by,
        contract=wanted.contract,
        budget=order.defaults,
    )
    lane, effects = tell_goal(lane, event)
    kickoff = Enqueue(
        kind=RowKind.KICKOFF,
        prio=Prio.PERSON,
        principal=order.by,
        dedupe=f"kickoff:{order.seq}",
        payload={"text": wanted.text},
        goal=order.seq,
        generation=lane.slot.generation,
    )
    return lane, (*withdrawn, *effects, kickoff, Wake())


def _withdrawn(lane: Lane, goal: Goal, why: str) -> Change:
    """Take back what the goal's turns have asked: nothing of it may go on."""
    parked = lane.parked
    if parked is not None and parked.goal == goal.id:
        lane = replace(lane, parked=None)
    answers = tuple(r.seq for r in lane.waiting if r.goal == goal.id and r.kind is RowKind.ANSWER)
    waits = bool(answers) or lane.asking or parked is not None
    lane = replace(lane, waiting=tuple(row for row in lane.waiting if row.seq not in answers))
    dropped = (Drop(answers),) if answers else ()
    return lane, (*dropped, Withdraw(why, goal=goal.id)) if waits else ()


def _draft(lane: Lane, order: Order, text: str) -> Change:
    if not lane.idle:
        return _say(lane, texts.TURN_RUNNING)
    if refusal := too_long("The text", text, MAX_BYTES):
        return _say(lane, refusal)
    row = Enqueue(
        kind=RowKind.DRAFT,
        prio=Prio.PERSON,
        principal=order.by,
        dedupe=f"draft:{order.seq}",
        payload={"text": text},
    )
    return lane, (row, Wake())


def _with_goal(lane: Lane, goal: Goal, order: Order, command: GoalCommand, facts: Facts) -> Change:
    match command:
        case ShowStatus():
            return _say(lane, status(lane, goal, facts.spent(goal.id), order.now))
        case ShowGoal():
            return _say(lane, show(lane, goal, facts.spent(goal.id), order.now))
        case PauseGoal() | ResumeGoal() | ClearGoal() | WaitGoal():
            return _steer(lane, goal, order, command)
        case ChangeBudget():
            return _change_budget(lane, goal, order, command, facts)
        case AddCriterion() | ListCriteria() | RemoveCriterion() | ClearCriteria():
            limit = facts.house.judge_reads
            return _criteria(lane, goal, command, order.by.role, limit)
        case AddGate() | ListGates() | RemoveGate():
            return change_gates(lane, goal, command, order.by.role)
        case SetGoal() | AcceptDraft() | DraftGoal() | Misread():
            return lane, ()  # answered before: they need no goal
        case _:
            assert_never(command)


def _change_budget(
    lane: Lane, goal: Goal, order: Order, command: ChangeBudget, facts: Facts
) -> Change:
    if not may(order.by.role, Right.CHANGE_BUDGETS):
        return deny(lane, "Only owners may change a goal's budget.")
    if goal.status is GoalStatus.DONE:
        return _say(lane, texts.DONE)
    unpriced = _unpriced(facts)
    if command.changes.get("cost") is not None and unpriced:
        why = texts.unpriced(" and ".join(unpriced))
        return _say(
            lane,
            f"The budget stays as it was: {why}. Set its price in the configuration, or cap "
            "tokens instead: /goal budget tokens=N.",
        )
    budget = Budget(**{**asdict(goal.budget), **command.changes})
    lane, effects = tell_goal(lane, BudgetChanged(budget))
    return lane, (*effects, Post(f"Budget: {_budget(budget)}."))


def _unpriced(facts: Facts) -> tuple[str, ...]:
    """The models that a goal here would pay for and whose price nobody knows."""
    house, chosen = facts.house, facts.model()
    agent = chosen if chosen in house.models else house.model
    return tuple(name for name in sorted({agent, *house.aides}) if not house.priced(name))


def _steer(
    lane: Lane, goal: Goal, order: Order, command: PauseGoal | ResumeGoal | ClearGoal | WaitGoal
) -> Change:
    match command, goal.status:
        case ClearGoal(), _:
            lane, withdrawn = _withdrawn(lane, goal, "its goal was cleared")
            lane, effects = tell_goal(lane, GoalCleared())
            return lane, (*withdrawn, *effects)
        case _, GoalStatus.DONE:
            return _say(lane, texts.DONE)
        case PauseGoal(), (GoalStatus.ACTIVE | GoalStatus.BLOCKED):
            later = "" if isinstance(lane.phase, Idle) else " The running turn finishes."
            return tell_goal(lane, GoalPaused(texts.paused(f"as you asked.{later}")))
        case PauseGoal(), _:
            return _say(lane, "The goal is paused already. /goal resume goes on.")
        case ResumeGoal(), _:
            return _resume(lane, goal, order)
        case WaitGoal(seconds), GoalStatus.ACTIVE if isinstance(lane.phase, Idle):
            rest = min(seconds, MAX_WAIT_S)
            lane, effects = tell_goal(lane, WaitAsked(order.now + rest))
            return lane, (*effects, Post(texts.waiting(rest, "as you asked")))
        case WaitGoal(), GoalStatus.ACTIVE:
            return _say(lane, "A turn is running. Use /goal wait when it has ended, or /stop.")
        case WaitGoal(), _:
            return _say(lane, "The goal is not active. /goal resume goes on.")


def _resume(lane: Lane, goal: Goal, order: Order) -> Change:
    if goal.status is GoalStatus.ACTIVE:
        if goal.wait_until is None:
            return _say(lane, "The goal is being worked on already.")
        lane, ended = tell_goal(lane, GoalPaused(""))  # ends the rest
        lane, effects = tell_goal(lane, GoalResumed(order.by, idle=not lane.reports))
        return lane, (*ended, *effects)
    if not goal.may_be_resumed_by(order.by):
        return deny(lane, texts.only_an_owner(goal.setter))
    lane, effects = tell_goal(lane, GoalResumed(order.by, idle=not lane.reports))
    return lane, (*effects, Wake())  # an answer may have come meanwhile


def _criteria(
    lane: Lane,
    goal: Goal,
    command: AddCriterion | ListCriteria | RemoveCriterion | ClearCriteria,
    by: Role,
    limit: int,
) -> Change:
    had = goal.criteria
    match command:
        case ListCriteria():
            return _say(lane, _listed(had))
        case AddCriterion() if len(had) >= MAX_CRITERIA:
            return _say(lane, f"There are {MAX_CRITERIA} criteria already; remove one first.")
        case AddCriterion(text):
            criteria = (*had, text)
            judged = prompts.kickoff(goal.text, criteria, dict(goal.contract))
            if refusal := too_long("With this criterion the goal", judged, limit):
                return _say(lane, refusal)
        case RemoveCriterion(number) if 1 <= number <= len(had):
            criteria = had[: number - 1] + had[number:]
        case RemoveCriterion(number):
            return _say(lane, f"There is no criterion {number}. {_listed(had)}")
        case ClearCriteria():
            criteria = ()
    lane, effects = tell_goal(lane, CriteriaChanged(criteria, by))
    return lane, (*effects, Post(_listed(criteria)))


def _listed(criteria: tuple[str, ...]) -> str:
    if not criteria:
        return "No criteria. Add one with /subgoal <text>."
    lines = (f"{n}. {texts.brief(text, 200)}" for n, text in enumerate(criteria, 1))
    return "Criteria that the judge must see met:\n" + "\n".join(lines)


def status(lane: Lane, goal: Goal, spent: Spent, now: float) -> str:
    """The answer to `/goal`."""
    lines = [
        texts.status(goal.text, goal.status.value, goal.turns, goal.budget.turns),
        f"Used: {spent.tokens:,} tokens{texts.and_cost(spent.cost)} · "
        f"{show_duration(goal.seconds)}",
    ]
    if goal.reason:
        lines.append(f"Last verdict: {goal.reason}")
    lines.append(f"Next: {_next_step(lane, goal, now)}")
    return "\n".join(lines)


def _next_step(lane: Lane, goal: Goal, now: float) -> str:
    match goal.status:
        case GoalStatus.DONE:
            return "nothing; it is done"
        case GoalStatus.PAUSED | GoalStatus.BLOCKED:
            return "/goal resume goes on, /goal clear drops it"
        case _ if not isinstance(lane.phase, Idle):
            checks = " and the goal's gates are run" if goal.gates else ""
            return f"the running turn ends{checks}, then the judge is asked"
        case _ if lane.asking:
            return "a person's answer is waited for; /pending shows the question"
        case _ if goal.wait_until is not None:
            return f"it goes on in {show_duration(max(0.0, goal.wait_until - now))}"
        case _ if goal.judgement is not None:
            return "the judge is being asked"
        case _:
            return "the next turn begins"


def show(lane: Lane, goal: Goal, spent: Spent, now: float) -> str:
    """The answer to `/goal show`."""
    lines = [status(lane, goal, spent, now)]
    lines.extend(f"{key}: {text}" for key, text in goal.contract)
    if goal.criteria:
        lines.append(_listed(goal.criteria))
    if goal.gates:
        lines.append(listed(goal.gates))
    lines.append(f"Budget: {_budget(goal.budget)}.")
    return "\n".join(lines)


def _budget(budget: Budget) -> str:
    parts = [texts.counted(budget.turns, "turn")]
    parts.append("any tokens" if budget.tokens is None else f"{budget.tokens:,} tokens")
    parts.append("any cost" if budget.cost is None else f"${budget.cost:g}")
    parts.append("any time" if budget.seconds is None else show_duration(budget.seconds))
    return ", ".join(parts)
