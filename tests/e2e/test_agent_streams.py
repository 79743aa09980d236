"""`pursuit agent` whose standard output or standard error nobody reads, or nobody can write."""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.agent_desk import WRITE, Desk, desk
from tests.e2e.agent_process import PURSUIT, Ended, ended, environment
from tests.fakes.openai_replies import calls, text
from tests.scenarios.rig import nap, processes

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")


@contextmanager
def unread() -> Iterator[int]:
    """A descriptor that can be written, and whose reader is gone."""
    near, far = os.pipe()
    os.close(near)
    try:
        yield far
    finally:
        os.close(far)


async def run(at: Desk, *line: str, out: int = PIPE, err: int = PIPE) -> Ended:
    """`pursuit agent` with these streams, to its end."""
    process = await asyncio.create_subprocess_exec(
        *(str(PURSUIT), *at.line("do it", *line)),
        env=environment(at.home),
        cwd=at.cwd,
        stdin=DEVNULL,
        stdout=out,
        stderr=err,
    )
    return await ended(process)


async def test_with_json_that_nobody_reads_it_stops_with_all_that_it_started(
    tmp_path: Path,
) -> None:
    async with desk(tmp_path) as at:
        command = nap()
        at.models.script("main", calls(("run", {"command": command})))
        with unread() as out:
            end = await run(at, "--json", out=out)
        assert (end.code, end.err) == (141, "")
        assert (processes(command), at.leftovers) == ([], [])


async def test_an_answer_that_nobody_reads_is_no_success(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.models.script("main", WRITE, text("Done."))
        with unread() as out:
            end = await run(at, out=out)
        assert end.code == 141
        assert end.err.splitlines()[-1].startswith("[done]")
        assert (at.cwd / "a.txt").read_text() == "one"


async def test_what_happens_may_be_read_by_nobody(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.models.script("main", WRITE, text("Done."))
        with unread() as err:
            end = await run(at, "--verify", "true", err=err)
        assert (end.code, end.out) == (0, "Done.\n")
        with unread() as err:
            assert (await run(at, "--model", "nobody", err=err)).code == 2


@needs_full
async def test_a_full_disk_is_told_in_one_line(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.models.script("main", text("Done."), text("Done."))
        full = os.open(FULL, os.O_WRONLY)
        plain = await run(at, out=full)
        json = await run(at, "--json", out=full)
        os.close(full)
        words = "Standard output cannot be written: No space left on device."
        assert (plain.code, json.code) == (74, 74)
        assert plain.err.splitlines()[-1] == words
        assert json.err == f"{words}\n"
        assert at.leftovers == []
