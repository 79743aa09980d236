"""A turn's own jobs: begin, record, reserve, end."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from adapters.sqlite import codec, escalations, waiting
from adapters.sqlite.budgets import book, settle_cut, settle_lost
from adapters.sqlite.closing import stored_receipts
from adapters.sqlite.gates import of_chat
from adapters.sqlite.intake import save_draft
from adapters.sqlite.lane_rows import load_principal, load_slot
from adapters.sqlite.steps import TURN_STEPS, check_children
from adapters.sqlite.transaction import Transaction
from core.agent.steps import Finished, Replied, StepWrite
from core.errors import Fenced
from core.gates.chain import Unverified
from core.gates.wanted import Wanted
from core.goals.goal import Goal, GoalStatus
from core.messages import LaneKey, SessionId, TurnId
from core.ports import Usage
from core.sessions.lane import Lane, Outcome, Rest, RowKind, Running, Turn, TurnEnded, WorkerReady
from core.sessions.ports import (
    Begun,
    CallUsage,
    CapReached,
    Ending,
    Estimate,
    Reserved,
    Signals,
    Steered,
    TurnRef,
)

OVER = {GoalStatus.DONE, GoalStatus.CLEARED}
"""No goal comes back from these."""


def begin(
    conn: sqlite3.Connection, lane: LaneKey, now: float, *, collect: bool
) -> tuple[Begun | Rest, Signals]:
    """The whole of `Store.begin`, as one job."""
    tx = Transaction(conn, now, "")
    return _next(tx, lane, collect=collect), tx.signals()


def _next(tx: Transaction, key: LaneKey, *, collect: bool) -> Begun | Rest:
    """Let the lane go on until it has a turn or comes to rest."""
    while tx.begun is None and tx.rest is None:
        (last,) = tx.conn.execute("SELECT coalesce(max(id), 0) FROM turn").fetchone()
        tx.key, tx.posts = f"begin:{last}:{_next_seq(tx.conn)}", 0
        lane = tx.lane(key)
        if lane is None:
            return Rest(None)
        tx.advance(lane, WorkerReady(TurnId(last + 1), tx.now, collect))
    tx.wake.discard(key)  # whoever asked has just been told what there is to do
    if tx.begun is None:
        return tx.rest or Rest(None)
    return _load_begun(tx.conn, tx.begun)


def _next_seq(conn: sqlite3.Connection) -> int:
    """The outbox's next id: with it a post's key is used once."""
    found = conn.execute("SELECT seq FROM sqlite_sequence WHERE name = 'outbox'").fetchone()
    return int(found[0]) + 1 if found else 1


def _load_begun(conn: sqlite3.Connection, turn: Turn) -> Begun:
    inputs, prefix, counted = conn.execute(
        "SELECT t.inputs, s.prefix, s.counted FROM turn t JOIN session s ON s.id = t.session "
        "WHERE t.id = ?",
        (turn.id,),
    ).fetchone()
    payloads = [
        codec.load_payload(payload)
        for seq in turn.rows
        for (payload,) in conn.execute("SELECT payload FROM inbox WHERE seq = ?", (seq,))
    ]
    slot = load_slot(conn, turn.session)
    again = turn.attempt > 1
    goes_on = again or turn.kind is RowKind.ANSWER
    if goes_on:
        check_children(conn, turn.id)
    if again and slot.goal is not None:
        settle_lost(conn, slot.goal.id, turn.id)
    return Begun(
        turn=turn,
        inputs=codec.load_users(inputs),
        payloads=tuple(payloads),
        steps=TURN_STEPS.load(conn, turn.id) if again else (),
        goal=slot.active,
        prefix=prefix,
        counted=counted,
        bound=slot.goal is not None and slot.goal.status not in OVER,
        asked=escalations.keys(conn, turn.id) if goes_on else frozenset(),
        call=waiting.load_call(conn, turn),
    )


def check_fence(conn: sqlite3.Connection, ref: TurnRef) -> None:
    """Raise `Fenced` unless the attempt still owns its lane and was not told to end."""
    found = conn.execute(
        "SELECT l.phase, t.attempt FROM lane l JOIN turn t ON t.id = l.turn WHERE t.id = ?",
        (ref.turn,),
    ).fetchone()
    if found is None or found != ("running", ref.attempt):
        raise Fenced(f"turn {ref.turn} was ended or taken over")


def lane_running(conn: sqlite3.Connection, turn: int) -> LaneKey:
    """The lane whose running turn this is, in whatever attempt; raises `Fenced` without one."""
    found = conn.execute(
        "SELECT key FROM lane WHERE turn = ? AND phase = 'running'", (turn,)
    ).fetchone()
    if found is None:
        raise Fenced(f"turn {turn} was ended")
    return LaneKey(found[0])


@dataclass(frozen=True, slots=True)
class Recording:
    """Step writes with what settles along with them."""

    writes: Sequence[StepWrite]
    spent: Sequence[CallUsage]
    claim: Sequence[int]
    now: float


def record(conn: sqlite3.Connection, ref: TurnRef, what: Recording) -> None:
    """The whole of `Store.record`, as one job."""
    check_fence(conn, ref)
    TURN_STEPS.add(conn, ref.turn, what.writes)
    spend(conn, ref.turn, what.spent, what.now)
    if what.claim:
        conn.executemany(
            "UPDATE inbox SET state = 'claimed', turn = ? WHERE seq = ? AND state = 'ready'",
            [(ref.turn, seq) for seq in what.claim],
        )
    if any(isinstance(write, Replied | Finished) for write in what.writes):
        conn.execute("UPDATE turn SET tries = 0 WHERE id = ?", (ref.turn,))


def spend(conn: sqlite3.Connection, turn: int, spent: Sequence[CallUsage], now: float) -> None:
    """Keep what a turn's calls without a reservation used."""
    used = [(call.purpose, call.model, call.usage) for call in spent if call.usage != Usage()]
    if not used:
        return
    goal = _goal_of(conn, turn)
    conn.executemany(
        "INSERT INTO usage (session, goal, turn, purpose, model, state, input, cached, output, "
        "cost, at) SELECT session, coalesce(goal, ?), id, ?, ?, 'settled', ?, ?, ?, ?, ? "
        "FROM turn WHERE id = ?",
        [
            (goal, what, by, u.input_tokens, u.cached_tokens, u.output_tokens, u.cost, now, turn)
            for what, by, u in used
        ],
    )


def _goal_of(conn: sqlite3.Connection, turn: int) -> int | None:
    """The active goal of a turn's session: a person's turn counts toward its tokens too."""
    (session,) = conn.execute("SELECT session FROM turn WHERE id = ?", (turn,)).fetchone()
    goal = load_slot(conn, session).active
    return goal.id if goal else None


def reserve(
    conn: sqlite3.Connection,
    ref: TurnRef,
    what: tuple[str, str],
    estimate: Estimate,
    seconds: float,
    now: float,
) -> Reserved | CapReached | None:
    """The whole of `Store.reserve`, as one job; `what` is the call's purpose and its model,
    `seconds` the turn's age."""
    check_fence(conn, ref)
    session, goal = _bound_by(conn, ref.turn)
    if goal is None:
        return None
    whose = (session, ref.turn, *what)
    return book(conn, goal, estimate, seconds=seconds, whose=whose, now=now)


def capped(conn: sqlite3.Connection, ref: TurnRef) -> bool:
    """Whether a call of the turn needs a reservation; a fenced one is told by `reserve`."""
    _, goal = _bound_by(conn, ref.turn)
    if goal is None:
        return False
    budget = goal.budget
    return not (budget.tokens is None and budget.cost is None and budget.seconds is None)


def _bound_by(conn: sqlite3.Connection, turn: TurnId) -> tuple[SessionId, Goal | None]:
    """A turn's session, and the goal whose caps hold for it: the session's while it is active,
    and the turn's own however it stands by now."""
    session, own = conn.execute("SELECT session, goal FROM turn WHERE id = ?", (turn,)).fetchone()
    slot = load_slot(conn, session)
    goal = slot.goal if slot.goal is not None and slot.goal.id == own else slot.active
    return SessionId(session), goal


def steered(conn: sqlite3.Connection, ref: TurnRef) -> tuple[Steered, ...]:
    """Messages that wait to be read by the turn; roles are never mixed, and what stands behind
    a `/new` or `/resume` belongs to another session."""
    lane, principal = conn.execute(
        "SELECT lane, principal FROM turn WHERE id = ?", (ref.turn,)
    ).fetchone()
    role = load_principal(principal).role
    found = conn.execute(
        "SELECT seq, payload, principal FROM inbox "
        "WHERE lane = ?1 AND state = 'ready' AND steer = 1 AND kind = 'message' "
        "AND seq < coalesce((SELECT min(seq) FROM inbox "
        "WHERE lane = ?1 AND state = 'ready' AND kind = 'switch'), seq + 1) ORDER BY seq",
        (lane,),
    ).fetchall()
    return tuple(
        Steered(seq, codec.load_input(RowKind.MESSAGE, payload, seq, None))
        for seq, payload, by in found
        if load_principal(by).role is role
    )


@dataclass(frozen=True, slots=True)
class Leaving:
    """When a turn is left, and whether the next one takes all messages that wait."""

    now: float
    collect: bool


def end_turn(
    conn: sqlite3.Connection, ref: TurnRef, ending: Ending, gates: Wanted, *, way: Leaving
) -> tuple[Begun | Rest, Signals]:
    """The whole of `Store.end_turn`, as one job; `gates` are those of every chat."""
    now = way.now
    tx = Transaction(conn, now, f"turn:{ref.turn}:end")
    found = conn.execute(
        "SELECT lane, session, attempt, phase, kind, seconds, receipts FROM turn WHERE id = ?",
        (ref.turn,),
    ).fetchone()
    if found is None or (found[2], found[3]) != (ref.attempt, "begun"):
        raise Fenced(f"turn {ref.turn} has ended or was taken over")
    lane_key = LaneKey(found[0])  # a relocation may have changed it since the turn began
    lane = tx.open_lane(lane_key)
    receipts = ending.receipts or stored_receipts(conn, ref.turn)  # a cut turn brings none
    kept = codec.load_receipts(found[6]) if found[4] == RowKind.ANSWER else ()
    seconds = found[5] + ending.seconds  # before it was parked, and since
    parked = ending.outcome is Outcome.PARKED
    conn.execute(
        "UPDATE turn SET answer = ?, receipts = ?, seconds = ? WHERE id = ?",
        (
            ending.answer,
            found[6] if parked else codec.dump_receipts((*kept, *receipts)),
            seconds,
            ref.turn,
        ),
    )
    spend(conn, ref.turn, ending.spent, now)
    if lane.slot.goal is not None:
        settle_cut(conn, lane.slot.goal.id, ref.turn)
    if ending.outcome is Outcome.ANSWERED and isinstance(lane.phase, Running):
        _answer(tx, lane_key, ref, ending)
        _keep(conn, found[1], ending)
    tx.advance(
        lane,
        TurnEnded(
            turn=ref.turn,
            attempt=ref.attempt,
            outcome=ending.outcome,
            seconds=seconds,
            answer=sha256(ending.answer.encode(errors="surrogatepass")).hexdigest(),
            idle=not receipts,
            reason=ending.reason,
            ruling=ending.ruling or _unmet(conn, lane, ending, gates),
        ),
    )
    return _next(tx, lane_key, collect=way.collect), tx.signals()


def _unmet(
    conn: sqlite3.Connection, lane: Lane, ending: Ending, gates: Wanted
) -> Unverified | None:
    """What an answer to a goal lacks that no gate objects to: a turn may be over before its gates
    have looked, and they may be changed meanwhile."""
    goal = lane.slot.active
    if goal is None:
        return None
    wanted = of_chat(conn, lane.key).on_top_of(gates).and_goal(goal.gates)
    return wanted.unmet(ending.checked)


def _answer(tx: Transaction, lane: LaneKey, ref: TurnRef, ending: Ending) -> None:
    last = len(ending.posts) - 1
    for number, post in enumerate(ending.posts):
        key = f"turn:{ref.turn}:{number}"
        tx.post(lane, post, turn=ref.turn, last_part=number == last, key=key)


def _keep(conn: sqlite3.Connection, session: int, ending: Ending) -> None:
    if ending.counted:
        conn.execute("UPDATE session SET counted = ? WHERE id = ?", (ending.counted, session))
    if ending.draft is not None:
        save_draft(conn, SessionId(session), ending.draft)
