"""Jobs round a goal's judge and its timer."""

from __future__ import annotations

import sqlite3
from typing import assert_never

from adapters.sqlite import asking, codec
from adapters.sqlite.asking import Spoilt
from adapters.sqlite.budgets import book
from adapters.sqlite.codec import Unreadable
from adapters.sqlite.lane_rows import load_slot
from adapters.sqlite.transaction import Transaction
from core.evidence import excerpt
from core.goals import texts
from core.goals.events import GoalPaused, Judged, TimerFired, Word
from core.messages import LaneKey, SessionId
from core.sessions import machine
from core.sessions.lane import SessionEntered
from core.sessions.ports import (
    GOAL_JUDGE,
    CapReached,
    Due,
    Estimate,
    OpenJudgement,
    Reserved,
    Signals,
    Timer,
    UsageOf,
)

MAX_RECEIPTS = 12


def open_judgement(conn: sqlite3.Connection, key: LaneKey) -> OpenJudgement | None:
    """The question of the lane's current session, with the receipts of all turns it covers."""
    found = conn.execute(
        "SELECT session, phase, EXISTS (SELECT 1 FROM escalation WHERE session = lane.session "
        "AND state IN ('pending_send', 'open')) FROM lane WHERE key = ?",
        (key,),
    ).fetchone()
    if found is None or found[1] != "idle" or found[2]:
        return None  # what is asked now, and by a turn that waits, goes before the judge too
    session = found[0]
    slot = load_slot(conn, session)
    goal = slot.active
    if goal is None or goal.judgement is None or goal.judgement.settled:
        return None
    asked = goal.judgement
    marks = ",".join("?" * len(asked.turns))
    turns = conn.execute(
        f"SELECT id, answer, receipts FROM turn WHERE id IN ({marks}) ORDER BY id",  # noqa: S608
        asked.turns,
    ).fetchall()
    receipts = [receipt for _, _, stored in turns for receipt in codec.load_receipts(stored)]
    return OpenJudgement(
        goal=goal,
        generation=slot.generation,
        session=SessionId(session),
        id=asked.id,
        answer=next((answer for _, answer, _ in reversed(turns) if answer), ""),
        receipts=tuple(excerpt(receipts, MAX_RECEIPTS)),
    )


def reserve(
    conn: sqlite3.Connection, key: LaneKey, asked: OpenJudgement, estimate: Estimate, now: float
) -> tuple[Reserved | CapReached | None, Signals]:
    """Book the judge's call; a cap that does not cover it pauses the goal."""
    tx = Transaction(conn, now, f"cap:{asked.goal.id}:{asked.generation}:{asked.id}")
    lane = tx.lane(key)
    goal = lane.slot.active if lane else None
    if lane is None or goal is None:
        return None, tx.signals()
    if (lane.session, lane.slot.generation) != (asked.session, asked.generation):
        return None, tx.signals()  # paused or replaced meanwhile: the verdict will be dropped
    whose = (asked.session, None, GOAL_JUDGE, "")
    booked = book(conn, goal, estimate, seconds=0.0, whose=whose, now=now)
    if isinstance(booked, CapReached):
        tx.apply(lane, *machine.tell_goal(lane, GoalPaused(texts.paused(booked.reason))))
    return booked, tx.signals()


def judged(
    conn: sqlite3.Connection,
    key: LaneKey,
    asked: OpenJudgement,
    word: Word,
    spent: UsageOf | None,
    now: float,
) -> Signals:
    """Apply the judge's word where its question is still open."""
    tx = Transaction(conn, now, f"verdict:{asked.goal.id}:{asked.generation}:{asked.id}")
    if spent is not None:
        spend_on(conn, spent, now)
    lane = tx.lane(key)
    if lane is not None and lane.session == asked.session:
        seconds = 0.0 if spent is None else spent.seconds
        event = Judged(asked.goal.id, asked.generation, asked.id, word, now, seconds)
        tx.advance(lane, event)
    return tx.signals()


def spend_on(conn: sqlite3.Connection, spent: UsageOf, now: float) -> None:
    """Keep the usage of a call outside a turn, in place of its reservation."""
    usage = spent.usage
    if spent.reservation is not None:
        conn.execute("DELETE FROM usage WHERE id = ?", (spent.reservation,))
    conn.execute(
        "INSERT INTO usage (session, goal, purpose, model, state, input, cached, output, cost, "
        "at) VALUES (?, ?, ?, ?, 'settled', ?, ?, ?, ?, ?)",
        (
            spent.session,
            spent.goal,
            spent.purpose,
            spent.model,
            usage.input_tokens,
            usage.cached_tokens,
            usage.output_tokens,
            usage.cost,
            now,
        ),
    )


def enter_session(conn: sqlite3.Connection, key: LaneKey, now: float, run: str) -> Signals:
    """Wake a lane's session after a restart; `run` names this start."""
    tx = Transaction(conn, now, f"start:{run}:{key}")
    lane = tx.lane(key)
    if lane is not None:
        tx.advance(lane, SessionEntered())
    return tx.signals()


def next_timer(conn: sqlite3.Connection) -> Timer | Due | None:
    """The timer that is due first."""
    found = conn.execute(
        "SELECT lane, goal, generation, due FROM timer ORDER BY due LIMIT 1"
    ).fetchone()
    timer = None if found is None else Timer(LaneKey(found[0]), *found[1:])
    question = asking.next_due(conn)
    if timer is None or (question is not None and question.due < timer.due):
        return question
    return timer


def fire(
    conn: sqlite3.Connection, timer: Timer | Due, now: float, drift_s: float
) -> Signals | Spoilt:
    """Take a timer away and tell its goal or its question."""
    match timer:
        case Timer():
            return _fire_goal(conn, timer, now)
        case Due():
            return asking.time_came(conn, timer, now, drift_s)
        case _:
            assert_never(timer)


def _fire_goal(conn: sqlite3.Connection, timer: Timer, now: float) -> Signals | Spoilt:
    """Where the goal cannot be read the timer goes all the same, or it would be due for ever: a
    start that can read it sets it again."""
    tx = Transaction(conn, now, f"timer:{timer.goal}:{timer.generation}:{timer.due}")
    gone = conn.execute(
        "DELETE FROM timer WHERE lane = ? AND goal = ? AND generation = ? AND due = ?",
        (timer.lane, timer.goal, timer.generation, timer.due),
    )
    try:
        lane = tx.lane(timer.lane) if gone.rowcount else None
    except Unreadable as error:
        return Spoilt(timer.lane, error)
    if lane is not None:
        tx.advance(lane, TimerFired(timer.goal, timer.generation))
    return tx.signals()
