"""One lane, as a pure function: what happened in, what to do about it out.

A lane runs at most one turn. Whatever else arrives waits in order, people before
continuations. It reads no clock and knows no database: the store loads a lane, calls
`advance`, and commits the new lane and the orders together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias, assert_never

from core.goals import machine as goals
from core.goals import texts
from core.goals.events import (
    Announce,
    CancelContinuation,
    Continue,
    GoalEffect,
    GoalEvent,
    GoalPaused,
    GoalWoken,
    Judged,
    PersonSpoke,
    SetTimer,
    TimerFired,
    TurnFailed,
    TurnFinished,
    TurnStopped,
    Verdict,
)
from core.goals.goal import GoalStatus
from core.messages import Button, Principal, lowest
from core.sessions.lane import (
    MAX_WAITING,
    Begin,
    Busy,
    CallJudge,
    CancelTurn,
    Change,
    Cut,
    Done,
    Drop,
    Enqueue,
    Finish,
    Idle,
    Lane,
    LaneEffect,
    LaneEvent,
    Outcome,
    Park,
    Phase,
    Post,
    Prio,
    Report,
    Rest,
    Row,
    RowKind,
    Running,
    SessionEntered,
    SetAside,
    Spoke,
    Stopping,
    SwitchSession,
    Turn,
    TurnEnded,
    Wake,
    WakeAt,
    WorkerReady,
)

#: Every change of phase that can ever happen; the docs' diagram is drawn from it. A phase that
#: leads to itself changes within: a turn is taken up again, an interruption becomes a stop.
EDGES: Mapping[type[Phase], frozenset[type[Phase]]] = {
    Idle: frozenset({Running}),
    Running: frozenset({Running, Stopping, Idle}),
    Stopping: frozenset({Stopping, Idle}),
}

MAX_TRIES = 3
"""How often a turn may be begun without a new step before it counts as failed."""

FAILURES = frozenset({Outcome.FAILED, Outcome.CAPPED, Outcome.REVOKED})
"""The outcomes that a person must be told of."""

QUEUE_FULL = (
    f"⚠ {MAX_WAITING} messages are waiting here already, so this one was not taken. "
    "Send it again later, or use /stop to drop them."
)

CARD_ACTIVE = (Button("Pause", "/goal pause"), Button("Stop", "/stop"))
CARD_PAUSED = (Button("Resume", "/goal resume"), Button("Clear", "/goal clear"))

Effects: TypeAlias = tuple[LaneEffect, ...]
NOTHING: Effects = ()


def advance(lane: Lane, event: LaneEvent) -> Change:
    """The lane after an event, and the orders that follow from it."""
    match event:
        case Spoke(row, busy):
            return _spoke(lane, row, busy)
        case WorkerReady():
            return _worker_ready(lane, event)
        case TurnEnded():
            return _turn_ended(lane, event)
        case SessionEntered():
            if lane.asking or lane.parked is not None:
                return lane, ()  # a person's answer goes on with it, and nothing else does
            return tell_goal(lane, GoalWoken(idle=not lane.reports))
        case Judged():
            if not isinstance(lane.phase, Idle) or lane.asking or lane.parked is not None:
                return lane, ()  # a later turn is begun: the question stays open and grows
            return tell_goal(lane, event)
        case TimerFired():
            return tell_goal(lane, event)
        case _:
            assert_never(event)


def tell_goal(lane: Lane, event: GoalEvent) -> Change:
    """Hand an event to the session's goal and turn its orders into the lane's."""
    slot, orders = goals.advance(lane.slot, event)
    if slot is not lane.slot:
        lane = replace(lane, slot=slot)
    effects: list[LaneEffect] = []
    for order in orders:
        lane, more = _carry_out(lane, order)
        effects.extend(more)
    return lane, tuple(effects)


def _carry_out(lane: Lane, order: GoalEffect) -> Change:
    goal = lane.slot.goal
    match order:
        case Announce(text, card):
            buttons = CARD_ACTIVE if card and lane.slot.active else ()
            if goal and goal.status in {GoalStatus.PAUSED, GoalStatus.BLOCKED}:
                buttons = CARD_PAUSED
            return lane, (Post(text, card, buttons),)
        case Continue(number, reason, shown) if goal is not None:
            generation = lane.slot.generation
            row = Enqueue(
                kind=RowKind.CONTINUATION,
                prio=Prio.CONTINUATION,
                principal=goal.setter,
                dedupe=f"cont:{goal.id}:{generation}:{number}",
                payload={"reason": reason, **({"shown": shown} if shown else {})},
                goal=goal.id,
                generation=generation,
            )
            return lane, (row, Wake())
        case CancelContinuation():
            return _without_goal_rows(lane)
        case SetTimer(due):
            return lane, (WakeAt(due),)
        case Continue():
            return lane, ()  # without a goal there is nothing to go on with
        case _:
            assert_never(order)


def _without_goal_rows(lane: Lane) -> Change:
    """Drop what would begin a turn of the goal; an answer goes on with one that has begun."""
    gone = [row for row in lane.waiting if row.goal is not None and row.kind is not RowKind.ANSWER]
    kept = tuple(row for row in lane.waiting if row not in gone)
    seqs = tuple(row.seq for row in gone)
    return replace(lane, waiting=kept), (Drop(seqs),) if seqs else ()


def _spoke(lane: Lane, row: Row, busy: Busy) -> Change:
    if len(lane.people) >= MAX_WAITING:
        return lane, (Drop((row.seq,)), Post(QUEUE_FULL))
    effects: Effects = ()
    if not any(waiting.kind is RowKind.SWITCH for waiting in lane.waiting):
        lane, effects = tell_goal(
            lane, PersonSpoke(row.principal.role)
        )  # else in the next session
    lane = lane.joined_by(row)
    if busy is Busy.INTERRUPT and isinstance(lane.phase, Running):
        turn = lane.phase.turn
        cut = replace(lane, phase=Stopping(turn, Cut.INTERRUPTED))
        return cut, (*effects, CancelTurn(turn.id))
    return lane, (*effects, Wake())


def _worker_ready(lane: Lane, event: WorkerReady) -> Change:
    match lane.phase:
        case Running(turn) if turn.tries >= MAX_TRIES:
            reason = f"it was begun {MAX_TRIES} times and each time cut by a restart"
            return _leave(lane, turn, Outcome.FAILED, _ending(turn, reason))
        case Running(turn):
            again = replace(turn, attempt=turn.attempt + 1, tries=turn.tries + 1)
            return replace(lane, phase=Running(again)), (Begin(again),)
        case Stopping(turn, why):
            return _leave(lane, turn, _outcome(why), _ending(turn, ""))
        case Idle():
            return _next(lane, event)
        case _:
            assert_never(lane.phase)


def _ending(turn: Turn, reason: str) -> TurnEnded:
    """The end of a turn whose process is gone."""
    return TurnEnded(
        turn=turn.id, attempt=turn.attempt, outcome=Outcome.FAILED, seconds=0.0, reason=reason
    )


def _next(lane: Lane, event: WorkerReady) -> Change:
    people = lane.people
    if people:
        head = people[0]
        claimed = _claim(people, collect=event.collect)
        if head.not_before > event.now and claimed[-1].more:
            return lane, (Rest(head.not_before),)
        if head.kind is RowKind.SWITCH:
            return _switch(lane, head)
        return _begin_asked(lane, event, claimed)
    answers = [row for row in lane.waiting if row.kind is RowKind.ANSWER]
    if answer := next((row for row in answers if _goes_on(lane, row)), None):
        return _take_up(lane, event, answer)
    stale = tuple(r.seq for r in lane.waiting if r not in answers and not _current(lane, r))
    lane = replace(lane, waiting=tuple(row for row in lane.waiting if row.seq not in stale))
    dropped: Effects = (Drop(stale),) if stale else ()
    goal = lane.slot.active
    ready = [row for row in lane.waiting if row not in answers]
    if lane.asking or not ready or goal is None or goal.judgement is not None:
        lane, effects = _judge(lane, event.now)
        return lane, (*dropped, *effects)
    if goal.turns >= goal.budget.turns:  # the budget was lowered meanwhile
        line = texts.out_of_turns(goal.turns, goal.budget.turns)
        lane, effects = tell_goal(lane, GoalPaused(line))
        return lane, (*dropped, *effects, Rest(None))
    lane, effects = _begin(lane, event, (ready[0],), goal.rights)
    return lane, (*dropped, *effects)


def _goes_on(lane: Lane, answer: Row) -> bool:
    """Whether the work that an answer is for may go on: that of a goal only while it is active,
    and what belongs to another session goes on there whatever is the matter here."""
    if answer.target != lane.session:
        return not answer.held
    goal = lane.slot.active
    return answer.goal is None or (goal is not None and goal.id == answer.goal)


def _take_up(lane: Lane, event: WorkerReady, answer: Row) -> Change:
    """Go on with the turn that asked, or with the one call of it where other things were said
    since. Its session hears what was answered; the row's role is the lower one of whoever is
    worked for and of who answered."""
    principal, effects = answer.principal, NOTHING
    goal = lane.slot.active
    if answer.target == lane.session:
        lane, effects = tell_goal(lane, PersonSpoke(principal.role))
        goal = lane.slot.active
    if goal is not None and goal.id == answer.goal:
        principal = goal.rights
    waiting = tuple(row for row in lane.waiting if row is not answer)
    parked = lane.parked
    if parked is not None and parked.id == answer.of:
        again = replace(parked, principal=principal, attempt=parked.attempt + 1, tries=1)
        lane = replace(lane, phase=Running(again), parked=None, waiting=waiting)
        return lane, (*effects, Done((answer.seq,)), Begin(again))
    lane, begun = _begin(lane, event, (answer,), principal)
    return lane, (*effects, *begun)


def _begin_asked(lane: Lane, event: WorkerReady, rows: tuple[Row, ...]) -> Change:
    """A turn that a person waits for. Its session hears a message now: since it was sent the
    session may have become another one, or its goal been resumed. A kick-off has its goal's
    rights, which a criterion may have lowered since it was queued."""
    principal, goal = rows[0].principal, lane.slot.active
    effects: Effects = ()
    if rows[0].kind is RowKind.MESSAGE:
        role = lowest(*(row.principal.role for row in rows))
        lane, effects = tell_goal(lane, PersonSpoke(role))
    elif rows[0].kind is RowKind.KICKOFF and goal is not None:
        principal = goal.rights
    lane, begun = _begin(lane, event, rows, principal)
    return lane, (*effects, *begun)


def _judge(lane: Lane, now: float) -> Change:
    """Have the turns judged that no verdict covers yet. What the gates have settled needs no
    judge, and the lane goes on."""
    goal = lane.slot.active
    if goal is None or goal.judgement is None or lane.asking:
        return lane, (Rest(None),)
    if not goal.judgement.settled:
        return lane, (Rest(None), CallJudge())
    word = Verdict(done=False, reason=goal.reason)
    return tell_goal(lane, Judged(goal.id, lane.slot.generation, goal.judgement.id, word, now))


def _current(lane: Lane, row: Row) -> bool:
    """A goal's row may begin only for the goal, and the stretch of it, that asked for it."""
    goal = lane.slot.active
    return goal is not None and (row.goal, row.generation) == (goal.id, lane.slot.generation)


def _claim(people: tuple[Row, ...], *, collect: bool) -> tuple[Row, ...]:
    """The head and what is merged into its turn: split-off rests, and with `collect` all
    following messages of the same role."""
    head, *rest = people
    claimed = [head]
    if head.kind is not RowKind.MESSAGE:
        return (head,)
    for row in rest:
        split = claimed[-1].more and row.principal.id == head.principal.id
        alike = collect and row.principal.role is head.principal.role
        if row.kind is not RowKind.MESSAGE or not (split or alike):
            break
        claimed.append(row)
    return tuple(claimed)


def _begin(lane: Lane, event: WorkerReady, rows: tuple[Row, ...], principal: Principal) -> Change:
    session = lane.session
    if rows[0].kind is RowKind.ANSWER and rows[0].target is not None:
        session = rows[0].target
    turn = Turn(
        id=event.turn,
        session=session,
        kind=rows[0].kind,
        principal=principal,
        rows=tuple(row.seq for row in rows),
        goal=rows[0].goal,
    )
    waiting = tuple(row for row in lane.waiting if row not in rows)
    lane = replace(lane, phase=Running(turn), waiting=waiting)
    if turn.kind is RowKind.DRAFT or session != lane.session:
        return lane, (Begin(turn),)
    lane, aside = _set_aside(lane)  # what was asked there is over once more is said
    return lane, (*aside, Begin(turn))


def _set_aside(lane: Lane) -> Change:
    if lane.parked is None:
        return lane, ()
    return replace(lane, parked=None), (SetAside(lane.parked),)


def _switch(lane: Lane, row: Row) -> Change:
    """Leave the session; its goal keeps its status, but nothing of it may begin here."""
    lane = replace(lane, waiting=tuple(r for r in lane.waiting if r is not row))
    lane, dropped = _without_goal_rows(lane)
    lane, aside = _set_aside(lane)
    return lane, (
        *dropped,
        *aside,
        WakeAt(None),
        SwitchSession(row.seq, row.target),
    )


def _turn_ended(lane: Lane, event: TurnEnded) -> Change:
    match lane.phase:
        case Running(turn) if (turn.id, turn.attempt) == (event.turn, event.attempt):
            return _leave(lane, turn, event.outcome, event)
        case Stopping(turn, why) if (turn.id, turn.attempt) == (event.turn, event.attempt):
            return _leave(lane, turn, _outcome(why), event)
        case _:
            return lane, ()  # an old attempt's last word


def _outcome(why: Cut) -> Outcome:
    return Outcome.STOPPED if why is Cut.STOPPED else Outcome.INTERRUPTED


def _leave(lane: Lane, turn: Turn, outcome: Outcome, event: TurnEnded) -> Change:
    """The one way out of a turn: its rows are done, its goal hears of it, the lane is free."""
    if outcome is Outcome.PARKED:
        if not _left_behind(lane, turn):
            return _park(lane, turn)
        outcome = Outcome.STOPPED
    if outcome is Outcome.CAPPED and _goes_free(lane, turn):
        return _free_of_caps(lane, turn, event)
    lane = replace(lane, phase=Idle())
    effects: Effects = ()
    if turn.kind is not RowKind.DRAFT and turn.session == lane.session:
        lane, effects = _report_end(lane, turn, outcome, event)
    elif turn.goal is not None and (ended := _end_of(turn, outcome, event)) is not None:
        effects = (Report(turn.session, ended),)
    if outcome in FAILURES and not any(isinstance(effect, Post) for effect in effects):
        effects = (*effects, Post(f"⚠ This turn failed: {event.reason}"))
    return lane, (Finish(turn, outcome), *effects, Wake())


def _left_behind(lane: Lane, turn: Turn) -> bool:
    """Whether a turn's goal was cleared while it ran: nothing of it would ever go on."""
    goal = lane.slot.goal
    if turn.goal is None or turn.session != lane.session:
        return False
    return goal is None or goal.id != turn.goal or goal.status is GoalStatus.CLEARED


def _park(lane: Lane, turn: Turn) -> Change:
    """Keep the turn for its answer; its goal hears of its end, and not of this."""
    lane = replace(lane, phase=Idle())
    if turn.session != lane.session:
        return lane, (Park(turn), SetAside(turn), Wake())
    return replace(lane, parked=turn), (Park(turn), Wake())


def _goes_free(lane: Lane, turn: Turn) -> bool:
    """Whether the caps of the goal here bind a turn only as long as the goal is active: a person
    waits for it."""
    asked = turn.kind in {RowKind.MESSAGE, RowKind.ANSWER}
    return asked and turn.goal is None and turn.session == lane.session


def _free_of_caps(lane: Lane, turn: Turn, event: TurnEnded) -> Change:
    """A cap of the goal pauses the goal; the person who wrote is answered all the same. Their turn
    goes on from its last step under a new attempt, and a goal that is paused binds it no more."""
    lane, effects = _report_end(lane, turn, Outcome.CAPPED, event)
    again = replace(turn, attempt=turn.attempt + 1)
    return replace(lane, phase=Running(again)), (Begin(again), *effects)


def _report_end(lane: Lane, turn: Turn, outcome: Outcome, event: TurnEnded) -> Change:
    """Tell the goal of the lane's session of a turn's end."""
    if ended := _end_of(turn, outcome, event):
        return tell_goal(lane, ended)
    if outcome is not Outcome.STOPPED:
        return lane, ()
    lane, _ = tell_goal(lane, TurnStopped(event.seconds))
    return _orphaned(lane)


def _end_of(turn: Turn, outcome: Outcome, event: TurnEnded) -> TurnFinished | TurnFailed | None:
    """A turn's end as its goal hears of it, None for one that tells it nothing."""
    match outcome:
        case Outcome.ANSWERED | Outcome.INTERRUPTED:
            return TurnFinished(
                turn=turn.id,
                of_goal=turn.goal,
                seconds=event.seconds,
                answer=event.answer,
                idle=event.idle,
                ruling=event.ruling,
            )
        case Outcome.FAILED | Outcome.CAPPED | Outcome.REVOKED:
            return TurnFailed(
                of_goal=turn.goal,
                seconds=event.seconds,
                reason=event.reason,
                revoked=outcome is Outcome.REVOKED,
            )
        case Outcome.STOPPED | Outcome.PARKED:
            return None
        case _:
            assert_never(outcome)


def _orphaned(lane: Lane) -> Change:
    """A stopped turn tells its goal nothing: /stop has paused it in its own commit. When that
    commit failed, and only its signal got through, the goal would wait for ever."""
    goal = lane.slot.active
    if goal is None or goal.judgement is not None or goal.wait_until is not None or lane.reports:
        return lane, ()
    return tell_goal(lane, GoalPaused(texts.paused("its turn was stopped.")))
