"""`SqliteStore`: the `Store` port on one SQLite file in a locked data directory."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from adapters.sqlite import archive, budgets, intake, judging, outbox, overview, turns, upkeep
from adapters.sqlite.children import SqliteChildren
from adapters.sqlite.codec import Unreadable
from adapters.sqlite.damage import Damage
from adapters.sqlite.database import FILE_NAME, LOG_NAME, open_database, open_reader
from adapters.sqlite.lane_rows import put_meta
from adapters.sqlite.people import SqlitePeople
from adapters.sqlite.syncer import Syncer
from adapters.sqlite.transaction import Transaction
from adapters.sqlite.writer import Writer
from core.agent.steps import Started, StepWrite
from core.errors import UserError
from core.goals.contract import Budget
from core.goals.events import Word
from core.messages import Ack, LaneKey, Outbound, PlatformName, RemoteId, SessionId
from core.ports import Clock, Usage
from core.sessions.arrivals import Arrival, Relocation
from core.sessions.conversation import ChatFact, Conversation, Place
from core.sessions.facts import House, Overview, SessionFact, workspace_key
from core.sessions.lane import Rest
from core.sessions.outgoing import CardFacts, Outgoing
from core.sessions.ports import (
    Begun,
    CallUsage,
    CapReached,
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
from core.transcript import Entry, User, from_json

T = TypeVar("T")
LOCK_NAME = "pursuit.lock"
RESERVE_NAME = "reserve.bin"


class SqliteStore:
    """Everything durable, in `folder`. Open with `open`, end with `close`.

    `run` names this start; posts made by it carry the name. `goal_defaults` are the limits of
    new goals, `house` is what else the settings offer. `sync` "OFF" waits for the disk nowhere;
    only for tests, which cut no power.
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
        self.people = SqlitePeople(self._read, self._writer.submit)
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
            self._lock = _lock(self._folder)
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
        """Read on the caller's thread: no reader waits for a writer here, and a hop to another
        thread takes ten times as long as the rows of a lane."""
        assert self._reader is not None  # noqa: S101 - `open` runs first
        return job(self._reader)

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
        return await self._write_of(
            ref.lane,
            lambda conn: turns.end_turn(conn, ref, ending, now, collect=collect),
            safe=False,
        )

    async def keep_prefix(self, session: SessionId, prefix: str) -> str:
        """See `Store.keep_prefix`."""

        def job(conn: sqlite3.Connection) -> str:
            conn.execute(
                "UPDATE session SET prefix = ? WHERE id = ? AND prefix = ''", (prefix, session)
            )
            return str(_one(conn, "SELECT prefix FROM session WHERE id = ?", session))

        return await self._writer.submit(job, safe=False)

    async def history(self, session: SessionId) -> tuple[Entry, ...]:
        """See `Store.history`."""
        return self._read(lambda conn: _history(conn, session))

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

    async def next_timer(self) -> Timer | None:
        """See `Store.next_timer`."""
        return self._read(judging.next_timer)

    async def fire(self, timer: Timer) -> Signals:
        """See `Store.fire`."""
        now = self._clock.now()
        fired = await self._writer.submit(lambda conn: judging.fire(conn, timer, now))
        if isinstance(fired, Unreadable):
            raise self._damage.note(timer.lane, fired)
        return fired

    async def next_outgoing(self, lane: LaneKey, *, now: float) -> Outgoing | None:
        """See `Store.next_outgoing`."""
        return await self._write_of(lane, lambda conn: outbox.next_outgoing(conn, lane, now))

    async def sent(self, outgoing: Outgoing, remote: RemoteId) -> bool:
        """See `Store.sent`."""
        return await self._writer.submit(
            lambda conn: outbox.sent(conn, outgoing, remote), safe=False
        )

    async def unsent(self, outgoing: Outgoing, *, doubtful: bool) -> None:
        """See `Store.unsent`."""
        await self._writer.submit(lambda conn: outbox.unsent(conn, outgoing.id, doubtful=doubtful))

    async def dead(self, outgoing: Outgoing, reason: str) -> None:
        """See `Store.dead`."""
        now = self._clock.now()
        await self._writer.submit(lambda conn: outbox.dead(conn, outgoing, reason, now))

    async def post(self, lane: LaneKey, turn: int, key: str, what: Outbound) -> Signals:
        """See `Store.post`."""

        def job(conn: sqlite3.Connection) -> Signals:
            here = turns.lane_running(conn, turn)  # not `lane` when it has moved meanwhile
            tx = Transaction(conn, self._clock.now(), "")
            tx.post(here, what, key=f"turn:{turn}:{key}")
            return tx.signals()

        return await self._writer.submit(job)

    async def meta(self, key: str) -> str | None:
        """See `Store.meta`."""
        return self._read(
            lambda conn: _one(conn, "SELECT value FROM state_meta WHERE key = ?", key)
        )

    async def put_meta(self, key: str, value: str) -> None:
        """See `Store.put_meta`."""
        await self._writer.submit(lambda conn: put_meta(conn, key, value))

    def bound(self, lane: LaneKey) -> str:
        """The folder that `/workspace` bound a lane to, "" for none."""
        key = workspace_key(lane)
        return self._read(
            lambda conn: _one(conn, "SELECT value FROM state_meta WHERE key = ?", key) or ""
        )

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


def _one(conn: sqlite3.Connection, sql: str, key: object) -> str | None:
    found = conn.execute(sql, (key,)).fetchone()
    return None if found is None else str(found[0])


def _history(conn: sqlite3.Connection, session: SessionId) -> tuple[Entry, ...]:
    checkpoint = conn.execute(
        "SELECT n, summary FROM checkpoint WHERE session = ? ORDER BY n DESC LIMIT 1", (session,)
    ).fetchone()
    start, summary = checkpoint or (0, "")
    rows = conn.execute(
        "SELECT body FROM message WHERE session = ? AND n >= ? ORDER BY n", (session, start)
    )
    entries = tuple(from_json(json.loads(body)) for (body,) in rows)
    return (User(summary), *entries) if checkpoint else entries


def _lock(folder: Path) -> int:
    """Hold the folder's lock file until the process ends, however it ends."""
    handle = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        owner = os.pread(handle, 20, 0).decode(errors="replace").strip()
        os.close(handle)
        raise UserError(
            f"Another Pursuit (process {owner or 'unknown'}) works in {folder}. Stop it first, "
            "or name another folder with --data."
        ) from None
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    return handle
