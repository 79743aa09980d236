"""The accept transaction: rows in order, commands in effect, the cursor moved."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from adapters.sqlite import access, answers, gates, overview
from adapters.sqlite.escalations import Told
from adapters.sqlite.lane_rows import insert_row, put_meta
from adapters.sqlite.relocation import relocate
from adapters.sqlite.transaction import Transaction
from core.escalations.routing import Scene
from core.gates.gate import GateEvent
from core.gates.wanted import ChatGates
from core.goals.contract import Budget, SetGoal
from core.messages import (
    Ack,
    Address,
    Duplicate,
    Handled,
    LaneKey,
    Queued,
    Refused,
    Say,
    SessionId,
)
from core.pairing import Book
from core.people import Refusal
from core.sessions.arrivals import Arrival, Commanded, Pushed, Relocation, Said
from core.sessions.control import obey
from core.sessions.denial import Denied
from core.sessions.facts import (
    House,
    Order,
    SessionFact,
    Spent,
    Used,
    model_key,
    workspace_key,
)
from core.sessions.lane import Busy, Idle, Lane, Prio, Row, RowKind, Spoke
from core.sessions.machine import QUEUE_FULL
from core.sessions.ports import Signals

SPLIT_WAIT_S = 1.0
"""How long a text of the platform's full length waits for its rest."""


@dataclass(frozen=True, slots=True)
class Offers:
    """What the settings give to commands: the limits of new goals, and the rest."""

    defaults: Budget
    house: House


def accept(
    conn: sqlite3.Connection,
    arrivals: Sequence[Arrival | Relocation],
    cursor: tuple[str, str] | None,
    now: float,
    offers: Offers,
) -> tuple[tuple[Ack, ...], Signals]:
    """The whole of `Store.accept`, as one job."""
    tx = Transaction(conn, now, "")
    acks: list[Ack] = []
    for arrival in arrivals:
        match arrival:
            case Relocation():
                acks.append(relocate(tx, arrival))
            case Arrival(what=Said() as said):
                acks.append(answers.hear(tx, arrival, said) or _said(tx, arrival, said))
            case Arrival(what=Pushed() as pushed):
                acks.append(answers.press(tx, arrival, pushed))
            case Arrival(what=Commanded() as commanded):
                acks.append(_commanded(tx, arrival, commanded, offers))
    if cursor is not None:
        conn.execute(
            "INSERT INTO cursor (source, pos) VALUES (?, ?) "
            "ON CONFLICT (source) DO UPDATE SET pos = excluded.pos",
            cursor,
        )
    return tuple(acks), tx.signals()


def _said(tx: Transaction, arrival: Arrival, said: Said) -> Ack:
    head = partial(
        Row,
        kind=RowKind.MESSAGE,
        prio=Prio.PERSON,
        principal=arrival.principal,
        not_before=tx.now + SPLIT_WAIT_S if said.more else 0.0,
        more=said.more,
        steer=said.busy is Busy.STEER,
    )
    seq = insert_row(tx.conn, arrival.lane, arrival.dedupe, head(seq=0), said.payload, tx.now)
    if seq is None:
        return Duplicate()
    row = head(seq=seq)
    before = tx.open_lane(arrival.lane, but=seq)
    tx.key = f"in:{seq}"
    tx.posts = 0
    behind = len(before.people) + (0 if isinstance(before.phase, Idle) else 1)
    after = tx.advance(before, Spoke(row, said.busy))
    return Queued(behind) if row in after.waiting else Refused(QUEUE_FULL)


def _commanded(tx: Transaction, arrival: Arrival, commanded: Commanded, offers: Offers) -> Ack:
    row = Row(seq=0, kind=RowKind.CONTROL, prio=Prio.PERSON, principal=arrival.principal)
    line = commanded.line
    payload = {"name": line.name, "argument": line.argument}
    seq = insert_row(
        tx.conn, arrival.lane, arrival.dedupe, row, dict(payload), tx.now, state="done"
    )
    if seq is None:
        return Duplicate()
    _begin(tx, seq)
    lane = tx.open_lane(arrival.lane)
    order = Order(
        seq=seq,
        by=arrival.principal,
        line=line,
        now=tx.now,
        sent_at=commanded.sent_at,
        defaults=offers.defaults,
    )
    after, effects = obey(lane, order, SqlFacts(tx.conn, lane, offers.house, tx.now))
    tx.apply(lane, after, effects)
    if any(isinstance(effect, Denied) for effect in effects):
        access.refuse(tx.conn, [_refusal(arrival)], tx.now)
    if tx.told is not None:
        return _answered(tx, arrival.lane, tx.told)
    return Handled(tx.said[-1] if tx.said else "")


def _begin(tx: Transaction, seq: int) -> None:
    """Forget what the commands before it have said."""
    tx.key, tx.posts, tx.said, tx.told = f"in:{seq}", 0, [], None


def _answered(tx: Transaction, lane: LaneKey, told: Told) -> Ack:
    """A command that answers a question; why it was not taken is for who gave it alone."""
    if not told.counted:
        return Refused(told.text)
    tx.post(lane, Say(told.text))
    return Handled(told.text)


def _refusal(arrival: Arrival) -> Refusal:
    """A known person asked for what only others may do."""
    address = Address.of(arrival.lane)
    return Refusal(
        platform=address.platform,
        person=arrival.principal.id,
        name=arrival.principal.name,
        chat=address.chat,
        lane=arrival.lane,
        what="command",
    )


@dataclass(frozen=True, slots=True)
class SqlFacts:
    """Answers a command's questions inside its transaction."""

    conn: sqlite3.Connection
    lane: Lane
    house: House
    now: float

    def spent(self, goal: int) -> Spent:
        """The usage rows of a goal, summed."""
        return goal_spent(self.conn, goal)

    def used(self) -> Used:
        """The usage rows by model."""
        return overview.used(self.conn, self.lane, self.now)

    def sessions(self) -> tuple[SessionFact, ...]:
        """The lane's sessions, newest first."""
        return overview.sessions(self.conn, self.lane.key)

    def all_sessions(self) -> tuple[SessionFact, ...]:
        """The sessions of all lanes, newest first."""
        return overview.all_sessions(self.conn)

    def session(self, number: int) -> SessionFact | None:
        """A session of any lane."""
        return overview.session(self.conn, number)

    def model(self) -> str:
        """The model chosen for the lane's session."""
        return _kept(self.conn, model_key(self.lane.session))

    def workspace(self) -> str:
        """The folder that the lane was bound to."""
        return _kept(self.conn, workspace_key(self.lane.key))

    def chat_gates(self) -> ChatGates:
        """The gates that were set in the lane's chat."""
        return gates.of_chat(self.conn, self.lane.key)

    def gate_events(self) -> tuple[GateEvent, ...]:
        """What gates did in the lane's newest turn."""
        return gates.events_of(self.conn, self.lane.key)

    def book(self) -> Book:
        """All of pairing."""
        return access.load_book(self.conn)

    def draft(self) -> SetGoal | None:
        """The contract that was drafted last in the lane's session."""
        return load_draft(self.conn, self.lane.session)

    def scene(self) -> Scene:
        """What people were asked in the lane's chat and thread."""
        return answers.scene_of(self.conn, Address.of(self.lane.key))

    def asked(self) -> bool:
        """Whether anything that the lane's turns asked was not told to them yet."""
        found = self.conn.execute(
            "SELECT 1 FROM escalation WHERE lane = ? AND state NOT IN ('applied', 'cancelled') "
            "LIMIT 1",
            (self.lane.key,),
        ).fetchone()
        return found is not None


def _kept(conn: sqlite3.Connection, key: str) -> str:
    found = conn.execute("SELECT value FROM state_meta WHERE key = ?", (key,)).fetchone()
    return found[0] if found else ""


def goal_spent(conn: sqlite3.Connection, goal: int) -> Spent:
    """Tokens and cost of a goal, reservations included."""
    tokens, cost = conn.execute(
        "SELECT coalesce(sum(input + output), 0), coalesce(sum(cost), 0.0) "
        "FROM usage WHERE goal = ?",
        (goal,),
    ).fetchone()
    return Spent(tokens, cost)


def save_draft(conn: sqlite3.Connection, session: SessionId, draft: SetGoal) -> None:
    """Keep a drafted goal until it is replaced."""
    stored = json.dumps([draft.text, draft.contract], ensure_ascii=False)
    put_meta(conn, f"draft:{session}", stored)


def load_draft(conn: sqlite3.Connection, session: SessionId) -> SetGoal | None:
    """The goal that was drafted last."""
    found = conn.execute(
        "SELECT value FROM state_meta WHERE key = ?", (f"draft:{session}",)
    ).fetchone()
    if found is None:
        return None
    text, contract = json.loads(found[0])
    return SetGoal(text, tuple((key, value) for key, value in contract))
