"""Opening the file: pragmas, numbered migrations, and errors that say what to do."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from core.errors import UserError

Value: TypeAlias = str | float | bytes | None

MIGRATIONS = Path(__file__).parent / "migrations"
FILE_NAME = "pursuit.db"
LOG_NAME = f"{FILE_NAME}-wal"
"""SQLite's write-ahead log; it is there while the database is open."""


class Connection(sqlite3.Connection):
    """Takes any Python text: half a surrogate pair, which UTF-8 cannot hold, becomes U+FFFD.

    A platform or a model may cut an emoji in two; refusing the row would refuse its whole batch
    again and again.
    """

    def execute(self, sql: str, parameters: Sequence[Value] = (), /) -> sqlite3.Cursor:  # type: ignore[override]
        """See `sqlite3.Connection.execute`; named parameters are not used here."""
        try:
            return super().execute(sql, parameters)
        except UnicodeEncodeError:  # while binding: nothing has run
            return super().execute(sql, _whole(parameters))

    def executemany(self, sql: str, parameters: Iterable[Sequence[Value]], /) -> sqlite3.Cursor:  # type: ignore[override]
        """See `sqlite3.Connection.executemany`."""
        return super().executemany(sql, [_whole(row) for row in parameters])


def _whole(row: Sequence[Value]) -> tuple[Value, ...]:
    return tuple(
        value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        if isinstance(value, str)
        else value
        for value in row
    )


def open_database(path: Path, *, waits: bool = True) -> sqlite3.Connection:
    """The writer's connection, with every migration applied and safe.

    A commit on it is atomic and in order, but waits for the disk only at checkpoints: who wants
    it safe syncs the log. Without `waits` nothing ever waits for the disk.

    Raises UserError for a file that is no database, is damaged, or is from a newer version.
    """
    _make_private(path)
    try:
        conn = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, factory=Connection
        )
        conn.execute("PRAGMA journal_mode = WAL")
        conn.execute(f"PRAGMA synchronous = {'FULL' if waits else 'OFF'}")
        conn.execute("PRAGMA busy_timeout = 5000")
        conn.execute("PRAGMA wal_autocheckpoint = 4000")
        _check(conn, path)
        _migrate(conn, path)
        conn.execute(f"PRAGMA synchronous = {'NORMAL' if waits else 'OFF'}")
    except sqlite3.DatabaseError as error:
        raise UserError(_damaged(path, error)) from error
    return conn


def open_reader(path: Path) -> sqlite3.Connection:
    """A second connection that cannot write."""
    conn = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode=ro",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
    )
    conn.execute("PRAGMA query_only = 1")
    return conn


def _make_private(path: Path) -> None:
    """Let the user alone read the conversations, whoever may enter the folder; SQLite gives the
    files beside this one its mode."""
    with suppress(OSError):  # whatever forbids it, opening fails on it too and says so
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        for file in (path, path.with_name(LOG_NAME), path.with_name(f"{FILE_NAME}-shm")):
            if file.exists():
                file.chmod(0o600)


def _check(conn: sqlite3.Connection, path: Path) -> None:
    (verdict,) = conn.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        # The verdict has many lines, which mean nothing to a person.
        raise sqlite3.DatabaseError("the integrity check failed")


def _migrate(conn: sqlite3.Connection, path: Path) -> None:
    (version,) = conn.execute("PRAGMA user_version").fetchone()
    scripts = sorted(MIGRATIONS.glob("*.sql"))
    if version > len(scripts):
        raise UserError(
            f"{path} was written by a newer version of Pursuit (schema {version}, this one "
            f"knows {len(scripts)}). Upgrade Pursuit, or name another folder with --data."
        )
    for number, script in enumerate(scripts[version:], version + 1):
        sql = script.read_text(encoding="utf-8")
        conn.executescript(f"BEGIN IMMEDIATE; {sql}; PRAGMA user_version = {number}; COMMIT;")


_NOT_DAMAGED = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_PERM,
    }
)


def _damaged(path: Path, error: sqlite3.DatabaseError) -> str:
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _NOT_DAMAGED:  # the rest is the detail
        return (
            f"Cannot open the database {path}: {error}. Check the folder's rights and space, "
            "and that no other program has the file open."
        )
    reason = " ".join(str(error).split())
    return (
        f"The database {path} is damaged ({reason}). Nothing was changed. Move it away and start "
        f"again, or save what can be read with: sqlite3 {path} .recover | sqlite3 new.db"
    )
