"""`/resume #N`: a session of another lane comes to this one, unless that lane works on it."""

from __future__ import annotations

import sqlite3

from adapters.sqlite.codec import Unreadable
from adapters.sqlite.lane_rows import load_lane, new_session
from core.messages import LaneKey, SessionId
from core.sessions.lane import Idle

BUSY = "⚠ Another chat is working in that session. Stop it there first, or pause its goal."


def fetch(conn: sqlite3.Connection, session: SessionId, here: LaneKey, now: float) -> bool:
    """Give a session to the lane `here`; False where another one works on it. The lane that was
    in it begins a new one."""
    (owner,) = conn.execute("SELECT lane FROM session WHERE id = ?", (session,)).fetchone()
    if owner == here:
        return True
    try:
        other = load_lane(conn, LaneKey(owner))
    except Unreadable:
        return False  # it rests as it is; this lane must not suffer for it
    phase = other.phase if other is not None else Idle()
    if not isinstance(phase, Idle) and phase.turn.session == session:
        return False  # maybe one that goes on with an answer, in a session that was left
    there = other if other is not None and other.session == session else None
    if there is not None and not (
        isinstance(phase, Idle) and not there.waiting and there.slot.active is None
    ):
        return False
    waits = conn.execute(
        "SELECT 1 FROM escalation WHERE session = ? AND state NOT IN ('applied', 'cancelled') "
        "LIMIT 1",
        (session,),
    ).fetchone()
    if waits is not None:
        return False  # what was asked there is answered there
    if there is not None:
        fresh = new_session(conn, there.key, now)
        conn.execute("UPDATE lane SET session = ? WHERE key = ?", (fresh, there.key))
    conn.execute("UPDATE session SET lane = ? WHERE id = ?", (here, session))
    return True
