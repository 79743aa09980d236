"""Lanes, their rows and goals between SQL and `core.sessions.lane` values.

Plain functions of a connection, called inside a writer's job; no commit here.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from adapters.sqlite.codec import Unreadable, checked
from core.goals import codec
from core.goals.goal import Goal, GoalStatus, Slot
from core.messages import LaneKey, Principal, Role, SessionId, TurnId
from core.sessions.lane import (
    Cut,
    Idle,
    Lane,
    Phase,
    Prio,
    Row,
    RowKind,
    Running,
    Stopping,
    Turn,
)
from core.transcript import Json

LANE = (
    "SELECT l.stop_seq, l.session, l.phase, l.turn, m.value, EXISTS (SELECT 1 FROM inbox "
    "WHERE lane = l.key AND state = 'ready' AND seq <> ?2), l.parked, "
    "EXISTS (SELECT 1 FROM escalation WHERE session = l.session "
    "AND state IN ('pending_send', 'open')) FROM lane l "
    "LEFT JOIN state_meta m ON m.key = 'goal:' || l.session WHERE l.key = ?1"
)
READY = (
    "SELECT seq, kind, prio, principal, not_before, more, steer, target, goal, generation, "
    "of_turn FROM inbox WHERE lane = ? AND state = 'ready' AND seq <> ? ORDER BY prio, seq"
)
_JSON = json.JSONEncoder(ensure_ascii=False)
_KINDS = {kind.value: kind for kind in RowKind}
_PRIOS = {prio.value: prio for prio in Prio}
PHASES = {"stopped": Cut.STOPPED, "interrupted": Cut.INTERRUPTED}


@lru_cache(maxsize=4096)
def dump_principal(who: Principal) -> str:
    """A principal's JSON form."""
    return json.dumps([who.id, who.name, who.role.value], ensure_ascii=False)


load_goal = checked("a goal")(codec.load)


@lru_cache(maxsize=4096)
@checked("a person")
def load_principal(text: str) -> Principal:
    """The principal that `dump_principal` wrote."""
    id_, name, role = json.loads(text)
    return Principal(id_, name, Role(role))


def open_lane(conn: sqlite3.Connection, key: LaneKey, now: float, *, but: int = 0) -> Lane:
    """`load_lane` for what arrives in a chat: a new lane gets its first session."""
    lane = load_lane(conn, key, but=but)
    if lane is None:
        session = new_session(conn, key, now)
        conn.execute("INSERT INTO lane (key, session) VALUES (?, ?)", (key, session))
        lane = Lane(key=key, session=session)
    return lane


def load_lane(conn: sqlite3.Connection, key: LaneKey, *, but: int = 0) -> Lane | None:
    """A lane as it stands, less the row `but`; None where there is none, or none any more: a
    chat's move gives all that was kept under one key to another."""
    found = conn.execute(LANE, (key, but)).fetchone()
    if found is None:
        return None
    stop_seq, session, phase, turn, slot, waits, parked, asking = found
    return Lane(
        key=key,
        session=SessionId(session),
        phase=_phase(conn, phase, turn),
        stop_seq=stop_seq,
        waiting=_waiting(conn, key, session, but) if waits else (),
        slot=load_goal(slot) if slot else Slot(),
        parked=None if parked is None else load_turn(conn, parked),
        asking=bool(asking),
    )


def new_session(conn: sqlite3.Connection, key: LaneKey, now: float) -> SessionId:
    """Add a session to a lane; the caller makes it current."""
    found = conn.execute(
        "INSERT INTO session (lane, created) VALUES (?, ?) RETURNING id", (key, now)
    ).fetchone()
    return SessionId(found[0])


def _phase(conn: sqlite3.Connection, phase: str, turn: int | None) -> Phase:
    if phase == "idle" or turn is None:
        return Idle()
    begun = load_turn(conn, turn)
    return Running(begun) if phase == "running" else Stopping(begun, PHASES[phase])


def _waiting(conn: sqlite3.Connection, key: LaneKey, session: int, but: int) -> tuple[Row, ...]:
    rows = tuple([_row(row) for row in conn.execute(READY, (key, but))])
    if not any(row.kind is RowKind.ANSWER for row in rows):
        return rows
    return tuple(replace(row, held=_held(conn, row, session)) for row in rows)


def _held(conn: sqlite3.Connection, row: Row, session: int) -> bool:
    """Whether a row is an answer for another session's goal, which is not active there."""
    if row.kind is not RowKind.ANSWER or row.goal is None or row.target in {None, session}:
        return False
    goal = seen_goal(conn, row.target or session)
    return goal is None or goal.status is not GoalStatus.ACTIVE or goal.id != row.goal


@checked("a waiting message")
def _row(
    found: tuple[int, str, int, str, float, int, int, int | None, int, int, int | None],
) -> Row:
    seq, kind, prio, principal, not_before, more, steer, target, goal, generation, of = found
    return Row(
        seq=seq,
        kind=_KINDS[kind],
        prio=_PRIOS[prio],
        principal=load_principal(principal),
        not_before=not_before,
        more=bool(more),
        steer=bool(steer),
        target=None if target is None else SessionId(target),
        goal=goal,
        generation=generation,
        of=None if of is None else TurnId(of),
    )


@checked("a begun turn")
def load_turn(conn: sqlite3.Connection, turn: int) -> Turn:
    """A begun turn."""
    session, kind, principal, rows, attempt, tries, goal = conn.execute(
        "SELECT session, kind, principal, rows, attempt, tries, goal FROM turn WHERE id = ?",
        (turn,),
    ).fetchone()
    return Turn(
        id=TurnId(turn),
        session=SessionId(session),
        kind=RowKind(kind),
        principal=load_principal(principal),
        rows=tuple(json.loads(rows)),
        attempt=attempt,
        tries=tries,
        goal=goal,
    )


def load_slot(conn: sqlite3.Connection, session: int) -> Slot:
    """The session's goal slot; an empty one when nothing is stored."""
    found = conn.execute(
        "SELECT value FROM state_meta WHERE key = ?", (f"goal:{session}",)
    ).fetchone()
    return load_goal(found[0]) if found else Slot()


def seen_goal(conn: sqlite3.Connection, session: int) -> Goal | None:
    """The session's goal for lists of many: one that cannot be read is left out."""
    try:
        return load_slot(conn, session).goal
    except Unreadable:
        return None


def save_lane(conn: sqlite3.Connection, before: Lane, after: Lane) -> None:
    """Write what changed of a lane's own row and of its goal."""
    if (before.phase, before.stop_seq, before.parked) != (
        after.phase,
        after.stop_seq,
        after.parked,
    ):
        phase, turn = "idle", None
        match after.phase:
            case Running(begun):
                phase, turn = "running", begun.id
            case Stopping(begun, why):
                phase, turn = why.value, begun.id
            case Idle():
                pass
        conn.execute(
            "UPDATE lane SET phase = ?, turn = ?, stop_seq = ?, parked = ? WHERE key = ?",
            (phase, turn, after.stop_seq, after.parked and after.parked.id, after.key),
        )
    if before.slot != after.slot:
        put_meta(conn, f"goal:{after.session}", codec.dump(after.slot))


def put_meta(conn: sqlite3.Connection, key: str, value: str) -> None:
    """Set a small value."""
    conn.execute(
        "INSERT INTO state_meta (key, value) VALUES (?, ?) ON CONFLICT (key) "
        "DO UPDATE SET value = excluded.value, version = version + 1",
        (key, value),
    )


def insert_row(  # noqa: PLR0913 - one column each
    conn: sqlite3.Connection,
    lane: LaneKey,
    dedupe: str,
    row: Row,
    payload: Mapping[str, Json],
    now: float,
    *,
    state: str = "ready",
) -> int | None:
    """Add an inbox row; its seq, or None when its dedupe key was seen before.

    The seq of `row` is ignored: SQLite gives the next one.
    """
    done = conn.execute(
        "INSERT INTO inbox (lane, kind, dedupe, prio, state, not_before, more, steer, target, "
        "goal, generation, of_turn, principal, payload, received) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (dedupe) DO NOTHING",
        (
            lane,
            row.kind.value,
            dedupe,
            int(row.prio),
            state,
            row.not_before,
            row.more,
            row.steer,
            row.target,
            row.goal,
            row.generation,
            row.of,
            dump_principal(row.principal),
            _JSON.encode(payload),
            now,
        ),
    )
    return done.lastrowid if done.rowcount else None
