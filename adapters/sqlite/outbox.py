"""The outbox's jobs: only a lane's head is sent, and each send is marked before it starts."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from adapters.sqlite import codec, escalation_rows
from adapters.sqlite.cards import Cards, Made, Mark, made
from adapters.sqlite.codec import Unreadable
from adapters.sqlite.escalation_rows import Stored
from adapters.sqlite.happening import CARD, LOST, REMINDER, happen, send_card
from adapters.sqlite.intake import goal_spent
from adapters.sqlite.lane_rows import load_slot
from adapters.sqlite.transaction import Transaction
from adapters.sqlite.turns import lane_running
from core.escalations import texts
from core.escalations.card import TooLong
from core.escalations.events import CardSent, EscalationEvent, ReminderSent, SendFailed
from core.escalations.record import place
from core.messages import Address, LaneKey, Outbound, RemoteId, Say, TurnId
from core.ports import Sent
from core.sessions.outgoing import Amend, CardFacts, Outgoing
from core.sessions.ports import Signals

OPEN = "FROM outbox WHERE lane = ? AND state IN ('ready', 'sending')"


def post(conn: sqlite3.Connection, turn: int, key: str, what: Outbound, now: float) -> Signals:
    """The whole of `Store.post`, as one job."""
    here = lane_running(conn, turn)  # not the caller's when it has moved meanwhile
    tx = Transaction(conn, now, "")
    tx.post(here, what, key=f"turn:{turn}:{key}")
    return tx.signals()


def next_outgoing(
    conn: sqlite3.Connection, lane: LaneKey, now: float, cards: Cards
) -> Outgoing | None:
    """Mark the head as being sent. A head that is found in that state was cut by a restart:
    nobody knows whether it arrived."""
    while True:
        found = conn.execute(
            "SELECT id, body, attempts, doubtful, first_try, turn, card, last_part, state, "
            f"escalation, shows {OPEN} ORDER BY id LIMIT 1",
            (lane,),
        ).fetchone()
        if found is None:
            return None
        id_, body, attempts, doubtful, first_try, turn, card_, last_part, state, asks, shows = (
            found
        )
        what: Outbound | Amend | None = codec.load_outbound(body)
        if asks is not None and what is not None:
            what = _make(conn, Mark(id_, lane, asks, shows, what), cards, now)
        if what is None:
            conn.execute("DELETE FROM outbox WHERE id = ?", (id_,))
            continue
        doubtful = bool(doubtful) or state == "sending"
        conn.execute(
            "UPDATE outbox SET state = 'sending', attempts = attempts + 1, doubtful = ?, "
            "first_try = ? WHERE id = ?",
            (doubtful, first_try or now, id_),
        )
        return Outgoing(
            id=id_,
            lane=lane,
            what=what,
            attempts=attempts + 1,
            doubtful=doubtful,
            first_try=first_try or now,
            turn=None if turn is None else TurnId(turn),
            card=bool(card_),
            last_part=bool(last_part),
        )


def _make(
    conn: sqlite3.Connection, mark: Mark, cards: Cards, now: float
) -> Outbound | Amend | None:
    """The message of a mark, None where there is nothing to send any more."""
    made_ = made(conn, mark, cards, now)
    if isinstance(made_, TooLong):
        made_ = _lost(conn, mark, made_.text, now)
    if made_ is None:
        return None
    body = codec.dump_outbound(made_.kept)
    conn.execute("UPDATE outbox SET body = ? WHERE id = ?", (body, mark.row))
    return made_.sent


def _lost(conn: sqlite3.Connection, mark: Mark, why: str, now: float) -> Made | None:
    """The chat takes less than when this was asked, so the card would not show all of it: the
    chat is told that, and so is the work once that is sent."""
    stored = escalation_rows.by_id(conn, mark.escalation)
    if stored is None:
        return None
    tx = Transaction(conn, now, "")
    after, _ = happen(tx, stored, SendFailed(now, why))
    conn.execute("UPDATE outbox SET shows = ? WHERE id = ?", (LOST, mark.row))
    say = Say(texts.decision(after.value))
    return Made(say, say)


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


def sent(conn: sqlite3.Connection, out: Outgoing, sent: Sent, now: float) -> tuple[bool, Signals]:
    """It arrived; whether more is to be sent."""
    tx = Transaction(conn, now, "")
    row = conn.execute(
        "UPDATE outbox SET state = 'sent', remote_id = ? WHERE id = ? RETURNING escalation, shows",
        (sent.remote, out.id),
    ).fetchone()
    if row is not None and row[0] is not None:
        arrived: dict[str, EscalationEvent] = {
            CARD: CardSent(sent.remote, sent.at),
            REMINDER: ReminderSent(sent.remote),
        }
        _of_an_escalation(tx, out, row, arrived)
    more = conn.execute(f"SELECT 1 {OPEN} LIMIT 1", (out.lane,)).fetchone() is not None
    return more, tx.signals()


def _stored(conn: sqlite3.Connection, id_: int) -> Stored | None:
    try:
        return escalation_rows.by_id(conn, id_)
    except Unreadable:
        return None  # what was sent was sent, whatever of


def _of_an_escalation(
    tx: Transaction, out: Outgoing, row: tuple[int, str], events: Mapping[str, EscalationEvent]
) -> None:
    """A question to a person hears what became of what was sent of it; `row` says of which one,
    and what it showed."""
    id_, shows = row
    stored = _stored(tx.conn, id_)
    if stored is None:
        return
    if shows == LOST:
        tx.wake.add(stored.lane)
    elif _left(out, stored):
        _again(tx, stored, shows)
    elif (event := events.get(shows)) is not None:
        happen(tx, stored, event)


def _left(out: Outgoing, stored: Stored) -> bool:
    """Whether the chat has got another id since that was begun to be sent."""
    return place(Address.of(out.lane)) != place(stored.value.address)


def _again(tx: Transaction, stored: Stored, shows: str) -> None:
    """The card went to where nobody may answer it."""
    if shows == CARD and stored.value.live and not stored.value.copies:
        send_card(tx, stored)


def unsent(conn: sqlite3.Connection, id_: int, *, doubtful: bool) -> None:
    """It did not arrive, or (doubtful) nobody knows."""
    conn.execute(
        "UPDATE outbox SET state = 'ready', doubtful = max(doubtful, ?) WHERE id = ?",
        (doubtful, id_),
    )


def dead(conn: sqlite3.Connection, out: Outgoing, reason: str, now: float) -> Signals:
    """It never will arrive; the next row moves up. An edit that fails is no loss to anybody."""
    tx = Transaction(conn, now, "")
    row = conn.execute(
        "UPDATE outbox SET state = 'dead' WHERE id = ? RETURNING escalation, shows", (out.id,)
    ).fetchone()
    if row is not None and row[0] is not None:
        _of_an_escalation(tx, out, row, {CARD: SendFailed(now, reason)})
    if not isinstance(out.what, Amend):
        conn.execute(
            "INSERT INTO audit (at, lane, what, detail) VALUES (?, ?, 'undeliverable', ?)",
            (now, out.lane, f"outbox {out.id}: {reason}"),
        )
    return tx.signals()
