"""What people and work do to questions, inside a writer's job.

Plain functions of a commit; no commit here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from adapters.sqlite import access, escalation_rows
from adapters.sqlite.escalation_rows import Stored
from adapters.sqlite.happening import Commit, Told, drop_answer, happen
from core.escalations import outcome
from core.escalations.events import (
    Answered,
    Applied,
    CardAdopted,
    EscalationEvent,
    LaterPressed,
    Stopped,
    Trail,
)
from core.escalations.routing import (
    Ambiguous,
    NotAnAnswer,
    Postponed,
    Refused,
    Resolution,
    Resolved,
)
from core.messages import Address, LaneKey, Principal, SessionId
from core.people import Refusal

__all__ = ["Told", "adopt", "cancelled", "close", "decide", "keys", "notes", "withdraw"]


# What people do


def decide(commit: Commit, found: Resolution, by: Principal) -> Told:
    """Carry out what a press, a message or a command was found to mean."""
    match found:
        case Resolved(escalation, answer, adopts, echo):
            event: EscalationEvent = Answered(by, answer, commit.now)
        case Postponed(escalation, adopts):
            event, echo = LaterPressed(by, commit.now), ""
        case Ambiguous(_, text):
            return Told(text, counted=False)
        case Refused():
            _write_down(commit, found, by)
            return Told(found.text, counted=False)
        case NotAnAnswer():
            return Told("", counted=False)
        case _:
            assert_never(found)
    stored = escalation_rows.by_number(commit.conn, escalation.address, escalation.number)
    if stored is None:
        raise LookupError(f"{escalation.id} is not stored")
    if adopts:
        stored, _ = happen(commit, stored, CardAdopted(adopts, commit.now))
    _, told = happen(commit, stored, event)
    told = told or Told("", counted=False)
    return replace(told, text=f"{told.text}\n{echo}") if echo and told.counted else told


def _write_down(commit: Commit, found: Refused, by: Principal) -> None:
    """A refusal in the trail; one of more than coming late is in the audit too."""
    escalation = found.escalation
    if escalation is None or not found.audit:
        return
    late = escalation.admits(by) and not escalation.live
    stored = escalation_rows.by_number(commit.conn, escalation.address, escalation.number)
    if stored is not None:
        what = Trail.LATE if late else Trail.REFUSED
        escalation_rows.note(commit.conn, stored.id, commit.now, what, by)
    if not late:
        access.refuse(commit.conn, [_refusal(escalation.address, by)], commit.now)


def _refusal(address: Address, by: Principal) -> Refusal:
    return Refusal(
        platform=address.platform,
        person=by.id,
        name=by.name,
        chat=address.chat,
        lane=address.key,
        what="answer",
    )


# What the work does


def withdraw(
    commit: Commit, lane: LaneKey, *, why: str, by: Principal | None, goal: int | None
) -> None:
    """Cancel all that the lane's turns asked and were not told yet, or those of a goal's. The work
    of a parked turn ends with it and says so; other work has to be told."""
    found = escalation_rows.unapplied(
        commit.conn,
        "lane = ?1 AND (?2 IS NULL OR turn IN (SELECT id FROM turn WHERE goal = ?2))",
        lane,
        goal,
    )
    parked = "SELECT 1 FROM turn WHERE id = ? AND phase = 'parked'"
    for stored in _readable(commit, found):
        after, _ = happen(commit, stored, Stopped(commit.now, by, why))
        if commit.conn.execute(parked, (after.value.turn,)).fetchone() is not None:
            happen(commit, after, Applied(commit.now))


def close(commit: Commit, turn: int, why: str) -> bool:
    """A turn is over, and with it what it asked; whether it asked anything. What is still open is
    cancelled, and of all else the turn has been told."""
    asked = commit.conn.execute("SELECT 1 FROM escalation WHERE turn = ?", (turn,)).fetchone()
    if asked is None:
        return False
    found = escalation_rows.unapplied(commit.conn, "turn = ?", turn)
    for stored in _readable(commit, found):
        if stored.value.live:
            happen(commit, stored, Stopped(commit.now, why=why))
        else:
            happen(commit, stored, Applied(commit.now))
    return True


def _readable(commit: Commit, found: Iterable[Stored | int]) -> list[Stored]:
    """Those that can be read; the others end with their work all the same."""
    good = []
    for stored in found:
        if isinstance(stored, Stored):
            good.append(stored)
        else:
            escalation_rows.give_up(commit.conn, stored, commit.now)
            drop_answer(commit.conn, stored)
            commit.timers = True
    return good


def cancelled(commit: Commit, session: SessionId) -> tuple[str, ...]:
    """What a session's next turn is told of questions that were cancelled after their turn had
    been set aside; it is told once."""
    found = escalation_rows.unapplied(
        commit.conn,
        "session = ? AND state = 'cancelled' AND NOT EXISTS "
        "(SELECT 1 FROM turn WHERE id = escalation.turn AND phase IN ('begun', 'parked'))",
        session,
    )
    told = []
    for stored in _readable(commit, found):
        told.append(outcome.told(stored.value))
        happen(commit, stored, Applied(commit.now))
    return tuple(told)


def keys(conn: sqlite3.Connection, turn: int) -> frozenset[str]:
    """The keys of what a turn has asked people."""
    found = conn.execute("SELECT key FROM escalation WHERE turn = ?", (turn,))
    return frozenset(key for (key,) in found)


def notes(conn: sqlite3.Connection, turn: int) -> dict[str, str]:
    """What each call of a turn's own agent waits for, in a sentence."""
    waiting: dict[str, list[str]] = {}
    for call, number in conn.execute(
        "SELECT call, number FROM escalation WHERE turn = ? AND state <> 'applied' ORDER BY id",
        (turn,),
    ):
        waiting.setdefault(call, []).append(f"E{number}")
    return {call: outcome.waiting_for(ids) for call, ids in waiting.items()}


def adopt(conn: sqlite3.Connection, old_turn: int, call: str, new_turn: int) -> None:
    """Let another turn go on with a call: what it asked is the new turn's, answers included."""
    conn.execute(
        "UPDATE escalation SET turn = ? WHERE turn = ? AND call = ?", (new_turn, old_turn, call)
    )
    conn.execute(
        "UPDATE inbox SET of_turn = ? WHERE of_turn = ? AND state = 'ready' "
        "AND json_extract(payload, '$.call') = ?",
        (new_turn, old_turn, call),
    )
