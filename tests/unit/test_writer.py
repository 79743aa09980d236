"""The writer: one thread, many jobs a commit, and no job that takes another down."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from adapters.sqlite.syncer import FATAL_EXIT
from adapters.sqlite.writer import Writer
from core.errors import TransientError

PAGES = 60


@dataclass(slots=True)
class Bench:
    """A writer on a file of its own, and what it made SQLite do."""

    folder: Path
    max_pages: int = 0
    patience_s: float = 60.0
    statements: list[str] = field(default_factory=list)

    @property
    def reserve(self) -> Path:
        """The reserve file; small here, so that tests are quick."""
        return self.folder / "reserve.bin"

    def connect(self) -> sqlite3.Connection:
        """A connection that sees a full disk after `max_pages`."""
        conn = sqlite3.connect(self.folder / "db", isolation_level=None, check_same_thread=False)
        conn.execute("PRAGMA journal_mode = WAL")
        conn.execute("PRAGMA synchronous = OFF")
        conn.execute("PRAGMA busy_timeout = 10")
        conn.execute("CREATE TABLE IF NOT EXISTS t (n INTEGER, body BLOB)")
        if self.max_pages:
            conn.execute(f"PRAGMA max_page_count = {self.max_pages}")
        conn.set_trace_callback(self.statements.append)
        return conn

    @asynccontextmanager
    async def writer(self) -> AsyncIterator[Writer]:
        """The writer at work."""
        self.reserve.write_bytes(b"\0" * 4096)
        writer = Writer(self.connect, self.reserve, None, self.patience_s)
        writer.start()
        try:
            yield writer
        finally:
            await writer.close()

    @property
    def commits(self) -> int:
        """How often something was committed."""
        return self.statements.count("COMMIT")

    def stored(self) -> list[int]:
        """What stands in the file."""
        with sqlite3.connect(self.folder / "db") as conn:
            found = [n for (n,) in conn.execute("SELECT n FROM t ORDER BY rowid")]
        conn.close()
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """An empty file."""
    return Bench(tmp_path)


def insert(n: int, size: int = 0) -> Callable[[sqlite3.Connection], int]:
    """A job that adds a row."""

    def job(conn: sqlite3.Connection) -> int:
        conn.execute("INSERT INTO t VALUES (?, zeroblob(?))", (n, size))
        return n

    return job


def broken(conn: sqlite3.Connection) -> None:
    """A job that writes and then fails."""
    conn.execute("INSERT INTO t VALUES (-1, '')")
    raise ValueError("a bug")


@asynccontextmanager
async def held(group: asyncio.TaskGroup, writer: Writer) -> AsyncIterator[None]:
    """Keep the writer busy, so that what is submitted meanwhile is one batch."""
    loop, busy, go = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def hold(_: sqlite3.Connection) -> None:
        loop.call_soon_threadsafe(busy.set)
        go.wait(10)

    group.create_task(writer.submit(hold), name="hold")
    await busy.wait()
    try:
        yield
    finally:
        asyncio.get_running_loop().call_soon(go.set)


async def outcome(writer: Writer, job: Callable[[sqlite3.Connection], object]) -> object:
    """What a job returned or raised."""
    try:
        return await writer.submit(job)
    except (ValueError, TransientError) as error:
        return type(error)


async def together(writer: Writer, *jobs: Callable[[sqlite3.Connection], object]) -> list[object]:
    """Run jobs in one batch."""
    async with asyncio.TaskGroup() as group, held(group, writer):
        tasks = [group.create_task(outcome(writer, job), name="job") for job in jobs]
        await asyncio.sleep(0)
    return [task.result() for task in tasks]


async def test_what_arrives_during_a_commit_is_one_next_commit(bench: Bench) -> None:
    async with bench.writer() as writer:
        assert await together(writer, *(insert(n) for n in range(500))) == list(range(500))
        assert bench.commits == 2
    assert bench.stored() == list(range(500))


async def test_a_job_that_raises_takes_no_other_with_it(bench: Bench) -> None:
    async with bench.writer() as writer:
        results = await together(writer, insert(1), broken, insert(2))
        assert results == [1, ValueError, 2]
        assert await outcome(writer, broken) is ValueError
        assert await writer.submit(insert(3)) == 3
    assert bench.stored() == [1, 2, 3]


async def test_a_cancelled_callers_job_stands_and_disturbs_nobody(bench: Bench) -> None:
    async with bench.writer() as writer:
        async with asyncio.TaskGroup() as group, held(group, writer):
            gone = group.create_task(writer.submit(insert(1)), name="gone")
            failing = group.create_task(outcome(writer, broken), name="failing")
            stays = group.create_task(writer.submit(insert(2)), name="stays")
            await asyncio.sleep(0)
            gone.cancel()
            failing.cancel()
        assert stays.result() == 2
        assert gone.cancelled()
    assert bench.stored() == [1, 2]


async def test_a_read_after_a_submit_sees_it(bench: Bench) -> None:
    async with bench.writer() as writer:
        await writer.submit(insert(1))
        assert bench.stored() == [1]


async def test_a_job_that_fills_the_disk_fails_alone_in_words(bench: Bench) -> None:
    bench.max_pages = PAGES
    async with bench.writer() as writer:
        results = await together(writer, insert(1), insert(2, 10_000_000), insert(3))
        assert results == [1, TransientError, 3]
        with pytest.raises(TransientError, match="The disk is full"):
            await writer.submit(insert(4, 10_000_000))
        assert await writer.submit(insert(5)) == 5
    assert bench.stored() == [1, 3, 5]


async def test_a_full_disk_gets_the_reserve_back(bench: Bench) -> None:
    bench.max_pages = PAGES
    async with bench.writer() as writer:
        assert bench.reserve.exists()
        await outcome(writer, insert(1, 10_000_000))
        assert not bench.reserve.exists()


async def test_many_small_jobs_on_a_full_disk_fail_one_by_one_and_lose_nothing(
    bench: Bench,
) -> None:
    bench.max_pages = PAGES
    async with bench.writer() as writer:
        results = await together(writer, *(insert(n, 4000) for n in range(200)))
        taken = [n for n, result in enumerate(results) if result == n]
        refused = [result for n, result in enumerate(results) if result != n]
        assert taken
        assert refused
        assert set(refused) == {TransientError}
    assert bench.stored() == taken


async def test_closing_runs_what_was_submitted_and_takes_nothing_more(bench: Bench) -> None:
    async with bench.writer() as writer:
        async with asyncio.TaskGroup() as group, held(group, writer):
            tasks = [group.create_task(writer.submit(insert(n)), name="j") for n in range(9)]
            await asyncio.sleep(0)
            group.create_task(writer.close(), name="close")
        assert [task.result() for task in tasks] == list(range(9))
        with pytest.raises(TransientError, match="closed"):
            await writer.submit(insert(99))
        await writer.close()
    assert bench.stored() == list(range(9))


@asynccontextmanager
async def locked(bench: Bench) -> AsyncIterator[Process]:
    """Another program that has begun to write into the file, and does not end it."""
    code = (
        "import sqlite3, sys\n"
        f"conn = sqlite3.connect({str(bench.folder / 'db')!r}, isolation_level=None)\n"
        "conn.execute('BEGIN IMMEDIATE')\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdin=PIPE, stdout=PIPE
    )
    assert other.stdout is not None
    try:
        assert await other.stdout.readline() == b"held\n"
        yield other
    finally:
        other.kill()
        await other.communicate()


async def test_a_database_that_another_program_has_locked_is_waited_for(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    async with bench.writer() as writer, asyncio.TaskGroup() as group:
        await writer.submit(insert(1))
        async with locked(bench) as other:
            waiting = group.create_task(writer.submit(insert(2)), name="waiting")
            while not caplog.messages:  # noqa: ASYNC110 - the writer's thread sends no events
                await asyncio.sleep(0.01)
            assert not waiting.done()
        assert await waiting == 2
    said = caplog.messages
    assert f"(process {other.pid})" in said[0]
    assert "locked by python" in said[0]
    assert said[1:] == ["the database is free again"]
    assert bench.stored() == [1, 2]


async def test_who_waits_too_long_for_another_program_is_told(bench: Bench) -> None:
    bench.patience_s = 0.05
    async with bench.writer() as writer:
        await writer.submit(insert(1))
        async with locked(bench):
            with pytest.raises(TransientError, match=r"locked by python.*goes on by itself"):
                await writer.submit(insert(2))
            assert await outcome(writer, insert(2)) is TransientError
        assert await writer.submit(insert(3)) == 3
    assert bench.stored() == [1, 3]


DYING = """
import asyncio, sqlite3, sys
from pathlib import Path
from adapters.sqlite.writer import Writer

class Damaged(sqlite3.Connection):
    def execute(self, sql, *rest):
        if sql == "COMMIT":
            raise sqlite3.{error}("database disk image is malformed")
        return super().execute(sql, *rest)

def connect():
    return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False,
                           factory=Damaged)

async def main():
    writer = Writer(connect, Path(sys.argv[1]), None)
    writer.start()
    await asyncio.wait_for(writer.submit(lambda conn: None), 5)

asyncio.run(main())
"""


@pytest.mark.parametrize("error", ["DatabaseError", "OperationalError"])
def test_a_commit_whose_outcome_is_unknown_ends_the_process(tmp_path: Path, error: str) -> None:
    reserve = tmp_path / "reserve.bin"
    reserve.touch()
    script = DYING.replace("{error}", error)
    done = subprocess.run(
        [sys.executable, "-c", script, str(reserve)],
        capture_output=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == FATAL_EXIT, done.stderr.decode()
    assert b"its outcome is unknown" in done.stderr
