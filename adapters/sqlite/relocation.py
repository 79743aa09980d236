"""A chat got a new id: all that is kept under its lane's key is kept under another one."""

from __future__ import annotations

from dataclasses import replace

from adapters.sqlite import escalation_rows
from adapters.sqlite.codec import Unreadable
from adapters.sqlite.escalation_rows import Stored
from adapters.sqlite.happening import DECISION, REMINDER, send_card
from adapters.sqlite.lane_rows import insert_row, load_lane
from adapters.sqlite.transaction import Transaction
from core.escalations.record import State, relocated
from core.gates.wanted import gates_key
from core.messages import Ack, Address, Duplicate, Handled, LaneKey, Principal, Role, Say
from core.sessions.arrivals import Relocation
from core.sessions.facts import workspace_key
from core.sessions.lane import Finish, Idle, Lane, Outcome, Prio, Row, RowKind, SetAside

CUT_OFF = (
    "⚠ This chat got a new id while a turn was running, and the turn was cut off. "
    "Send your last message again."
)

_BY_LANE = ("inbox", "outbox", "session", "turn")
_NOBODY = Principal("", "", Role.MEMBER)


def relocate(tx: Transaction, move: Relocation) -> Ack:
    """Give a lane another key. Where the new key is in use already, its session stays current
    and the old lane's messages and sessions join it."""
    marker = Row(seq=0, kind=RowKind.CONTROL, prio=Prio.PERSON, principal=_NOBODY)
    payload = {"old": move.old, "new": move.new}
    seq = insert_row(tx.conn, move.new, move.dedupe, marker, dict(payload), tx.now, state="done")
    if seq is None:
        return Duplicate()
    tx.key, tx.posts = f"in:{seq}", 0
    old = load_lane(tx.conn, move.old)
    if old is not None:
        if tx.conn.execute("SELECT 1 FROM lane WHERE key = ?", (move.new,)).fetchone():
            _join(tx, move, old)
        else:
            _rename(tx, move, old)
    _move_questions(tx, move)
    for table in _BY_LANE:
        tx.conn.execute(
            f"UPDATE {table} SET lane = ? WHERE lane = ?",  # noqa: S608 - names are our own
            (move.new, move.old),
        )
    for kept in (workspace_key, gates_key):
        tx.conn.execute(
            "UPDATE OR IGNORE state_meta SET key = ? WHERE key = ?",
            (kept(move.new), kept(move.old)),
        )
    tx.wake.add(move.new)
    tx.deliver.add(move.new)
    return Handled("")


def _rename(tx: Transaction, move: Relocation, old: Lane) -> None:
    """The lane lives on. Who works on its turn knows it by the old key, so another attempt is
    made under the new one, as after a restart."""
    tx.conn.execute("UPDATE lane SET key = ? WHERE key = ?", (move.new, move.old))
    tx.conn.execute("UPDATE timer SET lane = ? WHERE lane = ?", (move.new, move.old))
    tx.timers = True
    if not isinstance(old.phase, Idle):
        turn = old.phase.turn
        tx.conn.execute("UPDATE turn SET attempt = attempt + 1 WHERE id = ?", (turn.id,))
        tx.cancel.append((move.old, turn.id))


def _join(tx: Transaction, move: Relocation, old: Lane) -> None:
    """Only one turn can run in the new lane, and one goal: the old lane's are left behind in
    its session, which `/resume` goes back to. What waits for a person goes on by its answer."""
    if old.parked is not None:
        tx.apply(old, replace(old, parked=None), (SetAside(old.parked),))
    if not isinstance(old.phase, Idle):
        turn = old.phase.turn
        tx.apply(old, old, (Finish(turn, Outcome.INTERRUPTED),))
        tx.cancel.append((move.old, turn.id))
        tx.post(move.new, Say(CUT_OFF))
    tx.conn.execute(
        "UPDATE inbox SET state = 'dropped' "
        "WHERE lane = ? AND state = 'ready' AND goal IS NOT NULL AND kind <> 'answer'",
        (move.old,),
    )
    tx.conn.execute("DELETE FROM timer WHERE lane = ?", (move.old,))
    tx.conn.execute("DELETE FROM lane WHERE key = ?", (move.old,))


def _move_questions(tx: Transaction, move: Relocation) -> None:
    """A lane has another key: its questions go with it. What is open is shown there anew, and
    what would change or point to a message of the old chat is dropped."""
    tx.conn.execute(
        "DELETE FROM outbox WHERE lane = ? AND shows IN (?, ?) AND state IN ('ready', 'sending')",
        (move.old, DECISION, REMINDER),
    )
    found = tx.conn.execute(
        "UPDATE escalation SET lane = ? WHERE lane = ? RETURNING id", (move.new, move.old)
    ).fetchall()
    for id_ in sorted(row[0] for row in found):
        _move_one(tx, id_, move.new)


def _move_one(tx: Transaction, id_: int, new: LaneKey) -> None:
    address = Address.of(new)
    try:
        stored = escalation_rows.by_id(tx.conn, id_)
    except Unreadable:
        return  # nobody finds it, there or here; it ends with its work
    if stored is None:
        return
    value = relocated(stored.value, address)
    if escalation_rows.taken(tx.conn, address, value.number, but=id_):
        value = replace(value, number=escalation_rows.next_number(tx.conn, address))
    stored = Stored(id_, new, value)
    escalation_rows.save(tx.conn, stored)
    if value.state is State.PENDING_SEND:
        escalation_rows.set_due(tx.conn, id_, None)
        tx.timers = True
        send_card(tx, stored)
