"""What happens to a question to a person, stored with all that follows from it.

Plain functions of a commit; no commit here. What goes out are marks in the outbox: `cards` makes
the messages of them when they are sent.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from typing import Protocol, assert_never

from adapters.sqlite import escalation_rows, posting
from adapters.sqlite.escalation_rows import Stored
from adapters.sqlite.lane_rows import insert_row, load_principal
from core.escalations import texts
from core.escalations.events import (
    Applied,
    Audit,
    Confirm,
    EditCards,
    EscalationEffect,
    EscalationEvent,
    Reject,
    Remind,
    Resume,
    SendCard,
    SetTimer,
)
from core.escalations.machine import advance
from core.escalations.record import Escalation, State
from core.messages import LaneKey, Outbound, Principal, Say, lowest
from core.sessions.lane import Prio, Row, RowKind
from core.sessions.outgoing import Amend

CARD, REMINDER, DECISION, LOST = "card", "reminder", "decision", "lost"
"""What a row of the outbox shows of a question; LOST says that its card could not be made."""


class Commit(Protocol):
    """What is needed of the transaction that all this is part of."""

    conn: sqlite3.Connection
    now: float
    wake: set[LaneKey]
    deliver: set[LaneKey]
    timers: bool


@dataclass(frozen=True, slots=True)
class Told:
    """What the person is told who answered, or wanted to; `counted` says that it was taken."""

    text: str
    counted: bool


def happen(commit: Commit, stored: Stored, event: EscalationEvent) -> tuple[Stored, Told | None]:
    """Let something happen to a question and store all that follows; with it what a person is
    told, if one did it."""
    after, effects = advance(stored.value, event)
    if after != stored.value:
        stored = replace(stored, value=after)
        escalation_rows.save(commit.conn, stored)
    if isinstance(event, Applied):
        drop_answer(commit.conn, stored.id)
    told: Told | None = None
    for effect in effects:
        told = _do(commit, stored, effect) or told
    return stored, told


def _do(commit: Commit, stored: Stored, effect: EscalationEffect) -> Told | None:
    match effect:
        case Confirm(text):
            return Told(text, counted=True)
        case Reject(why):
            return Told(why, counted=False)
        case SetTimer(due):
            escalation_rows.set_due(commit.conn, stored.id, due)
            commit.timers = True
        case Audit(what, by, detail):
            escalation_rows.note(commit.conn, stored.id, commit.now, what, by, detail)
        case Resume(wake):
            if wake:
                _resume(commit, stored)
            else:
                drop_answer(commit.conn, stored.id)
        case SendCard() | Remind() | EditCards():
            _send(commit, stored, effect)
        case _:
            assert_never(effect)
    return None


def _send(commit: Commit, stored: Stored, effect: SendCard | Remind | EditCards) -> None:
    match effect:
        case SendCard():
            send_card(commit, stored)
        case Remind():
            _queue(commit, stored, REMINDER, Say(texts.reminder(stored.value)))
        case EditCards(remotes, line):
            for remote in remotes:
                _queue(commit, stored, DECISION, Amend(remote, Say(line)))
        case _:
            assert_never(effect)


def send_card(commit: Commit, stored: Stored) -> None:
    """Queue the card, unless it waits to be sent."""
    waits = commit.conn.execute(
        "SELECT 1 FROM outbox WHERE escalation = ? AND shows = ? "
        "AND state IN ('ready', 'sending')",
        (stored.id, CARD),
    ).fetchone()
    if waits is None:
        _queue(commit, stored, CARD, Say(texts.decision(stored.value)))


def _queue(commit: Commit, stored: Stored, shows: str, what: Outbound | Amend) -> None:
    """Put a mark into the outbox. Its words are a stand-in where they are made anew later."""
    (last,) = commit.conn.execute(
        "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'outbox'"
    ).fetchone()
    post = posting.Post(
        lane=stored.lane,
        key=f"esc:{stored.id}:{shows}:{last + 1}",
        what=what,
        escalation=stored.id,
        shows=shows,
    )
    posting.insert(commit.conn, post)
    commit.deliver.add(stored.lane)


def _answer_key(id_: int) -> str:
    return f"esc:{id_}"


def _resume(commit: Commit, stored: Stored) -> None:
    """Tell the work that asked, while there is any: once, however often it is ordered."""
    asking = stored.value
    found = commit.conn.execute(
        "SELECT principal, goal FROM turn WHERE id = ? AND phase IN ('begun', 'parked', 'aside')",
        (asking.turn,),
    ).fetchone()
    if found is None:
        return
    row = Row(
        seq=0,
        kind=RowKind.ANSWER,
        prio=Prio.ANSWER,
        principal=_heard(load_principal(found[0]), asking),
        target=asking.session,
        goal=found[1],
        of=asking.turn,
    )
    payload = {"call": asking.tool_call_id}
    key = _answer_key(stored.id)
    insert_row(commit.conn, stored.lane, key, row, dict(payload), commit.now)
    commit.wake.add(stored.lane)


def _heard(worked_for: Principal, asked: Escalation) -> Principal:
    """Whose rights the work goes on with: whoever answered has been heard in the session."""
    if asked.ending is not State.ANSWERED or asked.decider is None:
        return worked_for
    return replace(worked_for, role=lowest(worked_for.role, asked.decider.role))


def drop_answer(conn: sqlite3.Connection, id_: int) -> None:
    """Nothing is left to be told of it."""
    conn.execute(
        "UPDATE inbox SET state = 'dropped' WHERE dedupe = ? AND state = 'ready'",
        (_answer_key(id_),),
    )
