"""The jobs of questions to people: work asks and is told, time comes, a start goes on."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from adapters.sqlite import escalation_rows
from adapters.sqlite.cards import Cards
from adapters.sqlite.codec import Unreadable
from adapters.sqlite.damage import Damage
from adapters.sqlite.happening import happen, send_card
from adapters.sqlite.transaction import Transaction
from adapters.sqlite.turns import check_fence
from core.escalations import card
from core.escalations.asking import Asking, objection
from core.escalations.card import TooLong
from core.escalations.desk import Asked
from core.escalations.events import Applied, Restarted, TimeCame, Trail
from core.escalations.record import SETTLED, Escalation, State, approvers_of, digest_of
from core.escalations.token import TOKEN_BYTES
from core.messages import Address, LaneKey, PlatformName, Principal, SessionId, TurnId
from core.sessions.ports import Due, Signals, TurnRef


@dataclass(frozen=True, slots=True)
class Question:
    """What a turn's call asks, and for whom."""

    ref: TurnRef
    call: str
    asked: Asked
    requester: Principal


def ask(
    conn: sqlite3.Connection, question: Question, asking: Asking, cards: Cards, now: float
) -> tuple[Escalation | str, Signals]:
    """The whole of `Store.ask`, as one job."""
    turn, key = question.ref.turn, question.asked.key
    check_fence(conn, question.ref)
    tx = Transaction(conn, now, "")
    known = escalation_rows.by_key(conn, turn, key)
    if known is not None:
        return known.value, tx.signals()
    lane, session = conn.execute("SELECT lane, session FROM turn WHERE id = ?", (turn,)).fetchone()
    new = _new(conn, question, LaneKey(lane), SessionId(session), asking, now)
    why = objection(new, escalation_rows.live(conn, lane))
    if why is not None:
        return why, tx.signals()
    shown = card.ask(new, bytes(TOKEN_BYTES), now, cards.room(LaneKey(lane)))
    if isinstance(shown, TooLong):
        return shown.text, tx.signals()
    stored = escalation_rows.insert(conn, LaneKey(lane), key, new)
    escalation_rows.note(conn, stored.id, now, Trail.ASKED, question.requester)
    send_card(tx, stored)
    return new, tx.signals()


def _new(
    conn: sqlite3.Connection,
    question: Question,
    lane: LaneKey,
    session: SessionId,
    asking: Asking,
    now: float,
) -> Escalation:
    asked, address = question.asked, Address.of(lane)
    timeout_s = asking.timeout_s if asked.timeout_s is None else asked.timeout_s
    also = asking.also.get(asked.purpose, frozenset())
    return Escalation(
        number=escalation_rows.next_number(conn, address),
        kind=asked.kind,
        purpose=asked.purpose,
        question=asked.question,
        requester=question.requester,
        approvers=approvers_of(asked.purpose, also),
        address=address,
        session=session,
        turn=TurnId(question.ref.turn),
        tool_call_id=question.call,
        created=now,
        expires=now + timeout_s,
        on_timeout=asked.on_timeout,
        facts=asked.facts,
        options=asked.options,
        digest=digest_of(asked.facts),
        remind_after=asking.remind_after,
    )


def apply(conn: sqlite3.Connection, ref: TurnRef, key: str, now: float) -> bool:
    """The whole of `Store.apply`, as one job."""
    check_fence(conn, ref)
    stored = escalation_rows.by_key(conn, ref.turn, key)
    if stored is None:
        raise LookupError(f"turn {ref.turn} asked nothing under {key!r}")
    if stored.value.state not in SETTLED:
        return False
    happen(Transaction(conn, now, ""), stored, Applied(now))
    return stored.value.state is not State.CANCELLED


def next_due(conn: sqlite3.Connection) -> Due | None:
    """The question whose reminder or expiry comes first."""
    found = conn.execute(
        "SELECT id, due FROM escalation WHERE due IS NOT NULL ORDER BY due LIMIT 1"
    ).fetchone()
    return None if found is None else Due(*found)


@dataclass(frozen=True, slots=True)
class Spoilt:
    """A lane of which something cannot be read."""

    lane: LaneKey
    error: Unreadable


def time_came(conn: sqlite3.Connection, due: Due, now: float, drift_s: float) -> Signals | Spoilt:
    """Take a question's timer away and tell it. Where it cannot be read the timer goes all the
    same, or it would be due for ever."""
    tx = Transaction(conn, now, "")
    found = conn.execute(
        "UPDATE escalation SET due = NULL WHERE id = ? AND due = ? RETURNING lane",
        (due.escalation, due.due),
    ).fetchone()
    if found is None:
        return tx.signals()  # it was set anew, or decided
    try:
        stored = escalation_rows.by_id(conn, due.escalation)
    except Unreadable as error:
        return Spoilt(LaneKey(found[0]), error)
    if stored is not None:
        happen(tx, stored, TimeCame(now, drift_s))
    return tx.signals()


def reopen(
    conn: sqlite3.Connection, platform: PlatformName, now: float, damage: Damage
) -> Signals:
    """The whole of `Store.reopen`, as one job. What cannot be read is left where it is."""
    tx = Transaction(conn, now, "")
    ids = conn.execute(
        "SELECT id, lane FROM escalation WHERE state <> 'applied' AND lane >= ? AND lane < ? "
        "ORDER BY id",
        (f"{platform}|", f"{platform}}}"),
    ).fetchall()
    for id_, lane in ids:
        try:
            stored = escalation_rows.by_id(conn, id_)
            if stored is not None:
                happen(tx, stored, Restarted(now))
        except Unreadable as error:
            damage.note(LaneKey(lane), error)
    return tx.signals()
