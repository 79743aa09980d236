"""The outbox's jobs: only a lane's head is sent, and each send is marked before it starts."""

from __future__ import annotations

import sqlite3

from adapters.sqlite import codec
from adapters.sqlite.intake import goal_spent
from adapters.sqlite.lane_rows import load_slot
from core.messages import LaneKey, RemoteId, Say, TurnId
from core.sessions.outgoing import CardFacts, Outgoing

OPEN = "FROM outbox WHERE lane = ? AND state IN ('ready', 'sending')"


def next_outgoing(conn: sqlite3.Connection, lane: LaneKey, now: float) -> Outgoing | None:
    """Mark the head as being sent. A head that is found in that state was cut by a restart:
    nobody knows whether it arrived."""
    found = conn.execute(
        "SELECT id, body, attempts, doubtful, first_try, turn, card, last_part, state "
        f"{OPEN} ORDER BY id LIMIT 1",
        (lane,),
    ).fetchone()
    if found is None:
        return None
    id_, body, attempts, doubtful, first_try, turn, card, last_part, state = found
    doubtful = bool(doubtful) or state == "sending"
    conn.execute(
        "UPDATE outbox SET state = 'sending', attempts = attempts + 1, doubtful = ?, "
        "first_try = ? WHERE id = ?",
        (doubtful, first_try or now, id_),
    )
    return Outgoing(
        id=id_,
        lane=lane,
        what=codec.load_outbound(body),
        attempts=attempts + 1,
        doubtful=doubtful,
        first_try=first_try or now,
        turn=None if turn is None else TurnId(turn),
        card=bool(card),
        last_part=bool(last_part),
    )


def card(conn: sqlite3.Connection, lane: LaneKey) -> CardFacts | None:
    """The newest status message of the session's goal, once it has arrived: an older one was
    left behind."""
    session = conn.execute("SELECT session FROM lane WHERE key = ?", (lane,)).fetchone()
    goal = load_slot(conn, session[0]).goal if session else None
    if goal is None:
        return None
    found = conn.execute(
        "SELECT remote_id, body, state, doubtful FROM outbox "
        "WHERE lane = ? AND card = 1 AND goal = ? AND state <> 'dead' ORDER BY id DESC LIMIT 1",
        (lane, goal.id),
    ).fetchone()
    if found is None or found[2] != "sent":
        return None
    what = codec.load_outbound(found[1])
    line = what.text if isinstance(what, Say) else ""
    spent = goal_spent(conn, goal.id)
    return CardFacts(RemoteId(found[0]), line, goal, spent, repeated=bool(found[3]))


def sent(conn: sqlite3.Connection, out: Outgoing, remote: RemoteId) -> bool:
    """It arrived; whether more is to be sent."""
    conn.execute("UPDATE outbox SET state = 'sent', remote_id = ? WHERE id = ?", (remote, out.id))
    return conn.execute(f"SELECT 1 {OPEN} LIMIT 1", (out.lane,)).fetchone() is not None


def unsent(conn: sqlite3.Connection, id_: int, *, doubtful: bool) -> None:
    """It did not arrive, or (doubtful) nobody knows."""
    conn.execute(
        "UPDATE outbox SET state = 'ready', doubtful = max(doubtful, ?) WHERE id = ?",
        (doubtful, id_),
    )


def dead(conn: sqlite3.Connection, out: Outgoing, reason: str, now: float) -> None:
    """It never will arrive; the next row moves up."""
    conn.execute("UPDATE outbox SET state = 'dead' WHERE id = ?", (out.id,))
    conn.execute(
        "INSERT INTO audit (at, lane, what, detail) VALUES (?, ?, 'undeliverable', ?)",
        (now, out.lane, f"outbox {out.id}: {reason}"),
    )
