"""A session's own rows: its transcript, and the beginning that never changes.

Plain functions of a connection; no commit here.
"""

from __future__ import annotations

import json
import sqlite3

from core.messages import SessionId
from core.transcript import Entry, User, from_json


def keep_prefix(conn: sqlite3.Connection, session: SessionId, prefix: str) -> str:
    """Keep the system prompt and tools, unless there are some; what is kept."""
    conn.execute("UPDATE session SET prefix = ? WHERE id = ? AND prefix = ''", (prefix, session))
    (kept,) = conn.execute("SELECT prefix FROM session WHERE id = ?", (session,)).fetchone()
    return str(kept)


def history(conn: sqlite3.Connection, session: SessionId) -> tuple[Entry, ...]:
    """The transcript since the last checkpoint, its summary first."""
    checkpoint = conn.execute(
        "SELECT n, summary FROM checkpoint WHERE session = ? ORDER BY n DESC LIMIT 1", (session,)
    ).fetchone()
    start, summary = checkpoint or (0, "")
    rows = conn.execute(
        "SELECT body FROM message WHERE session = ? AND n >= ? ORDER BY n", (session, start)
    )
    entries = tuple(from_json(json.loads(body)) for (body,) in rows)
    return (User(summary), *entries) if checkpoint else entries
