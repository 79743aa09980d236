"""The store of a folder in which no gateway runs, for the command line."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from adapters.sqlite import overview
from adapters.sqlite.database import FILE_NAME, MIGRATIONS, open_reader
from adapters.sqlite.store import SqliteStore
from core.errors import UserError
from core.transcript import Json
from gateway.clock import SystemClock
from gateway.control.desk import MAX_SESSIONS, overview_data, pair, sessions_data
from gateway.control.wire import Data

OLDER = (
    "The database in {folder} is of another version of Pursuit. Start this one there once "
    "(pursuit up), then ask again."
)


def status(folder: Path) -> dict[str, Json]:
    """What waits in the folder; nothing is changed. Raises UserError."""
    with closing(_reader(folder)) as conn:
        return overview_data(overview.overview(conn))


def sessions(folder: Path) -> dict[str, Json]:
    """The folder's sessions; nothing is changed. Raises UserError."""
    with closing(_reader(folder)) as conn:
        return sessions_data(overview.all_sessions(conn, MAX_SESSIONS))


def pairing(folder: Path, words: Mapping[str, str]) -> Data:
    """Carry an order out in the folder, which is locked meanwhile. Raises UserError; who was let
    in is told at the next start."""
    _path(folder)
    return asyncio.run(_pairing(folder, words))


async def _pairing(folder: Path, words: Mapping[str, str]) -> Data:
    clock = SystemClock()
    store = SqliteStore(folder, clock=clock, run="")
    await store.open()
    try:
        return await pair(store.people, words, clock.now(), lambda _: None)
    finally:
        await store.close()


def _reader(folder: Path) -> sqlite3.Connection:
    path = _path(folder)
    try:
        conn = open_reader(path)
        (version,) = conn.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error as error:
        raise UserError(f"The database {path} cannot be read: {error}.") from error
    if version != len(list(MIGRATIONS.glob("*.sql"))):
        conn.close()
        raise UserError(OLDER.format(folder=folder))
    return conn


def _path(folder: Path) -> Path:
    """The folder's database. Raises UserError where there is none."""
    path = folder / FILE_NAME
    if not path.exists():
        raise UserError(f"There is no database in {folder}: Pursuit has not run there yet.")
    return path
