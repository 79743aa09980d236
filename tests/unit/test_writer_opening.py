"""Opening the store: whose folder it is, what the file is, and what a person can do about it."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from pathlib import Path

import pytest

from adapters.sqlite.database import FILE_NAME, MIGRATIONS
from adapters.sqlite.locking import LOCK_NAME
from adapters.sqlite.store import RESERVE_NAME, SqliteStore
from core.errors import UserError
from core.messages import Queued
from tests.contracts.store_rig import LANE, HeldClock, Rig


def store_in(folder: Path) -> SqliteStore:
    """A store that is not open yet."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RESERVE_NAME).touch()
    return SqliteStore(folder, clock=HeldClock(), run="run", sync="OFF")


async def refusal(folder: Path) -> str:
    """Why the store in that folder cannot be opened."""
    store = store_in(folder)
    with pytest.raises(UserError) as refused:
        await store.open()
    await store.close()
    return str(refused.value)


async def opens(folder: Path) -> None:
    """It can be opened, and takes a message."""
    store = store_in(folder)
    await store.open()
    try:
        rig = Rig(lambda _: store.open(), folder, store)  # type: ignore[arg-type,return-value]
        assert isinstance(await rig.say("hello"), Queued)
    finally:
        await store.close()


async def test_a_folder_belongs_to_one_store_at_a_time(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    await store.open()
    said = await refusal(tmp_path)
    assert f"Another Pursuit (process {os.getpid()}) works in {tmp_path}" in said
    assert "--data" in said
    await store.close()
    await opens(tmp_path)


async def test_a_folder_of_another_process_is_refused_with_its_number(tmp_path: Path) -> None:
    code = (
        "import fcntl, os, sys, time\n"
        f"f = open({str(tmp_path / LOCK_NAME)!r}, 'w')\n"
        "fcntl.flock(f, fcntl.LOCK_EX)\n"
        "print(os.getpid(), file=f, flush=True)\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    pipe = asyncio.subprocess.PIPE
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdin=pipe, stdout=pipe
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    try:
        assert await holder.stdout.readline() == b"held\n"
        assert f"process {holder.pid}" in await refusal(tmp_path)
    finally:
        holder.kill()
        await holder.wait()
    await opens(tmp_path)


async def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(b"dear diary\n" * 1000)
    said = await refusal(tmp_path)
    assert f"The database {path} is damaged" in said
    assert "Move it away" in said
    assert ".recover" in said
    assert path.read_bytes() == b"dear diary\n" * 1000


async def test_a_damaged_database_is_refused_and_can_be_moved_away(tmp_path: Path) -> None:
    await opens(tmp_path)
    path = tmp_path / FILE_NAME
    raw = bytearray(path.read_bytes())
    for at in range(4096, len(raw), 4096):
        raw[at : at + 64] = b"\xff" * 64
    path.write_bytes(raw)
    assert "is damaged" in await refusal(tmp_path)
    path.rename(tmp_path / "away.db")
    await opens(tmp_path)


async def test_a_cut_database_is_refused(tmp_path: Path) -> None:
    await opens(tmp_path)
    path = tmp_path / FILE_NAME
    path.write_bytes(path.read_bytes()[: 4096 * 3 + 100])
    assert "is damaged" in await refusal(tmp_path)


async def test_a_newer_schema_is_refused_and_not_touched(tmp_path: Path) -> None:
    newer = len(list(MIGRATIONS.glob("*.sql"))) + 1
    with sqlite3.connect(tmp_path / FILE_NAME) as conn:
        conn.execute(f"PRAGMA user_version = {newer}")
    conn.close()
    said = await refusal(tmp_path)
    assert f"newer version of Pursuit (schema {newer}" in said
    assert "Upgrade Pursuit" in said


async def test_a_refused_open_holds_nothing_back(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(b"no database" * 100)
    store = store_in(tmp_path)
    with pytest.raises(UserError):
        await store.open()
    path.unlink()
    await opens(tmp_path)
    await store.close()


async def test_a_folder_in_the_databases_place_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir(parents=True)
    said = await refusal(tmp_path)
    assert "Cannot open the database" in said


async def test_a_database_in_use_by_another_program_is_not_called_damaged(
    tmp_path: Path,
) -> None:
    await opens(tmp_path)
    other = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    try:
        said = await refusal(tmp_path)
    finally:
        other.close()
    assert "damaged" not in said
    assert "Cannot open the database" in said


@pytest.mark.parametrize("name", ["with space", "what?", "no#1", "100%", "日本"])
async def test_a_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    await opens(tmp_path / name)


async def test_a_file_in_the_folders_place_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    store = SqliteStore(tmp_path / "data", clock=HeldClock(), run="run", sync="OFF")
    with pytest.raises(UserError, match=r"Cannot use the data folder .*--data"):
        await store.open()
    await store.close()


async def test_everything_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    await opens(tmp_path)
    store = store_in(tmp_path)
    await store.open()
    found = await store.unfinished()
    await store.close()
    assert found.lanes == {LANE}
