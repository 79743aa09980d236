"""One lane's part of a writer's job: advance the machine and carry its orders out.

No commit here; the writer commits what a job did, whole or not at all.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from adapters.sqlite import access, codec, escalations, posting, waiting
from adapters.sqlite.closing import close_turn
from adapters.sqlite.fetching import BUSY, fetch
from adapters.sqlite.lane_rows import (
    dump_principal,
    insert_row,
    load_lane,
    load_slot,
    new_session,
    open_lane,
    put_meta,
    save_lane,
)
from core.goals import machine as goals
from core.goals.codec import dump as dump_goal
from core.goals.events import Announce, TurnFailed, TurnFinished
from core.goals.goal import Goal
from core.goals.texts import counted
from core.messages import LaneKey, Outbound, Say, SessionId, TurnId
from core.pairing import Admit, Expel, Mistry, PairingChange, welcome
from core.sessions import machine
from core.sessions.lane import (
    Begin,
    CallJudge,
    CancelTurn,
    Decide,
    Done,
    Drop,
    Enqueue,
    Finish,
    Lane,
    LaneEffect,
    LaneEvent,
    Park,
    Post,
    Remember,
    Report,
    Rest,
    Row,
    RowKind,
    SessionEntered,
    SetAside,
    SwitchSession,
    Turn,
    Wake,
    WakeAt,
    Withdraw,
)
from core.sessions.ports import Signals, TurnRef
from core.transcript import User

ENDED = "the work that asked has ended"


@dataclass(slots=True)
class Transaction:
    """Gathers what one job does to lanes; `key` makes the keys of its posts unique.

    `begun` is the turn that an event began, `rest` the answer when there was none; `told` is what
    became of a command that answers a question.
    """

    conn: sqlite3.Connection
    now: float
    key: str
    begun: Turn | None = None
    rest: Rest | None = None
    switched: bool = False
    wake: set[LaneKey] = field(default_factory=set)
    cancel: list[tuple[LaneKey, TurnId]] = field(default_factory=list)
    judge: set[LaneKey] = field(default_factory=set)
    deliver: set[LaneKey] = field(default_factory=set)
    cards: set[LaneKey] = field(default_factory=set)
    timers: bool = False
    ended: set[TurnRef] = field(default_factory=set)
    told: escalations.Told | None = None
    posts: int = 0
    said: list[str] = field(default_factory=list)

    def lane(self, key: LaneKey) -> Lane | None:
        """The lane as it stands; None where there is none, or where its chat has moved away."""
        return load_lane(self.conn, key)

    def open_lane(self, key: LaneKey, *, but: int = 0) -> Lane:
        """The lane as it stands, less the row `but`; made where there is none."""
        return open_lane(self.conn, key, self.now, but=but)

    def advance(self, lane: Lane, event: LaneEvent) -> Lane:
        """Let an event happen to a lane and store all that follows."""
        after, effects = machine.advance(lane, event)
        return self.apply(lane, after, effects)

    def apply(self, before: Lane, after: Lane, effects: tuple[LaneEffect, ...]) -> Lane:
        """Store a change that the machine or a command made."""
        save_lane(self.conn, before, after)
        if before.slot != after.slot:
            self.cards.add(after.key)
        for effect in effects:
            self._do(after, effect)
        return after

    def signals(self) -> Signals:
        """What to do after the commit."""
        return Signals(
            frozenset(self.wake),
            tuple(self.cancel),
            frozenset(self.judge),
            frozenset(self.deliver),
            frozenset(self.cards),
            self.timers,
            frozenset(self.ended),
        )

    def _do(self, lane: Lane, effect: LaneEffect) -> None:
        match effect:
            case Post() | Decide():
                self._say(lane, effect)
            case Enqueue() | Drop() | Done():
                self._queue(lane, effect)
            case Begin(turn):
                self._begin(lane, turn)
            case Finish() | Park() | SetAside() | Withdraw() | Report():
                self._leave(lane, effect)
            case SwitchSession():
                self._switch(lane, effect)
            case Rest():
                self.rest = effect
            case WakeAt() | Remember() | Admit() | Expel() | Mistry():
                self._keep(lane, effect)
            case CancelTurn() | Wake() | CallJudge():
                self._signal(lane, effect)
            case _:
                assert_never(effect)

    def _say(self, lane: Lane, effect: Post | Decide) -> None:
        match effect:
            case Post(text, card, buttons):
                self.said.append(text)
                goal = lane.slot.goal if card else None
                self.post(lane.key, Say(text, buttons=buttons), card=goal)
            case Decide(found, by):
                self.told = escalations.decide(self, found, by)
            case _:
                assert_never(effect)

    def _queue(self, lane: Lane, effect: Enqueue | Drop | Done) -> None:
        match effect:
            case Enqueue():
                self._enqueue(lane, effect)
            case Drop(seqs):
                self._mark(seqs, "dropped")
            case Done(seqs):
                self._mark(seqs, "done")
            case _:
                assert_never(effect)

    def _mark(self, seqs: Sequence[int], state: str) -> None:
        self.conn.executemany(
            "UPDATE inbox SET state = ? WHERE seq = ?", [(state, seq) for seq in seqs]
        )

    def _leave(self, lane: Lane, effect: Finish | Park | SetAside | Withdraw | Report) -> None:
        match effect:
            case Finish(turn, outcome):
                asked = escalations.close(self, turn.id, ENDED)
                if asked or turn.kind is RowKind.ANSWER:
                    waiting.forget(self.conn, turn.id)
                close_turn(self.conn, turn, outcome)
            case Park(turn):
                waiting.park(self.conn, turn)
            case SetAside(turn):
                waiting.set_aside(self.conn, turn, escalations.notes(self.conn, turn.id))
            case Report(session, ended):
                self._report(lane, session, ended)
            case Withdraw(why, by, goal):
                escalations.withdraw(self, lane.key, why=why, by=by, goal=goal)
                self.ended.update(waiting.withdraw(self.conn, lane.key, goal))
            case _:
                assert_never(effect)

    def _report(self, lane: Lane, session: SessionId, ended: TurnFinished | TurnFailed) -> None:
        """Nothing of that goal may begin here, so of its orders only the words are carried out."""
        slot = load_slot(self.conn, session)
        after, orders = goals.advance(slot, ended)
        if after != slot:
            put_meta(self.conn, f"goal:{session}", dump_goal(after))
        for order in orders:
            if isinstance(order, Announce):
                self.post(lane.key, Say(order.text))

    def _keep(self, lane: Lane, effect: WakeAt | Remember | PairingChange) -> None:
        match effect:
            case WakeAt(due):
                self._wake_at(lane, due)
            case Remember(key, value):
                put_meta(self.conn, key, value)
            case _:
                self.pair(effect)

    def pair(self, change: PairingChange) -> None:
        """Store what came of an owner's order, and tell the person who was let in."""
        access.write(self.conn, change, self.now)
        if isinstance(change, Admit):
            knock = change.knock
            key = f"let-in:{knock.platform}:{knock.person}:{self.now}"
            self.post(knock.lane, Say(welcome(change.role)), key=key)

    def _signal(self, lane: Lane, effect: CancelTurn | Wake | CallJudge) -> None:
        match effect:
            case CancelTurn(turn):
                self.cancel.append((lane.key, turn))
            case Wake():
                self.wake.add(lane.key)
            case CallJudge():
                self.judge.add(lane.key)
            case _:
                assert_never(effect)

    def post(
        self,
        lane: LaneKey,
        what: Outbound,
        *,
        card: Goal | None = None,
        turn: TurnId | None = None,
        last_part: bool = True,
        key: str = "",
    ) -> None:
        """Queue something for the lane's chat, once per key; `card` is the goal whose status
        message it is."""
        if not key:
            key, self.posts = f"{self.key}:{self.posts}", self.posts + 1
        goal = card.id if card else None
        post = posting.Post(
            lane=lane, key=key, what=what, goal=goal, turn=turn, last_part=last_part
        )
        posting.insert(self.conn, post)
        self.deliver.add(lane)

    def _enqueue(self, lane: Lane, what: Enqueue) -> None:
        row = Row(
            seq=0,
            kind=what.kind,
            prio=what.prio,
            principal=what.principal,
            target=what.target,
            goal=what.goal,
            generation=what.generation,
            steer=what.steer,
        )
        insert_row(self.conn, lane.key, what.dedupe, row, what.payload, self.now)
        self.wake.add(lane.key)

    def _begin(self, lane: Lane, turn: Turn) -> None:
        self.begun = turn
        if turn.attempt > 1:
            # The turn will end once more; what is told then is not what is told now.
            self.key, self.posts = f"{self.key}:{turn.attempt}", 0
            self.conn.execute(
                "UPDATE turn SET attempt = ?, tries = ?, principal = ?, phase = 'begun' "
                "WHERE id = ?",
                (turn.attempt, turn.tries, dump_principal(turn.principal), turn.id),
            )
            return
        outside = turn.kind is RowKind.DRAFT  # of the session, which is told in its next turn
        told = () if outside else escalations.cancelled(self, turn.session)
        asked = self._inputs(lane.slot.active, turn)
        inputs = codec.dump_users([*map(User, told), *asked])
        self.conn.execute(
            "INSERT INTO turn (id, lane, session, kind, principal, goal, phase, attempt, tries, "
            "rows, inputs, began) VALUES (?, ?, ?, ?, ?, ?, 'begun', ?, ?, ?, ?, ?)",
            (
                turn.id,
                lane.key,
                turn.session,
                turn.kind.value,
                dump_principal(turn.principal),
                turn.goal,
                turn.attempt,
                turn.tries,
                json.dumps(turn.rows),
                inputs,
                self.now,
            ),
        )
        self.conn.executemany(
            "UPDATE inbox SET state = 'claimed', turn = ? WHERE seq = ?",
            [(turn.id, seq) for seq in turn.rows],
        )
        if turn.kind is RowKind.ANSWER:
            waiting.take_over(self.conn, turn.rows[0], turn.id)

    def _inputs(self, goal: Goal | None, turn: Turn) -> list[User]:
        """What the turn answers; an answer enters it only when its call has gone on."""
        if turn.kind is RowKind.ANSWER:
            return []
        inputs = []
        for seq in turn.rows:
            (payload,) = self.conn.execute(
                "SELECT payload FROM inbox WHERE seq = ?", (seq,)
            ).fetchone()
            inputs.append(codec.load_input(turn.kind, payload, seq, goal))
        return inputs

    def _switch(self, lane: Lane, switch: SwitchSession) -> None:
        self.conn.execute("UPDATE inbox SET state = 'done' WHERE seq = ?", (switch.row,))
        target = switch.target
        if target is None:
            target = new_session(self.conn, lane.key, self.now)
        elif not fetch(self.conn, target, lane.key, self.now):
            self.post(lane.key, Say(BUSY))
            return
        self.conn.execute("UPDATE lane SET session = ? WHERE key = ?", (target, lane.key))
        if switch.target is None:
            text = "✦ New session. The old one is kept: /sessions lists it, /resume goes back."
            self.post(lane.key, Say(text))
            return
        title, turns = self.conn.execute(
            "SELECT title, turns FROM session WHERE id = ?", (target,)
        ).fetchone()
        worked = counted(turns, "turn")
        self.post(lane.key, Say(f"✦ Back in session “{title or '(empty)'}” ({worked})."))
        self.advance(self.open_lane(lane.key), SessionEntered())

    def _wake_at(self, lane: Lane, due: float | None) -> None:
        self.timers = True
        goal = lane.slot.goal
        if due is None or goal is None:
            self.conn.execute("DELETE FROM timer WHERE lane = ?", (lane.key,))
            return
        self.conn.execute(
            "INSERT INTO timer (lane, due, goal, generation) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (lane) DO UPDATE SET due = excluded.due, goal = excluded.goal, "
            "generation = excluded.generation",
            (lane.key, due, goal.id, lane.slot.generation),
        )
