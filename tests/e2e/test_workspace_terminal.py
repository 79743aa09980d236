"""Real commands from start to end: results, outputs of any size, time limits, cancelling, the
background. Every kill is tried in the sandbox and bare."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from adapters.workspace.options import Danger, Sandboxing, WorkspaceOptions
from core.transcript import ToolResult
from tests.e2e.workspace_lane import Lane, open_lane

STUBBORN = (
    "trap '' TERM; setsid bash -c 'trap \"\" TERM; sleep {mark}' & "
    "(setsid setsid sleep {mark} &) ; echo up > ready; sleep {mark}; sleep {mark}"
)
"""Children that leave the session and ignore SIGTERM, and a parent that goes on all the same."""


@pytest.fixture(params=[Sandboxing.BWRAP, Sandboxing.NONE])
async def lane(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Lane]:
    async with open_lane(tmp_path, WorkspaceOptions(sandbox=request.param)) as lane:
        os.mkfifo(lane.workspace / "ready")
        yield lane


@pytest.fixture
def mark(tmp_path: Path) -> str:
    """A number of seconds that no other process sleeps."""
    return f"600.{abs(hash(str(tmp_path))) % 10**9:09}1"


def alive(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        ended = process.info["status"] in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
        if not ended and any(mark in word for word in process.info["cmdline"] or []):
            found.append(process)
    return found


async def ready(lane: Lane) -> None:
    """The command has said that it is up, and the terminal has taken hold of it."""
    assert await asyncio.to_thread((lane.workspace / "ready").read_text) == "up\n"
    terminal = lane.tools.terminal
    assert terminal._foreground or terminal._background


# Results


async def test_output_and_exit_code_come_back_in_order(lane: Lane) -> None:
    result = await lane.run("echo one; echo two >&2; echo three; exit 3")
    assert result.text == "one\ntwo\nthree\n[exit code 3]"
    assert result.receipt == replace(
        result.receipt, ok=False, exit_code=3, summary="echo one; echo two >&2; echo three; exit 3"
    )
    assert 0 < result.receipt.seconds < 5


async def test_a_quiet_success_says_so(lane: Lane) -> None:
    result = await lane.run("true")
    assert (result.text, result.receipt.ok) == ("(no output)\n[exit code 0]", True)


async def test_standard_input_is_empty(lane: Lane) -> None:
    assert (await lane.run("cat; read x || echo none")).text == "none\n[exit code 0]"


async def test_a_command_that_dies_of_a_signal_has_its_number(lane: Lane) -> None:
    assert (await lane.run("kill -SEGV $$")).receipt.exit_code == 128 + signal.SIGSEGV


async def test_a_long_command_is_one_short_line_in_the_receipt(lane: Lane) -> None:
    result = await lane.run("echo \\\n" + "x" * 500)
    assert len(result.receipt.summary) == 120
    assert "\n" not in result.receipt.summary


async def test_odd_output_is_made_readable(lane: Lane) -> None:
    result = await lane.run(r"printf '\033[31mrood\033[0m \377\000 日本\n10%%\r100%%\n'")
    assert result.text == "rood \N{REPLACEMENT CHARACTER} 日本\n100%\n[exit code 0]"


async def test_files_written_by_tools_and_commands_are_the_same(lane: Lane) -> None:
    await lane.call("write_file", path="a.txt", content="7")
    await lane.run("echo $(( $(cat a.txt) * 6 )) > b.txt")
    assert (await lane.call("read_file", path="b.txt")).text == "42\n"


# Outputs of any size


async def test_a_long_output_is_kept_whole_in_a_file(lane: Lane) -> None:
    result = await lane.run("seq 100000")
    assert result.text.startswith("1\n2\n")
    assert result.text.endswith("99999\n100000\n[exit code 0]")
    assert len(result.text) < 9_000
    path = result.text.partition("the whole is in ")[2].partition(" …]")[0]
    kept = await lane.call("read_file", path=path, start_line=50_000, lines=1)
    assert kept.text.startswith("50000\n")
    whole = (lane.workspace / path).read_text()
    assert whole == "".join(f"{n}\n" for n in range(1, 100_001))
    assert (lane.workspace / ".pursuit" / ".gitignore").read_text() == "*\n"


async def test_100_mb_of_output_do_not_grow_the_memory(lane: Lane) -> None:
    await lane.run("seq 10000")
    before = psutil.Process().memory_info().rss
    result = await lane.run("head -c 100M /dev/zero | tr '\\0' x; echo end")
    grown = psutil.Process().memory_info().rss - before
    assert result.text.endswith("end\n[exit code 0]")
    assert "(only the first 64 MB)" in result.text
    assert grown < 12 * 1024 * 1024


async def test_only_the_latest_outputs_are_kept(lane: Lane) -> None:
    for _ in range(23):
        await lane.run("seq 3000")
    assert len(list((lane.workspace / ".pursuit" / "output").iterdir())) == 20


async def test_an_output_folder_that_leads_elsewhere_is_not_followed(
    lane: Lane, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (lane.workspace / ".pursuit").symlink_to(tmp_path / "elsewhere")
    result = await lane.run("seq 10000")
    assert "it could not be kept" in result.text
    assert list((tmp_path / "elsewhere").iterdir()) == []


# Time limits and cancelling


async def test_a_command_that_takes_too_long_is_killed_and_its_output_shown(
    lane: Lane, mark: str
) -> None:
    began = time.monotonic()
    result = await lane.run(f"echo partly; sleep {mark}", timeout_s=1)
    assert time.monotonic() - began < 2.5
    assert result.text.startswith("partly\n[killed: it took longer than 1 s.")
    assert (result.receipt.ok, result.receipt.exit_code) == (False, 124)
    assert alive(mark) == []


async def test_what_a_command_leaves_behind_ends_with_it(lane: Lane, mark: str) -> None:
    result = await lane.run(f"sleep {mark} & setsid sleep {mark} & echo started")
    assert result.text == "started\n[exit code 0]"
    assert alive(mark) == []


async def test_cancelling_ends_even_stubborn_processes_within_two_seconds(
    lane: Lane, mark: str
) -> None:
    async with asyncio.TaskGroup() as group:
        running = group.create_task(lane.run(STUBBORN.format(mark=mark)))
        await ready(lane)
        began = time.monotonic()
        running.cancel()
        await asyncio.wait([running])
    assert running.cancelled()
    assert time.monotonic() - began < 2.0
    assert alive(mark) == []


async def test_cancelling_asks_before_it_kills(lane: Lane, mark: str) -> None:
    loop = f"while : {mark}; do sleep 0.05; done"  # `wait` may miss a signal that comes before it
    command = f"trap 'echo bye > bye; exit' TERM; echo up > ready; {loop}"
    async with asyncio.TaskGroup() as group:
        running = group.create_task(lane.run(command))
        await ready(lane)
        running.cancel()
    assert (lane.workspace / "bye").read_text() == "bye\n"
    assert alive(mark) == []


async def test_cancelling_twice_kills_at_once(lane: Lane, mark: str) -> None:
    async with asyncio.TaskGroup() as group:
        running = group.create_task(lane.run(STUBBORN.format(mark=mark)))
        await ready(lane)
        began = time.monotonic()
        running.cancel()
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait([running])
    assert time.monotonic() - began < 1.0
    await asyncio.to_thread(psutil.wait_procs, alive(mark), timeout=1)
    assert alive(mark) == []


async def test_cancelling_before_the_command_is_up_leaves_nothing(lane: Lane, mark: str) -> None:
    for turns in range(12):
        async with asyncio.TaskGroup() as group:
            running = group.create_task(lane.run(f"sleep {mark}"))
            for _ in range(turns):
                await asyncio.sleep(0.001)
            running.cancel()
    await asyncio.to_thread(psutil.wait_procs, alive(mark), timeout=1)
    assert alive(mark) == []


async def test_closing_a_turn_ends_its_commands_and_no_others(lane: Lane, mark: str) -> None:
    run = lane.tools.tools[0]
    async with asyncio.TaskGroup() as group:
        running = group.create_task(lane.run(f"echo up > ready; sleep {mark}"))
        await ready(lane)
        await run.close_turn(2)
        assert alive(mark) != []
        await run.close_turn(1)
        assert alive(mark) == []
    assert not running.result().receipt.ok


async def test_the_sandbox_dies_with_the_program(tmp_path: Path, mark: str) -> None:
    script = tmp_path / "child.py"
    script.write_text(
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from adapters.workspace.options import WorkspaceOptions\n"
        "from tests.e2e.workspace_lane import open_lane\n"
        "async def main():\n"
        "    async with open_lane(Path(sys.argv[1]), WorkspaceOptions()) as lane:\n"
        "        print(lane.workspace, flush=True)\n"
        "        sys.stdin.readline()\n"
        f"        await lane.run({STUBBORN.format(mark=mark)!r})\n"
        "asyncio.run(main())\n"
    )
    env = {"PATH": os.defpath, "PYTHONPATH": str(Path(__file__).parents[2])}
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, str(script), str(tmp_path)), env=env, stdin=pipe, stdout=pipe
    )
    assert child.stdout is not None
    assert child.stdin is not None
    fifo = Path((await child.stdout.readline()).decode().strip(), "ready")
    os.mkfifo(fifo)
    child.stdin.write(b"\n")
    assert await asyncio.to_thread(fifo.read_text) == "up\n"
    left = alive(mark)
    child.kill()
    await child.wait()
    await asyncio.to_thread(psutil.wait_procs, left, timeout=2)
    assert left != []
    assert alive(mark) == []


# The background


async def background(lane: Lane, command: str) -> ToolResult:
    return await lane.run(command, background=True)


async def test_a_background_process_outlives_its_turn_until_it_is_killed(
    lane: Lane, mark: str
) -> None:
    started = await background(lane, f"echo up; sleep {mark}")
    assert started.text.startswith("Started in the background as p1.")
    assert started.receipt.background
    await lane.tools.tools[0].close_turn(2)
    assert alive(mark) != []
    assert (await lane.call("processes")).text.startswith("p1: running, ")
    read = await lane.call("processes", action="read", id="p1")
    assert (read.text, read.receipt.background) == ("up\n[it still runs]", True)
    killed = await lane.call("processes", action="kill", id="p1")
    assert killed.text.startswith("up\n[it has ended: exit code ")
    assert alive(mark) == []
    assert "p1: exit " in (await lane.call("processes", action="list")).text


async def test_closing_a_turn_ends_its_background_too_within_two_seconds(
    lane: Lane, mark: str
) -> None:
    async with asyncio.TaskGroup() as group:
        starting = group.create_task(background(lane, STUBBORN.format(mark=mark)))
        await ready(lane)
    assert starting.result().receipt.background
    began = time.monotonic()
    await lane.tools.tools[0].close_turn(1)
    assert time.monotonic() - began < 2.2
    assert alive(mark) == []
    assert (await lane.call("processes")).text.startswith("p1: exit ")


async def test_a_background_process_that_fails_at_once_says_so(lane: Lane) -> None:
    failed = await background(lane, "no-such-command")
    assert "command not found" in failed.text
    assert failed.text.endswith("[it has ended: exit code 127]")
    assert (failed.receipt.ok, failed.receipt.exit_code) == (False, 127)


async def test_closing_the_tools_ends_the_background_within_three_seconds(
    lane: Lane, mark: str
) -> None:
    async with asyncio.TaskGroup() as group:
        starting = group.create_task(background(lane, STUBBORN.format(mark=mark)))
        await ready(lane)
    assert starting.result().receipt.background
    await background(lane, f"sleep {mark}")
    began = time.monotonic()
    await lane.tools.close()
    assert time.monotonic() - began < 3
    assert alive(mark) == []


async def test_a_lane_sees_only_its_own_processes(lane: Lane, mark: str) -> None:
    await background(lane, f"sleep {mark}")
    other = replace(lane, chat="another")
    assert (await other.call("processes")).text == "No background processes."
    for action in ("read", "kill"):
        assert not (await other.call("processes", action=action, id="p1")).receipt.ok
    assert alive(mark) != []


async def test_a_lane_may_have_only_so_many(tmp_path: Path, mark: str) -> None:
    async with open_lane(tmp_path, WorkspaceOptions(background=1)) as lane:
        await background(lane, f"sleep {mark}")
        refused = await background(lane, f"sleep {mark}")
        assert refused.text.startswith("1 background processes run already; kill one first.\np1:")
        await lane.call("processes", action="kill", id="p1")
        assert (await background(lane, f"sleep {mark}")).receipt.ok


async def test_commands_wait_for_a_slot(tmp_path: Path) -> None:
    async with open_lane(tmp_path, WorkspaceOptions(commands=1)) as lane:
        command = "mkdir lock && rmdir lock"
        async with asyncio.TaskGroup() as group:
            runs = [group.create_task(lane.run(command)) for _ in range(8)]
    assert all(run.result().receipt.ok for run in runs)


# The policy


async def test_a_dangerous_command_is_refused_with_the_reason_and_not_run(lane: Lane) -> None:
    result = await lane.run("touch ran; rm -rf ~/projects")
    assert result.text.startswith(
        "Refused, not run: it deletes ~/projects, which is outside the workspace."
    )
    assert "an owner's approval" in result.text
    assert result.receipt.summary == "refused: touch ran; rm -rf ~/projects"
    assert (result.receipt.ok, result.receipt.exit_code) == (False, None)
    assert not (lane.workspace / "ran").exists()


@pytest.mark.parametrize(
    ("dangerous", "runs"), [(Danger.ASK, False), (Danger.REFUSE, False), (Danger.ALLOW, True)]
)
async def test_the_config_may_let_dangerous_commands_through(
    tmp_path: Path, dangerous: Danger, *, runs: bool
) -> None:
    async with open_lane(tmp_path, WorkspaceOptions(dangerous=dangerous)) as lane:
        await lane.run("touch ran; rm -rf ~/projects")
        assert (lane.workspace / "ran").exists() is runs
        never = await lane.run("rm -rf /")
        assert never.text.startswith("Refused, not run: it deletes the whole file system. Nobody")
