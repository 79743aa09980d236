"""What a start finds, when a lane rests, and what is old enough to go."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator

from adapters.sqlite.archive import KEPT, SPOKEN
from adapters.sqlite.codec import Unreadable, address_of
from adapters.sqlite.damage import Damage
from adapters.sqlite.lane_rows import load_slot
from core.messages import LaneKey
from core.sessions.ports import Unfinished

KEPT_S = 7 * 24 * 3600.0
"""How long rows are kept that are done with; dedupe keys must last 3 days at the least."""
ASKED_S = 90 * 24 * 3600.0
"""How long a question and its trail are kept once it is decided."""
AT_ONCE = 5_000


def unfinished(conn: sqlite3.Connection, damage: Damage) -> Unfinished:
    """Lanes with something to run, to send, or with an active goal. Reservations that a crash
    left behind count as spent. What cannot be read is left where it is."""
    lanes = conn.execute(
        "SELECT key FROM lane WHERE phase <> 'idle' UNION "
        "SELECT lane FROM inbox WHERE state = 'ready'"
    ).fetchall()
    outbox = conn.execute(
        "SELECT DISTINCT lane FROM outbox WHERE state IN ('ready', 'sending')"
    ).fetchall()
    goals = conn.execute(
        "SELECT l.key, l.session FROM lane l JOIN state_meta m ON m.key = 'goal:' || l.session"
    ).fetchall()
    return Unfinished(
        frozenset(_known([LaneKey(key) for (key,) in lanes], damage)),
        frozenset(_known([LaneKey(key) for (key,) in outbox], damage)),
        frozenset(
            LaneKey(key) for key, session in goals if _goes_on(conn, LaneKey(key), session, damage)
        ),
    )


def _known(lanes: Iterable[LaneKey], damage: Damage) -> Iterator[LaneKey]:
    """Those whose key says where they are: a newer version may know more platforms."""
    for lane in lanes:
        try:
            address_of(lane)
        except Unreadable as error:
            damage.note(lane, error)
        else:
            yield lane


def _goes_on(conn: sqlite3.Connection, lane: LaneKey, session: int, damage: Damage) -> bool:
    try:
        address_of(lane)
        return load_slot(conn, session).active is not None
    except Unreadable as error:
        damage.note(lane, error)
        return False


def at_rest(conn: sqlite3.Connection, key: LaneKey) -> bool:
    """Whether a lane is idle, with an empty inbox and outbox and no active goal but one that
    waits for a person."""
    found = conn.execute("SELECT phase, session FROM lane WHERE key = ?", (key,)).fetchone()
    if found is None:
        return True
    phase, session = found
    (work,) = conn.execute(
        "SELECT EXISTS (SELECT 1 FROM inbox WHERE lane = ?1 AND state = 'ready') OR "
        "EXISTS (SELECT 1 FROM outbox WHERE lane = ?1 AND state IN ('ready', 'sending'))",
        (key,),
    ).fetchone()
    try:
        goal = load_slot(conn, session).active
    except Unreadable:
        return True  # nothing moves it in this run
    (asking,) = conn.execute(
        "SELECT EXISTS (SELECT 1 FROM escalation WHERE session = ? "
        "AND state IN ('pending_send', 'open'))",
        (session,),
    ).fetchone()
    return phase == "idle" and not work and (goal is None or bool(asking))


def prune(conn: sqlite3.Connection, now: float) -> bool:
    """Delete a slice of what is done with and old; False when nothing is left to delete.

    Transcripts, usage, audit rows and the newest status messages stay, and so does all that a
    chat without a memory of its own is read back from.
    """
    old = now - KEPT_S
    inbox = conn.execute(
        "DELETE FROM inbox WHERE seq IN (SELECT seq FROM inbox "  # noqa: S608 - ours
        "WHERE state IN ('done', 'dropped') AND received < ? AND (turn IS NULL OR turn NOT IN "
        "(SELECT turn FROM lane WHERE turn IS NOT NULL UNION ALL "
        "SELECT id FROM turn WHERE phase IN ('parked', 'aside'))) "
        f"AND NOT ({KEPT} AND {SPOKEN}) LIMIT ?)",
        (old, AT_ONCE),
    )
    outbox = conn.execute(
        "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox "  # noqa: S608 - ours
        "WHERE state IN ('sent', 'dead') AND card = 0 AND first_try < ? "
        f"AND NOT ({KEPT} AND state = 'sent') LIMIT ?)",
        (old, AT_ONCE),
    )
    return inbox.rowcount + outbox.rowcount + _prune_questions(conn, now) > 0


def _prune_questions(conn: sqlite3.Connection, now: float) -> int:
    """Delete what was asked and told long ago, but for the last one of a place: the next number
    is counted from it. Of younger ones only the buttons go."""
    gone = conn.execute(
        "SELECT id FROM escalation e WHERE state = 'applied' AND decided < ? AND number < "
        "(SELECT max(number) FROM escalation WHERE place = e.place) LIMIT ?",
        (now - ASKED_S, AT_ONCE),
    ).fetchall()
    conn.executemany("DELETE FROM escalation_event WHERE escalation = ?", gone)
    conn.executemany("DELETE FROM escalation WHERE id = ?", gone)
    tokens = conn.execute(
        "DELETE FROM escalation_token WHERE hash IN (SELECT hash FROM escalation_token t "
        "LEFT JOIN escalation e ON e.id = t.escalation "
        "WHERE e.id IS NULL OR (e.state = 'applied' AND e.decided < ?) LIMIT ?)",
        (now - KEPT_S, AT_ONCE),
    )
    return len(gone) + tokens.rowcount
