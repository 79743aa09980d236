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
    if other is not None and other.session == session:
        if not isinstance(other.phase, Idle) or other.waiting or other.slot.active:
            return False
        fresh = new_session(conn, other.key, now)
        conn.execute("UPDATE lane SET session = ? WHERE key = ?", (fresh, other.key))
    conn.execute("UPDATE session SET lane = ? WHERE id = ?", (here, session))
    return True
