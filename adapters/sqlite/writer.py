"""The one thread that writes, with group commit.

What arrived during the last commit is the next batch; each job runs in its own savepoint, so
that one which fails takes no other with it. A job is a function of the connection, run whole:
it reads, decides and writes with nothing in between. The wait for the disk is the syncer's, so
that jobs go on meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import queue
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Generic, TypeAlias, TypeVar, cast

from adapters.sqlite.holder import holder_of
from adapters.sqlite.syncer import FATAL_EXIT, Syncer
from core.errors import TransientError

log = logging.getLogger(__name__)

T = TypeVar("T")
Job: TypeAlias = Callable[[sqlite3.Connection], T]

RESERVE_BYTES = 16 * 1024 * 1024
MAX_BATCH = 1000

PATIENCE_S = 60.0
"""How long jobs wait for another program that has the database locked."""
CLOSING_PATIENCE_S = 5.0
"""The same once the program ends."""
BUSY_PAUSE_S = 0.1

FULL = (
    "The disk is full, so nothing new can be taken. Free some space on it; what was accepted "
    "is safe and goes on by itself."
)
HELD = (
    "The database is locked by {holder}, so nothing can be stored. End that program or let it "
    "finish; what was accepted is safe and goes on by itself."
)


@dataclass(slots=True)
class _Submitted(Generic[T]):
    job: Job[T]
    future: asyncio.Future[T]
    loop: asyncio.AbstractEventLoop
    safe: bool
    early: Callable[[T], None] | None
    result: T | None = None
    error: BaseException | None = None

    def committed(self) -> None:
        """It stands, unless the power goes."""
        if self.error is None and self.early is not None:
            self.early(cast("T", self.result))
        if self.error is not None or not self.safe:
            self.settle()

    def settle(self) -> None:
        """Tell the caller."""
        if self.future.done():
            return  # its caller was cancelled; the write stands all the same
        if self.error is not None:
            self.future.set_exception(self.error)
            self.future.exception()  # a caller cancelled meanwhile never will retrieve it
        else:
            self.future.set_result(cast("T", self.result))


class Writer:
    """Runs jobs in order on its own connection; `submit` returns after the commit.

    The writer is never interrupted. `reserve` is a file of 16 MB that is given back to a full
    disk, so that ends of turns still fit. Without a `syncer` no job waits for the disk. A
    database that another program has locked is waited for, `patience_s` for each batch.
    """

    def __init__(
        self,
        connect: Callable[[], sqlite3.Connection],
        reserve: Path,
        syncer: Syncer | None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._connect = connect
        self._reserve = reserve
        self._syncer = syncer
        self._queue: queue.SimpleQueue[_Submitted[object] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="sqlite-writer", daemon=True)
        self._closed = False
        self._patience_s = patience_s
        self._holder = ""
        """Who has the database locked, "" while it is free."""

    def start(self) -> None:
        """Start the thread; the connection is opened on it."""
        if not self._reserve.exists():
            _fill(self._reserve)
        self._thread.start()

    async def submit(
        self, job: Job[T], *, safe: bool = True, early: Callable[[T], None] | None = None
    ) -> T:
        """Run a job in the next batch, and return once it is `safe` from a power cut, or else
        once it is committed. `early` is called, in the caller's loop, as soon as it is.

        Cancelling the caller does not take the job back. Raises what the job raised, or
        TransientError when the disk is full or another program keeps the database locked.
        """
        if self._closed:
            raise TransientError("the store is closed")
        loop = asyncio.get_running_loop()
        entry = _Submitted(job, loop.create_future(), loop, safe, early)
        self._queue.put(cast("_Submitted[object]", entry))
        return await asyncio.shield(entry.future)

    async def close(self) -> None:
        """Run what was submitted, then end the thread."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
        if self._thread.ident is not None:
            await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        conn = self._connect()
        if self._syncer is not None:
            self._syncer.start()
        try:
            while (batch := self._take()) is not None:
                before = conn.total_changes
                self._commit(conn, batch)
                self._report(batch, changed=conn.total_changes != before)
        finally:
            if self._syncer is not None:
                self._syncer.close()
            conn.close()

    def _report(self, batch: list[_Submitted[object]], *, changed: bool) -> None:
        """Tell the callers now or when their jobs are safe, each as it asked for."""
        if self._syncer is None:
            _tell(batch, _Submitted.committed)
            _tell([entry for entry in batch if entry.safe], _Submitted.settle)
            return
        _tell([e for e in batch if e.early or e.error or not e.safe], _Submitted.committed)
        waiting = [entry for entry in batch if entry.safe and entry.error is None]
        then = partial(_tell, waiting, _Submitted.settle) if waiting else None
        self._syncer.committed(changed=changed, then=then)

    def _take(self) -> list[_Submitted[object]] | None:
        first = self._queue.get()
        if first is None:
            return None
        batch = [first]
        while len(batch) < MAX_BATCH:
            try:
                entry = self._queue.get_nowait()
            except queue.Empty:
                break
            if entry is None:
                self._queue.put(None)  # close after this batch
                break
            batch.append(entry)
        return batch

    def _commit(self, conn: sqlite3.Connection, batch: list[_Submitted[object]]) -> None:
        since = monotonic()
        if self._run_batch(conn, batch, since):
            return
        # The transaction is gone (disk full, I/O error): nothing of the batch stands. Run the
        # jobs again one by one, so that the one which cannot be stored fails alone.
        _free(self._reserve)
        for entry in batch:
            entry.result = entry.error = None
            if not self._run_batch(conn, [entry], since):
                entry.error = TransientError(FULL)

    def _run_batch(
        self, conn: sqlite3.Connection, batch: list[_Submitted[object]], since: float
    ) -> bool:
        """Run and commit jobs together; False when the whole transaction was lost."""
        try:
            if not self._begun(conn, since):
                for entry in batch:
                    entry.error = TransientError(HELD.format(holder=self._holder))
                return True
            for entry in batch:
                if not _run_one(conn, entry, alone=len(batch) == 1):
                    return False
            conn.execute("COMMIT")
        except sqlite3.Error as error:
            if not _is(error, sqlite3.SQLITE_FULL):
                log.critical("commit failed, its outcome is unknown: %s", error)
                os._exit(FATAL_EXIT)
            if conn.in_transaction:
                conn.execute("ROLLBACK")
            return False
        return True

    def _begun(self, conn: sqlite3.Connection, since: float) -> bool:
        """Begin a transaction; False when another program kept the database locked all the time.
        Nothing has run by then, so there is nothing to be in doubt of."""
        while True:
            try:
                conn.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if not _is(error, sqlite3.SQLITE_BUSY):
                    raise
            else:
                if self._holder:
                    log.warning("the database is free again")
                self._holder = ""
                return True
            if not self._holder:
                (_, _, path), *_ = conn.execute("PRAGMA database_list").fetchall()
                self._holder = holder_of(path)
                log.error("%s", HELD.format(holder=self._holder))
            patience = min(self._patience_s, CLOSING_PATIENCE_S if self._closed else math.inf)
            if monotonic() - since > patience:
                return False
            sleep(BUSY_PAUSE_S)


def _run_one(conn: sqlite3.Connection, entry: _Submitted[object], *, alone: bool) -> bool:
    """Run one job in its savepoint; False when it took the whole transaction down."""
    if not alone:
        conn.execute("SAVEPOINT job")
    try:
        entry.result = entry.job(conn)
    except BaseException as error:  # noqa: BLE001 - a job's fault is its caller's to handle
        if not conn.in_transaction:
            return False
        entry.error = TransientError(FULL) if _is(error, sqlite3.SQLITE_FULL) else error
        if alone:
            conn.execute("ROLLBACK")
            conn.execute("BEGIN")  # for the COMMIT; it takes no lock, so nobody can be in its way
        else:
            conn.execute("ROLLBACK TO job")
            conn.execute("RELEASE job")
        return True
    if not alone:
        conn.execute("RELEASE job")
    return True


def _is(error: BaseException, code: int) -> bool:
    """Whether it is SQLite's error of that kind, in whatever detail."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == code


def _tell(entries: list[_Submitted[object]], how: Callable[[_Submitted[object]], None]) -> None:
    """Tell the callers, one hop into each loop for all of them."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Submitted[object]]] = {}
    for entry in entries:
        by_loop.setdefault(entry.loop, []).append(entry)
    for loop, theirs in by_loop.items():
        try:
            loop.call_soon_threadsafe(_tell_all, theirs, how)
        except RuntimeError:  # the loop is closed: its callers are gone
            log.debug("a caller's loop was closed before its write was reported")


def _tell_all(
    entries: list[_Submitted[object]], how: Callable[[_Submitted[object]], None]
) -> None:
    for entry in entries:
        how(entry)


def _fill(path: Path) -> None:
    try:
        path.touch(mode=0o600)
        with path.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, RESERVE_BYTES)
    except OSError:
        path.unlink(missing_ok=True)
        log.warning("no room for the disk reserve of %d MB", RESERVE_BYTES // 2**20)


def _free(path: Path) -> None:
    if path.exists():
        log.error("the disk is full; freeing the reserve file")
        path.unlink()
