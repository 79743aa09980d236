"""`SqliteStore`: the `Store` port on one SQLite file in a locked data directory."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from adapters.sqlite import (
    archive,
    asking,
    budgets,
    intake,
    judging,
    outbox,
    overview,
    session_rows,
    turns,
    upkeep,
)
from adapters.sqlite.asking import Spoilt
from adapters.sqlite.cards import Cards
from adapters.sqlite.children import SqliteChildren
from adapters.sqlite.damage import Damage
from adapters.sqlite.database import FILE_NAME, LOG_NAME, open_database, open_reader
from adapters.sqlite.gates import SqliteGates
from adapters.sqlite.lane_rows import put_meta
from adapters.sqlite.locking import lock
from adapters.sqlite.people import SqlitePeople
from adapters.sqlite.syncer import Syncer
from adapters.sqlite.writer import Writer
from core.agent.steps import Started, StepWrite
from core.errors import UserError
from core.escalations.desk import Asked
from core.escalations.record import Escalation
from core.goals.contract import Budget
from core.goals.events import Word
from core.messages import Ack, LaneKey, Outbound, PlatformName, Principal, SessionId
from core.ports import Clock, Sent, Usage
from core.sessions.arrivals import Arrival, Relocation
from core.sessions.conversation import ChatFact, Conversation, Place, Question
from core.sessions.facts import House, Overview, SessionFact, workspace_key
from core.sessions.lane import Rest
from core.sessions.outgoing import CardFacts, Outgoing
from core.sessions.ports import (
    Begun,
    CallUsage,
    CapReached,
    Due,
    Ending,
    Estimate,
    OpenJudgement,
    Reserved,
    Signals,
    Steered,
    Timer,
    TurnRef,
    Unfinished,
    UsageOf,
)
from core.splitting import Room
from core.transcript import Entry

T = TypeVar("T")
RESERVE_NAME = "reserve.bin"
META = "SELECT value FROM state_meta WHERE key = ?"


class SqliteStore:
    """Everything durable, in `folder`. Open with `open`, end with `close`.

    `run` names this start; posts made by it carry the name. `goal_defaults` are the limits of
    new goals, `house` is what else the settings offer. `sync` "OFF" waits for the disk nowhere;
    only for tests, which cut no power. `rooms` is how much a message of each platform holds, set
    once these are there.
    """

    def __init__(
        self,
        folder: Path,
        *,
        clock: Clock,
        run: str,
        goal_defaults: Budget | None = None,
        house: House | None = None,
        sync: str = "FULL",
    ) -> None:
        self._folder = folder
        self._path = folder / FILE_NAME
        self._clock = clock
        self.run = run
        self._offers = intake.Offers(goal_defaults or Budget(), house or House())
        self._sync = sync
        syncer = Syncer(folder / LOG_NAME) if sync == "FULL" else None
        self._writer = Writer(self._connect, folder / RESERVE_NAME, syncer)
        self._reader: sqlite3.Connection | None = None
        self._lock: int | None = None
        self._opened: sqlite3.Connection | None = None
        self._damage = Damage()
        self._key = os.urandom(32)
        self.rooms: Mapping[PlatformName, Room] = {}
        self.people = SqlitePeople(self._read, self._writer.submit)
        self.gates = SqliteGates(self._read, self._read_of, self._writer.submit)
        self.children = SqliteChildren(self._write_of, clock)

    def _connect(self) -> sqlite3.Connection:
        assert self._opened is not None  # noqa: S101 - `open` runs first
        return self._opened

    async def open(self) -> None:
        """Lock the folder, open the file and bring its schema up to date.

        Raises UserError when the folder cannot be used, another process holds it, or the file
        is damaged; then nothing is held.
        """
        await asyncio.to_thread(self._open)
        self._writer.start()

    def _open(self) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = lock(self._folder)
        except OSError as error:
            raise UserError(
                f"Cannot use the data folder {self._folder}: {error.strerror}. Give it the rights "
                "to be written, or name another one with --data."
            ) from error
        try:
            self._opened = open_database(self._path, waits=self._sync == "FULL")
            self._reader = open_reader(self._path)
        except UserError:
            os.close(self._lock)
            self._lock = None
            raise

    async def close(self) -> None:
        """Finish what was submitted and give the folder back; idempotent."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        await self._writer.close()  # the last connection to close folds the WAL into the file
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _read(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Read one state of it all, whatever is committed meanwhile, on the caller's thread: no
        reader waits for a writer here, and a hop to another thread takes ten times as long as the
        rows of a lane."""
        assert self._reader is not None  # noqa: S101 - `open` runs first
        self._reader.execute("BEGIN")
        try:
            return job(self._reader)
        finally:
            if self._reader.in_transaction:
                self._reader.execute("COMMIT")

    def _read_of(self, lane: LaneKey, job: Callable[[sqlite3.Connection], T]) -> T:
        """Read one lane's rows. Raises DamagedLane."""
        with self._damage.of(lane):
            return self._read(job)

    async def _write_of(
        self, lane: LaneKey, job: Callable[[sqlite3.Connection], T], *, safe: bool = True
    ) -> T:
        """Write one lane's rows. Raises DamagedLane."""
        with self._damage.of(lane):
            return await self._writer.submit(job, safe=safe)

    def offer(self, goal_defaults: Budget) -> None:
        """Give new goals other limits from now on."""
        self._offers = replace(self._offers, defaults=goal_defaults)

    async def accept(
        self,
        arrivals: Sequence[Arrival | Relocation],
        *,
        cursor: tuple[str, str] | None,
        now: float,
        early: Callable[[Signals], None] | None = None,
    ) -> tuple[tuple[Ack, ...], Signals]:
        """See `Store.accept`."""
        return await self._writer.submit(
            lambda conn: intake.accept(conn, arrivals, cursor, now, self._offers),
            early=None if early is None else lambda taken: early(taken[1]),
        )

    async def cursor(self, source: str) -> str | None:
        """See `Store.cursor`."""
        return self._read(
            lambda conn: _one(conn, "SELECT pos FROM cursor WHERE source = ?", source)
        )

    async def begin(
        self, lane: LaneKey, *, now: float, collect: bool
    ) -> tuple[Begun | Rest, Signals]:
        """See `Store.begin`."""
        return await self._write_of(
            lane, lambda conn: turns.begin(conn, lane, now, collect=collect), safe=False
        )

    async def record(
        self,
        ref: TurnRef,
        writes: Sequence[StepWrite],
        *,
        spent: Sequence[CallUsage] = (),
        claim: Sequence[int] = (),
    ) -> None:
        """See `Store.record`."""
        what = turns.Recording(writes, spent, claim, self._clock.now())
        starts = any(isinstance(write, Started) for write in writes)
        await self._writer.submit(lambda conn: turns.record(conn, ref, what), safe=starts)

    async def steered(self, ref: TurnRef) -> tuple[Steered, ...]:
        """See `Store.steered`."""
        return self._read(lambda conn: turns.steered(conn, ref))

    async def reserve(
        self,
        ref: TurnRef,
        model: str,
        estimate: Estimate,
        *,
        seconds: float,
        purpose: str = "agent",
    ) -> Reserved | CapReached | None:
        """See `Store.reserve`; the writer is asked only where there are caps."""
        if not self._read(lambda conn: turns.capped(conn, ref)):
            return None
        now = self._clock.now()
        return await self._writer.submit(
            lambda conn: turns.reserve(conn, ref, (purpose, model), estimate, seconds, now)
        )

    async def settle(self, reservation: int, usage: Usage) -> None:
        """See `Store.settle`."""
        await self._writer.submit(
            lambda conn: budgets.settle(conn, reservation, usage), safe=False
        )

    async def end_turn(
        self, ref: TurnRef, ending: Ending, *, now: float, collect: bool
    ) -> tuple[Begun | Rest, Signals]:
        """See `Store.end_turn`."""
        gates, way = self._offers.house.gates, turns.Leaving(now, collect)
        return await self._write_of(
            ref.lane,
            lambda conn: turns.end_turn(conn, ref, ending, gates, way=way),
            safe=False,
        )

    async def keep_prefix(self, session: SessionId, prefix: str) -> str:
        """See `Store.keep_prefix`."""
        job = partial(session_rows.keep_prefix, session=session, prefix=prefix)
        return await self._writer.submit(job, safe=False)

    async def history(self, session: SessionId) -> tuple[Entry, ...]:
        """See `Store.history`."""
        return self._read(lambda conn: session_rows.history(conn, session))

    async def open_judgement(self, lane: LaneKey) -> OpenJudgement | None:
        """See `Store.open_judgement`."""
        return self._read_of(lane, lambda conn: judging.open_judgement(conn, lane))

    async def reserve_verdict(
        self, lane: LaneKey, asked: OpenJudgement, estimate: Estimate, *, now: float
    ) -> tuple[Reserved | CapReached | None, Signals]:
        """See `Store.reserve_verdict`."""
        return await self._write_of(
            lane, lambda conn: judging.reserve(conn, lane, asked, estimate, now)
        )

    async def judged(
        self, lane: LaneKey, asked: OpenJudgement, word: Word, spent: UsageOf | None, *, now: float
    ) -> Signals:
        """See `Store.judged`."""
        return await self._write_of(
            lane, lambda conn: judging.judged(conn, lane, asked, word, spent, now)
        )

    async def enter_session(self, lane: LaneKey) -> Signals:
        """See `Store.enter_session`."""
        return await self._write_of(
            lane, lambda conn: judging.enter_session(conn, lane, self._clock.now(), self.run)
        )

    async def card(self, lane: LaneKey) -> CardFacts | None:
        """See `Store.card`."""
        return self._read_of(lane, lambda conn: outbox.card(conn, lane))

    async def at_rest(self, lane: LaneKey) -> bool:
        """See `Store.at_rest`."""
        return self._read(lambda conn: upkeep.at_rest(conn, lane))

    async def unfinished(self) -> Unfinished:
        """See `Store.unfinished`."""
        return self._read(lambda conn: upkeep.unfinished(conn, self._damage))

    async def prune(self) -> bool:
        """See `Store.prune`."""
        now = self._clock.now()
        return await self._writer.submit(lambda conn: upkeep.prune(conn, now))

    async def next_timer(self) -> Timer | Due | None:
        """See `Store.next_timer`."""
        return self._read(judging.next_timer)

    async def fire(self, timer: Timer | Due, *, drift_s: float = 0.0) -> Signals:
        """See `Store.fire`."""
        now = self._clock.now()
        fired = await self._writer.submit(lambda conn: judging.fire(conn, timer, now, drift_s))
        if isinstance(fired, Spoilt):
            raise self._damage.note(fired.lane, fired.error)
        return fired

    async def reopen(self, platform: PlatformName) -> Signals:
        """See `Store.reopen`."""
        now = self._clock.now()
        job = partial(asking.reopen, platform=platform, now=now, damage=self._damage)
        return await self._writer.submit(job)

    async def ask(
        self, ref: TurnRef, call: str, asked: Asked, requester: Principal
    ) -> tuple[Escalation | str, Signals]:
        """See `Store.ask`."""
        what, rules = asking.Question(ref, call, asked, requester), self._offers.house.asking
        now, cards = self._clock.now(), self._cards()
        return await self._write_of(ref.lane, lambda db: asking.ask(db, what, rules, cards, now))

    async def apply(self, ref: TurnRef, key: str) -> bool:
        """See `Store.apply`."""
        now = self._clock.now()
        return await self._write_of(ref.lane, lambda conn: asking.apply(conn, ref, key, now))

    def _cards(self) -> Cards:
        return Cards(self._key, self.rooms)

    async def next_outgoing(self, lane: LaneKey, *, now: float) -> Outgoing | None:
        """See `Store.next_outgoing`."""
        job = partial(outbox.next_outgoing, lane=lane, now=now, cards=self._cards())
        return await self._write_of(lane, job)

    async def sent(self, outgoing: Outgoing, sent: Sent) -> tuple[bool, Signals]:
        """See `Store.sent`."""
        now = self._clock.now()
        job = partial(outbox.sent, out=outgoing, sent=sent, now=now)
        return await self._writer.submit(job, safe=False)

    async def unsent(self, outgoing: Outgoing, *, doubtful: bool) -> None:
        """See `Store.unsent`."""
        await self._writer.submit(lambda conn: outbox.unsent(conn, outgoing.id, doubtful=doubtful))

    async def dead(self, outgoing: Outgoing, reason: str) -> Signals:
        """See `Store.dead`."""
        now = self._clock.now()
        return await self._writer.submit(lambda conn: outbox.dead(conn, outgoing, reason, now))

    async def post(self, lane: LaneKey, turn: int, key: str, what: Outbound) -> Signals:
        """See `Store.post`."""
        now = self._clock.now()
        return await self._writer.submit(lambda conn: outbox.post(conn, turn, key, what, now))

    async def meta(self, key: str) -> str | None:
        """See `Store.meta`."""
        return self._read(lambda conn: _one(conn, META, key))

    async def put_meta(self, key: str, value: str) -> None:
        """See `Store.put_meta`."""
        await self._writer.submit(lambda conn: put_meta(conn, key, value))

    def bound(self, lane: LaneKey) -> str:
        """The folder that `/workspace` bound a lane to, "" for none."""
        key = workspace_key(lane)
        return self._read(lambda conn: _one(conn, META, key) or "")

    def overview(self) -> Overview:
        """The whole store in a few numbers."""
        return self._read(overview.overview)

    def sessions(self, limit: int) -> tuple[SessionFact, ...]:
        """The sessions of all lanes, newest first."""
        return self._read(lambda conn: overview.all_sessions(conn, limit))

    async def conversation(
        self, lane: LaneKey, *, before: Place | None = None, limit: int = 200
    ) -> Conversation:
        """See `Store.conversation`."""
        return self._read(lambda conn: archive.conversation(conn, lane, before, limit))

    async def chats(self, platform: PlatformName) -> tuple[ChatFact, ...]:
        """See `Store.chats`."""
        return self._read(lambda conn: archive.chats(conn, platform))

    async def questions(self, lane: LaneKey) -> tuple[Question, ...]:
        """See `Archive.questions`."""
        return self._read(lambda conn: archive.questions(conn, lane))


def _one(conn: sqlite3.Connection, sql: str, key: object) -> str | None:
    found = conn.execute(sql, (key,)).fetchone()
    return None if found is None else str(found[0])
