"""The life of a goal, as a pure function.

Everything that changes a goal is in this file. It reads no clock, calls no model and awaits
nothing: it is given what happened and answers with the new slot and with what to do next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, assert_never

from core.gates.chain import Blocked, Unverified
from core.gates.gate import Gate
from core.goals import texts
from core.goals.events import (
    Announce,
    BudgetChanged,
    CancelContinuation,
    Continue,
    CriteriaChanged,
    GatesChanged,
    GoalCleared,
    GoalEffect,
    GoalEvent,
    GoalPaused,
    GoalResumed,
    GoalSet,
    GoalWoken,
    Judged,
    PersonSpoke,
    SetTimer,
    TimerFired,
    TurnFailed,
    TurnFinished,
    TurnStopped,
    Unavailable,
    Unreadable,
    Verdict,
    WaitAsked,
)
from core.goals.goal import Goal, GoalStatus, Judgement, Slot, Stall
from core.messages import Principal, Role, lowest

MAX_WAIT_S = 1800.0
"""The longest a goal may rest by `/goal wait` or by its judge's word."""
UNREADABLE_LIMIT = 3
FAILED_LIMIT = 5
UNLOOKED_LIMIT = 3
STALL_LIMIT = 3

#: Every status change that can ever happen. The docs' diagram is drawn from this table and a
#: property test holds `advance` to it. A new goal is a new id and starts at ACTIVE.
EDGES: Mapping[GoalStatus, frozenset[GoalStatus]] = {
    GoalStatus.ACTIVE: frozenset(
        {GoalStatus.PAUSED, GoalStatus.BLOCKED, GoalStatus.DONE, GoalStatus.CLEARED}
    ),
    GoalStatus.PAUSED: frozenset({GoalStatus.ACTIVE, GoalStatus.CLEARED}),
    GoalStatus.BLOCKED: frozenset({GoalStatus.ACTIVE, GoalStatus.PAUSED, GoalStatus.CLEARED}),
    GoalStatus.DONE: frozenset({GoalStatus.CLEARED}),
    GoalStatus.CLEARED: frozenset(),
}

Happening = TurnFinished | TurnFailed | TurnStopped | Judged | TimerFired | GoalWoken | PersonSpoke
"""Events that may reach a session whose goal is gone."""

Change: TypeAlias = tuple[Slot, tuple[GoalEffect, ...]]


class IllegalTransition(Exception):
    """The event makes no sense in the goal's status; the caller has a bug."""

    def __init__(self, slot: Slot, event: GoalEvent) -> None:
        state = slot.goal.status if slot.goal else "none"
        super().__init__(f"{type(event).__name__} while {state}")


def advance(slot: Slot, event: GoalEvent) -> Change:
    """The slot after an event, and the orders that follow from it."""
    if isinstance(event, GoalSet):
        return _set(slot, event)
    goal = slot.goal
    if goal is None or goal.status is GoalStatus.CLEARED:
        if isinstance(event, Happening):
            return slot, ()  # late, or an ordinary turn of a session without a goal
        raise IllegalTransition(slot, event)
    match event:
        case TurnFinished() | TurnFailed() | TurnStopped():
            return _turn_ended(slot, goal, event)
        case Judged():
            return _judged(slot, goal, event)
        case PersonSpoke(role):
            return _hear(slot, goal, role)
        case TimerFired() | GoalWoken():
            return _take_up(slot, goal, event)
        case GoalPaused() | GoalResumed() | GoalCleared() | WaitAsked():
            return _ordered(slot, goal, event)
        case BudgetChanged() | CriteriaChanged() | GatesChanged():
            return replace(slot, goal=_amend(goal, event)), ()
        case _:
            assert_never(event)


def _amend(goal: Goal, event: BudgetChanged | CriteriaChanged | GatesChanged) -> Goal:
    match event:
        case BudgetChanged(budget):
            return replace(goal, budget=budget)
        case CriteriaChanged(criteria, heard):
            return replace(goal, criteria=criteria, floor=lowest(goal.floor, heard))
        case GatesChanged(gates):
            return replace(goal, gates=gates, judgement=_with_gates(goal, gates))
        case _:
            assert_never(event)


def _with_gates(goal: Goal, gates: Sequence[str]) -> Judgement | None:
    """The open question when other gates hold: a new one has not looked at what was done."""
    asked, new = goal.judgement, [gate for gate in gates if gate not in goal.gates]
    if asked is None or asked.ruling is not None or not new:
        return asked
    ruling = Unverified(Gate.VERIFY, f"`{new[0]}` has not been run", unavailable=True)
    return replace(asked, ruling=ruling)


def _set(slot: Slot, event: GoalSet) -> Change:
    goal = Goal(
        id=event.id,
        text=event.text,
        setter=event.by,
        floor=event.by.role,
        contract=event.contract,
        budget=event.budget,
    )
    line = texts.was_set(goal.text, goal.budget.turns)
    return Slot(slot.generation + 1, goal), (
        CancelContinuation(),
        SetTimer(None),
        Announce(line, card=True),
    )


def _ordered(
    slot: Slot, goal: Goal, event: GoalPaused | GoalResumed | GoalCleared | WaitAsked
) -> Change:
    match goal.status, event:
        case ((GoalStatus.ACTIVE | GoalStatus.BLOCKED), GoalPaused(line)):
            return _leave(slot, goal, GoalStatus.PAUSED, line)
        case (
            (GoalStatus.PAUSED | GoalStatus.BLOCKED),
            GoalResumed(by, idle),
        ) if goal.may_be_resumed_by(by):
            return _resume(slot, goal, by, idle=idle)
        case (
            (GoalStatus.ACTIVE | GoalStatus.PAUSED | GoalStatus.BLOCKED | GoalStatus.DONE),
            GoalCleared(),
        ):
            return _leave(slot, goal, GoalStatus.CLEARED, texts.CLEARED)
        case GoalStatus.ACTIVE, WaitAsked(until):
            resting = replace(goal, wait_until=until)  # an open question stays open meanwhile
            return replace(slot, goal=resting), (CancelContinuation(), SetTimer(until))
        case _:
            raise IllegalTransition(slot, event)


def _resume(slot: Slot, goal: Goal, by: Principal, *, idle: bool) -> Change:
    """Go on for the one who set it, under the lower role of theirs and of who resumes it. Only an
    owner answers for it instead, and only when its setter was let out; its rights never rise."""
    announces = [Announce(texts.resumed(goal.text, goal.budget.turns), card=True)]
    if goal.orphaned and by.id != goal.setter.id:
        setter = Principal(by.id, by.name, lowest(by.role, goal.setter.role))
        announces.append(Announce(texts.taken_up(setter, goal.setter)))
        goal = replace(goal, setter=setter)
    goal = replace(
        goal,
        status=GoalStatus.ACTIVE,
        orphaned=False,
        turns=0,
        floor=by.role,
        unreadable=0,
        failed=0,
        unlooked=0,
        stall=Stall(),
    )
    if not idle:
        return replace(slot, goal=goal), tuple(announces)  # the running turn's end goes on
    goal, order = _next(goal, goal.reason or "the goal was resumed")
    return replace(slot, goal=goal), (*announces, order)


def _hear(slot: Slot, goal: Goal, role: Role) -> Change:
    """A message lowers the goal's rights to its sender's, and may be what a blocked goal needs."""
    goal = replace(goal, floor=lowest(goal.floor, role))
    if goal.status is GoalStatus.BLOCKED:
        goal = replace(goal, status=GoalStatus.ACTIVE)
    return replace(slot, goal=goal), ()


def _take_up(slot: Slot, goal: Goal, event: TimerFired | GoalWoken) -> Change:
    """Go on after a rest, a restart or a visit elsewhere, where nothing else will cause it."""
    if isinstance(event, TimerFired):
        return _end_rest(slot, goal, event)
    return _return_to(slot, goal, idle=event.idle)


def _end_rest(slot: Slot, goal: Goal, event: TimerFired) -> Change:
    current = (goal.id, slot.generation) == (event.goal, event.generation)
    if not current or goal.wait_until is None or goal.status is not GoalStatus.ACTIVE:
        return slot, ()  # of an older rest, or a person's turn has ended it since
    if goal.judgement is not None:
        return replace(slot, goal=replace(goal, wait_until=None)), ()  # its judge is on the way
    goal, order = _next(goal, "the wait is over")
    return replace(slot, goal=goal), (order,)


def _return_to(slot: Slot, goal: Goal, *, idle: bool) -> Change:
    if goal.status is not GoalStatus.ACTIVE:
        return slot, ()
    line = Announce(texts.going_on(goal.text, goal.turns, goal.budget.turns), card=True)
    if goal.wait_until is not None:  # a visit elsewhere took its timer away
        return slot, (line, SetTimer(goal.wait_until))
    if goal.judgement is not None or not idle:
        return slot, (line,)  # the judge is asked when the lane comes to rest
    goal, order = _next(goal, goal.reason or "the work goes on")
    return replace(slot, goal=goal), (line, order)


def _spend(goal: Goal, of_goal: int | None, seconds: float) -> Goal:
    used = 1 if of_goal == goal.id else 0
    return replace(goal, turns=goal.turns + used, seconds=goal.seconds + seconds)


def _turn_ended(slot: Slot, goal: Goal, event: TurnFinished | TurnFailed | TurnStopped) -> Change:
    if isinstance(event, TurnStopped):
        return replace(slot, goal=_spend(goal, None, event.seconds)), ()
    goal = _spend(goal, event.of_goal, event.seconds)
    if goal.status is not GoalStatus.ACTIVE:
        return replace(slot, goal=goal), ()  # paused or done meanwhile: nobody is asked
    if isinstance(event, TurnFailed) and event.revoked:
        goal = replace(goal, orphaned=True)
        return _leave(slot, goal, GoalStatus.PAUSED, texts.revoked(goal.setter))
    if isinstance(event, TurnFailed):
        return _leave(slot, goal, GoalStatus.PAUSED, texts.paused(event.reason))
    before = goal.judgement
    of_goal = event.of_goal == goal.id
    judgement = Judgement(
        id=event.turn,
        turns=(*(before.turns if before else ()), event.turn),
        of_goal=of_goal or (before.of_goal if before else False),
        answer=event.answer,
        idle=event.idle and (before.idle if before else True),
        ruling=event.ruling,
    )
    looked = event.ruling is None or judgement.settled
    unlooked = 0 if looked else goal.unlooked + 1
    goal = replace(goal, judgement=judgement, wait_until=None, unlooked=unlooked)
    return replace(slot, goal=goal), (CancelContinuation(), SetTimer(None))


def _judged(slot: Slot, goal: Goal, event: Judged) -> Change:
    if event.goal == goal.id:
        goal = _spend(goal, None, event.seconds)
        slot = replace(slot, goal=goal)
    open_ = goal.judgement
    if (event.goal, event.generation) != (goal.id, slot.generation):
        return slot, ()  # of a goal, or of a time before a pause, that is over
    if open_ is None or open_.id != event.judgement or goal.status is not GoalStatus.ACTIVE:
        return slot, ()  # a newer turn has replaced the question
    match open_.ruling:
        case Blocked(reason=reason):
            return _leave(slot, goal, GoalStatus.BLOCKED, texts.blocked(reason), reason)
        case Unverified(unavailable=False) as ruling:
            reason = texts.not_passed(ruling.gate, ruling.reason)
            goal = _stalling(goal, open_, reason)
            return _not_done(slot, goal, reason, event.now, shown=ruling.shown)
        case _:
            return _heard(slot, goal, open_, event)


def _heard(slot: Slot, goal: Goal, open_: Judgement, event: Judged) -> Change:
    """The judge's word; closed for claiming done where a gate could not look."""
    match event.word:
        case Verdict(blocked=True, reason=reason):
            return _leave(slot, goal, GoalStatus.BLOCKED, texts.blocked(reason), reason)
        case Verdict(done=True, reason=reason) if open_.ruling is None:
            return _leave(slot, goal, GoalStatus.DONE, texts.achieved(reason), reason)
        case Verdict(done=done, reason=reason):
            if done and open_.ruling is not None:
                reason = texts.not_looked(open_.ruling.gate, open_.ruling.reason)
            goal = _stalling(replace(goal, unreadable=0, failed=0), open_, reason)
            return _not_done(slot, goal, reason, event.now, event.word.wait_s)
        case Unreadable():
            goal = _stalling(replace(goal, unreadable=goal.unreadable + 1, failed=0), open_, "")
        case Unavailable():
            goal = _stalling(replace(goal, unreadable=0, failed=goal.failed + 1), open_, "")
        case _:
            assert_never(event.word)
    return _not_done(slot, goal, event.word.reason, event.now)


def _stalling(goal: Goal, judged: Judgement, reason: str) -> Goal:
    """Count goal turns that ended alike; any tool call, or another word, starts anew."""
    if not judged.idle or not judged.of_goal:
        return replace(goal, stall=Stall())
    alike = (goal.stall.answer, goal.stall.reason) == (judged.answer, reason)
    count = goal.stall.count + 1 if alike and goal.stall.count else 1
    return replace(goal, stall=Stall(judged.answer, reason, count))


def _not_done(
    slot: Slot, goal: Goal, reason: str, now: float, wait_s: float = 0.0, shown: str = ""
) -> Change:
    if line := _stuck(goal, reason):
        goal = replace(goal, judgement=None, reason=reason)
        return _leave(slot, goal, GoalStatus.PAUSED, line)
    goal = replace(goal, judgement=None, reason=reason)
    if goal.wait_until is not None:  # a person's rest goes before the judge's
        left = max(0.0, goal.wait_until - now)
        return replace(slot, goal=goal), (Announce(texts.waiting(left, reason)),)
    if wait_s > 0:
        rest = min(wait_s, MAX_WAIT_S)
        goal = replace(goal, wait_until=now + rest)
        announce = Announce(texts.waiting(rest, reason))
        return replace(slot, goal=goal), (announce, SetTimer(goal.wait_until))
    announce = Announce(texts.continuing(goal.turns, goal.budget.turns, reason))
    goal, order = _next(goal, reason, shown)
    return replace(slot, goal=goal), (announce, order)


def _stuck(goal: Goal, reason: str) -> str:
    """Why a goal whose last turn was not the end of it is paused, "" when it goes on."""
    used, limit = goal.turns, goal.budget.turns
    if goal.unreadable >= UNREADABLE_LIMIT or goal.failed >= FAILED_LIMIT:
        return texts.paused(_judge_fault(goal, reason))
    ruling = goal.judgement.ruling if goal.judgement else None
    if goal.unlooked >= UNLOOKED_LIMIT and ruling is not None:
        return texts.paused(texts.gate_fault(ruling.gate, ruling.reason, goal.unlooked))
    if goal.stall.count >= STALL_LIMIT:
        return texts.paused(
            f"{STALL_LIMIT} turns in a row gave the same answer without using any tool "
            f"(the judge: {reason}). Say what is missing, then /goal resume."
        )
    return texts.out_of_turns(used, limit) if used >= limit else ""


def _judge_fault(goal: Goal, reason: str) -> str:
    if goal.unreadable >= UNREADABLE_LIMIT:
        what = f"the judge's replies could not be read {goal.unreadable} times in a row"
    else:
        what = f"the judge could not be asked {goal.failed} times in a row ({reason})"
    return f"{what}. Set auxiliary.goal_judge to another model, then /goal resume."


def _next(goal: Goal, reason: str, shown: str = "") -> tuple[Goal, Continue]:
    number = goal.continuations + 1
    goal = replace(goal, continuations=number, judgement=None, wait_until=None)
    return goal, Continue(number, reason, shown)


def _leave(slot: Slot, goal: Goal, to: GoalStatus, line: str, reason: str | None = None) -> Change:
    """Leave ACTIVE (or a rest from it) for good or for now: nothing of it may run any more."""
    goal = replace(
        goal,
        status=to,
        judgement=None,
        wait_until=None,
        reason=goal.reason if reason is None else reason,
    )
    orders: tuple[GoalEffect, ...] = (CancelContinuation(), SetTimer(None))
    if line:
        orders = (*orders, Announce(line))
    return Slot(slot.generation + 1, goal), orders
