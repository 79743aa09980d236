"""Read-only questions about the whole store: sessions of all chats, the books, what is under way.

Plain functions of a connection; they serve commands inside a commit and the command line beside.
"""

from __future__ import annotations

import sqlite3
from datetime import datetime

from adapters.sqlite.lane_rows import seen_goal
from core.goals.goal import GoalStatus
from core.messages import LaneKey, SessionId
from core.sessions.facts import GoalFact, ModelSpent, Overview, SessionFact, Used
from core.sessions.lane import Lane

MAX_SESSIONS = 20
MAX_ALL_SESSIONS = 30
OVER = frozenset({GoalStatus.CLEARED, GoalStatus.DONE})
_SESSION = (
    "SELECT s.id, s.title, s.turns, s.lane, l.key IS NOT NULL FROM session s "
    "LEFT JOIN lane l ON l.session = s.id"
)


def sessions(conn: sqlite3.Connection, lane: LaneKey) -> tuple[SessionFact, ...]:
    """A lane's sessions, newest first."""
    found = conn.execute(
        f"{_SESSION} WHERE s.lane = ? ORDER BY s.id DESC LIMIT ?", (lane, MAX_SESSIONS)
    )
    return tuple(_session(conn, row) for row in found.fetchall())


def all_sessions(
    conn: sqlite3.Connection, limit: int = MAX_ALL_SESSIONS
) -> tuple[SessionFact, ...]:
    """The sessions of all lanes in which something was said, newest first."""
    found = conn.execute(f"{_SESSION} WHERE s.turns > 0 ORDER BY s.id DESC LIMIT ?", (limit,))
    return tuple(_session(conn, row) for row in found.fetchall())


def session(conn: sqlite3.Connection, number: int) -> SessionFact | None:
    """One session of whatever lane."""
    found = conn.execute(f"{_SESSION} WHERE s.id = ?", (number,)).fetchone()
    return None if found is None else _session(conn, found)


def _session(conn: sqlite3.Connection, row: tuple[int, str, int, str, int]) -> SessionFact:
    id_, title, turns, lane, current = row
    goal = seen_goal(conn, id_)
    status = goal.status.value if goal and goal.status is not GoalStatus.CLEARED else ""
    return SessionFact(SessionId(id_), title, turns, LaneKey(lane), status, bool(current))


def used(conn: sqlite3.Connection, lane: Lane, now: float) -> Used:
    """The books of a lane's session, of its goal, and of today, by this machine's calendar."""
    goal = lane.slot.goal
    day = datetime.fromtimestamp(now).astimezone().replace(hour=0, minute=0, second=0)
    today = day.timestamp()
    here = "at >= ? AND session IN (SELECT id FROM session WHERE lane = ?)"
    return Used(
        session=_by_model(conn, "session = ?", lane.session),
        goal=_by_model(conn, "goal = ?", goal.id) if goal else (),
        here=_by_model(conn, here, today, lane.key),
        everywhere=_by_model(conn, "at >= ?", today),
    )


def _by_model(
    conn: sqlite3.Connection, where: str, *values: str | float
) -> tuple[ModelSpent, ...]:
    found = conn.execute(
        "SELECT model, sum(input), sum(cached), sum(output), sum(cost) FROM usage "  # noqa: S608
        f"WHERE {where} GROUP BY model ORDER BY sum(cost) DESC, sum(input + output) DESC",
        values,
    )
    return tuple(ModelSpent(*row) for row in found.fetchall())


def overview(conn: sqlite3.Connection) -> Overview:
    """What is under way."""
    working = conn.execute("SELECT key FROM lane WHERE phase <> 'idle' ORDER BY key").fetchall()
    (queued,) = conn.execute("SELECT count(*) FROM inbox WHERE state = 'ready'").fetchone()
    states = "state IN ('ready', 'sending')"
    (unsent,) = conn.execute(f"SELECT count(*) FROM outbox WHERE {states}").fetchone()  # noqa: S608
    (dead,) = conn.execute("SELECT count(*) FROM outbox WHERE state = 'dead'").fetchone()
    return Overview(
        working=tuple(LaneKey(key) for (key,) in working),
        queued=queued,
        goals=_open_goals(conn),
        unsent=unsent,
        dead=dead,
    )


def _open_goals(conn: sqlite3.Connection) -> tuple[GoalFact, ...]:
    """The goals of current sessions that are not over."""
    found = conn.execute(
        "SELECT l.key, l.session FROM lane l JOIN state_meta m ON m.key = 'goal:' || l.session "
        "ORDER BY l.key"
    ).fetchall()
    goals: list[GoalFact] = []
    for key, session_id in found:
        goal = seen_goal(conn, session_id)
        if goal is not None and goal.status not in OVER:
            fact = GoalFact(
                lane=LaneKey(key),
                text=goal.text,
                status=goal.status.value,
                turns=goal.turns,
                of=goal.budget.turns,
            )
            goals.append(fact)
    return tuple(goals)
