"""Presses and messages that may answer what a person was asked, in the accept transaction."""

from __future__ import annotations

import sqlite3

from adapters.sqlite import escalation_rows, escalations
from adapters.sqlite.archive import PRESS
from adapters.sqlite.escalation_rows import Stored, place_of
from adapters.sqlite.lane_rows import insert_row
from adapters.sqlite.transaction import Transaction
from core.escalations import routing, token
from core.escalations.record import NO_MESSAGE, place
from core.escalations.routing import NotAnAnswer, Push, Scene
from core.messages import Ack, Address, Duplicate, Handled, Refused, RemoteId, Say
from core.sessions.arrivals import Arrival, Pushed, Said
from core.sessions.lane import Prio, Row, RowKind
from core.transcript import Json


def scene_of(conn: sqlite3.Connection, address: Address) -> Scene:
    """What people were asked in a chat and thread."""
    return _scene(conn, address, escalation_rows.known(conn, address))


def _scene(
    conn: sqlite3.Connection,
    address: Address,
    known: list[Stored],
    *,
    replies_to: RemoteId = NO_MESSAGE,
) -> Scene:
    """The questions of a place among those of its chat, and the ones that a reply is to."""
    here = place(address)
    found = tuple(
        one.value
        for one in known
        if place(one.value.address) == here or (replies_to and one.value.shown_in(replies_to))
    )
    asked = any(one.live for one in found)
    last = _newest(conn, place_of(address)) if asked else NO_MESSAGE
    return Scene(found, last)


def _newest(conn: sqlite3.Connection, place: str) -> RemoteId:
    """The bot's last message in a chat and thread, "" while one is on its way or may be."""
    within = (f"{place}|", f"{place}}}")
    busy = conn.execute(
        "SELECT EXISTS (SELECT 1 FROM lane WHERE key >= ?1 AND key < ?2 AND phase <> 'idle') OR "
        "EXISTS (SELECT 1 FROM inbox WHERE lane >= ?1 AND lane < ?2 AND state = 'ready') OR "
        "EXISTS (SELECT 1 FROM outbox WHERE lane >= ?1 AND lane < ?2 "
        "AND state IN ('ready', 'sending') AND shows <> 'decision')",
        within,
    ).fetchone()
    if busy[0]:
        return NO_MESSAGE
    found = conn.execute(
        "SELECT remote_id FROM outbox WHERE id = (SELECT max((SELECT id FROM outbox "
        "WHERE lane = key AND state = 'sent' AND shows <> 'decision' ORDER BY id DESC LIMIT 1)) "
        "FROM lane WHERE key >= ? AND key < ?)",
        within,
    ).fetchone()
    return RemoteId(found[0]) if found else NO_MESSAGE


def press(tx: Transaction, arrival: Arrival, pushed: Pushed) -> Ack:
    """A press on a card's button."""
    if _consume(tx, arrival, {"name": PRESS, "argument": ""}) is None:
        return Duplicate()
    push = pushed.push
    found = routing.press(push, _pressed(tx.conn, push))
    told = escalations.decide(tx, found, push.by)
    return Handled(told.text) if told.counted else Refused(told.text)


def _pressed(conn: sqlite3.Connection, push: Push) -> Scene:
    """The place where it was pressed, and the card's question wherever that is asked."""
    known = _of(conn, push.address, push.remote)
    read = token.decode(push.data)
    named = escalation_rows.by_token(conn, token.hashed(read.token)) if read else None
    here = [one for one in known if place(one.value.address) == place(push.address)]
    if named is not None and all(one.id != named.id for one in here):
        here.append(named)
    return Scene(tuple(one.value for one in here))


def hear(tx: Transaction, arrival: Arrival, said: Said) -> Ack | None:
    """A message that may be an answer; None for one that is a message like any other, which a
    note may say in the chat."""
    words = said.words
    known = _of(tx.conn, words.address, words.replies_to) if words is not None else []
    if words is None or not known:
        return None
    if tx.conn.execute("SELECT 1 FROM inbox WHERE dedupe = ?", (arrival.dedupe,)).fetchone():
        return Duplicate()
    scene = _scene(tx.conn, words.address, known, replies_to=words.replies_to)
    found = routing.message(words, scene)
    if isinstance(found, NotAnAnswer):
        if found.note:
            tx.post(arrival.lane, Say(found.note), key=f"note:{arrival.dedupe}")
        return None
    seq = _consume(tx, arrival, dict(said.payload))
    told = escalations.decide(tx, found, words.by)
    if not told.counted:
        return Refused(told.text)
    tx.post(arrival.lane, Say(told.text), key=f"in:{seq}:told")
    return Handled(told.text)


def _of(conn: sqlite3.Connection, address: Address, remote: RemoteId) -> list[Stored]:
    """The questions of a chat that may be answered, and the one that a message shows."""
    known = escalation_rows.undecided(conn, address)
    if remote:
        known += escalation_rows.decided_and_shown(conn, address, remote)
    return known


def _consume(tx: Transaction, arrival: Arrival, payload: dict[str, Json]) -> int | None:
    """Keep what takes effect now and begins no turn; None where it was accepted before."""
    row = Row(seq=0, kind=RowKind.CONTROL, prio=Prio.PERSON, principal=arrival.principal)
    return insert_row(tx.conn, arrival.lane, arrival.dedupe, row, payload, tx.now, state="done")
