"""Plain programs as runners: the task is an argument, what they print is the answer."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.workspace.options import WorkspaceOptions
from core.delegation.ports import RunnerEnd
from core.delegation.worker import Runner
from tests.e2e.runner_rig import Rig, open_rig
from tests.e2e.test_sandbox import listening

ROOT = Path(__file__).parents[2]


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with open_rig(tmp_path) as rig:
        yield rig


def shell(rig: Rig, script: str, **env: str) -> Runner:
    """The task is "$1"."""
    return rig.program("sh", "-c", script, "sh", **env)


async def test_the_task_is_the_last_argument_and_the_output_the_answer(rig: Rig) -> None:
    task = "Fix 'it'; $(rm -rf .)\nand `test`"
    end = await rig.run(task, shell(rig, 'printf "%s|" "$@"; echo; cat | wc -c; pwd'))
    assert end == RunnerEnd(f"{task}|\n0\n{rig.workspace}")


async def test_a_task_is_never_taken_for_an_option(rig: Rig) -> None:
    assert await rig.run("--help me", rig.program("printf", "%s|")) == RunnerEnd("--help me|")


async def test_standard_input_is_no_pipe(rig: Rig) -> None:
    end = await rig.run("x", shell(rig, "readlink /proc/self/fd/0"))
    assert end.text == "/dev/null"


async def test_escapes_are_taken_out_and_lines_are_progress(rig: Rig) -> None:
    script = r"printf '\033[31mred\033[0m\033]0;title\007\n10%%\r100%%\r\nend\001'; echo no >&2"
    assert await rig.run("x", shell(rig, script)) == RunnerEnd("red\n100%\nend")
    assert rig.lines != []
    assert "\x1b" not in "".join(rig.lines)


async def test_a_long_answer_is_cut_with_a_mark(rig: Rig) -> None:
    end = await rig.run("x", shell(rig, "printf A; head -c 30M /dev/zero | tr '\\0' b; printf Z"))
    assert len(end.text) < 201_000
    assert end.text[0] + end.text[-1] == "AZ"
    assert "bytes left out …]" in end.text
    assert end.error == ""


async def test_a_failure_is_told_with_the_end_of_the_errors(rig: Rig) -> None:
    flood = "head -c 20M /dev/zero | tr '\\0' e >&2; echo; echo part; echo the reason >&2; exit 4"
    end = await rig.run("x", shell(rig, flood))
    assert end.text == "part"
    assert "The runner sh ended with exit code 4 on the task." in end.error
    assert end.error.endswith("the reason")
    assert len(end.error) < 2500


async def test_a_task_too_long_for_an_argument_is_told_so(rig: Rig) -> None:
    longest = "ä" * 50_000
    assert (await rig.run(longest, shell(rig, "printf %s ${#1}"))).error == ""
    end = await rig.run(longest + "!", shell(rig, "touch ran"))
    assert "The task has 100001 bytes" in end.error
    assert "put the long part into a file of the workspace" in end.error
    assert not (rig.workspace / "ran").exists()


async def test_a_nul_and_half_characters_in_a_task_do_no_harm(rig: Rig) -> None:
    assert await rig.run("a\0b\ud800c", rig.program("printf", "%s")) == RunnerEnd("a b?c")


async def test_a_hang_is_ended_with_all_its_processes_and_what_it_printed_is_kept(
    rig: Rig,
) -> None:
    script = "trap '' TERM; echo so far; sleep 600 & sleep 600"
    began = time.monotonic()
    end = await rig.run("x", shell(rig, script), timeout_s=0.5)
    assert time.monotonic() - began < 2.5
    assert end.text == "so far"
    assert "it took longer than 0.5 s" in end.error
    assert rig.processes() == []


async def test_cancelling_ends_all_its_processes(rig: Rig) -> None:
    running = asyncio.ensure_future(
        rig.run("x", shell(rig, "trap '' TERM; setsid sleep 600 & echo up; sleep 600"))
    )
    await rig.until("up")
    assert rig.processes() != []
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await rig.ended()


async def test_a_child_in_the_background_holds_nothing_up(rig: Rig) -> None:
    assert await rig.run("x", shell(rig, "sleep 600 & echo done")) == RunnerEnd("done")
    assert rig.processes() == []


async def test_a_program_that_is_not_there_or_cannot_run_is_told_with_the_remedy(rig: Rig) -> None:
    (rig.workspace / "plain.txt").write_text("no program")
    for command in ("no-such-agent", "./plain.txt"):
        end = await rig.run("x", rig.program(command))
        assert "`acp_command` must name a program that is visible inside the sandbox" in end.error


async def test_a_program_of_the_workspace_can_be_the_runner(rig: Rig) -> None:
    program = rig.workspace / "agent.sh"
    program.write_text("#!/bin/sh\necho did $1\n")
    program.chmod(0o755)
    assert await rig.run("it", rig.program("./agent.sh")) == RunnerEnd("did it")


async def test_it_is_held_as_commands_are(rig: Rig) -> None:
    script = "touch inside; touch /usr/x 2>&1; cat $SECRET_FILE 2>&1; ulimit -t"
    secret = str(rig.lane.data / "secret.txt")
    end = await rig.run("x", shell(rig, script, SECRET_FILE=secret))
    assert (rig.workspace / "inside").exists()
    assert "Read-only file system" in end.text
    assert "No such file" in end.text
    assert end.text.endswith("unlimited")  # it may work for long; its wall time is bounded


async def test_it_has_the_network_that_its_profile_gives_it(rig: Rig) -> None:
    async with listening() as port:
        script = f"exec 3<>/dev/tcp/127.0.0.1/{port} && cat <&3"
        own = rig.program("bash", "-c", script)
        assert "Connection refused" in (await rig.run("x", own)).error
        assert (await rig.run("x", replace(own, network=True))).text == "hello"


async def test_memory_and_files_are_limited(tmp_path: Path) -> None:
    async with open_rig(tmp_path, WorkspaceOptions(memory_mb=64, file_mb=1)) as rig:
        end = await rig.run("x", shell(rig, "head -c 200M /dev/zero | tail -c 190M | wc -c"))
        assert "memory exhausted" in end.error or end.text == "0"
        await rig.run("x", shell(rig, "head -c 5M /dev/zero > big"))
        assert (rig.workspace / "big").stat().st_size == 1024 * 1024


async def test_nothing_of_the_gateways_environment_gets_in(tmp_path: Path) -> None:
    script = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from tests.e2e.runner_rig import open_rig\n"
        "async def main():\n"
        "    async with open_rig(Path(sys.argv[1])) as rig:\n"
        '        all_of_it = \'env; cat /proc/[0-9]*/environ | tr "\\\\0" "\\\\n"\'\n'
        "        print((await rig.run('x', rig.program('sh', '-c', all_of_it, A='b'))).text)\n"
        "asyncio.run(main())\n"
    )
    env = {"PATH": os.defpath, "PYTHONPATH": str(ROOT), "TELEGRAM_BOT_TOKEN": "token-of-the-bot"}
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, str(tmp_path), env=env, stdout=asyncio.subprocess.PIPE
    )
    said = (await child.communicate())[0].decode()
    assert "A=b" in said.splitlines()
    assert "token-of-the-bot" not in said


async def test_without_the_sdk_text_works_and_the_protocol_is_told_with_the_remedy(
    tmp_path: Path,
) -> None:
    """A machine on which the extra is not installed, by a package that says so."""
    (tmp_path / "acp").mkdir()
    missing = 'raise ModuleNotFoundError("No module named \'acp\'", name="acp")\n'
    (tmp_path / "acp" / "__init__.py").write_text(missing)
    script = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from adapters.acp.runner import AcpRunners\n"
        "from adapters.workspace.options import WorkspaceOptions\n"
        "from core.delegation.worker import Runner, RunnerMode\n"
        "from core.errors import UserError\n"
        "from tests.e2e.workspace_lane import open_lane\n"
        "async def main():\n"
        "    async with open_lane(Path(sys.argv[1]), WorkspaceOptions()) as lane:\n"
        "        runners = AcpRunners(lane.tools.terminal.start_runner)\n"
        "        for mode in RunnerMode:\n"
        "            runner = Runner(command='echo', mode=mode)\n"
        "            end = await runners.run(\n"
        "                runner, 'hi', lane.context(), permit=None, timeout_s=30)\n"
        "            print(end.text, end.error)\n"
        "        runners.check([Runner(command='echo', mode=RunnerMode.TEXT)])\n"
        "        try:\n"
        "            runners.check([Runner(command='echo')])\n"
        "        except UserError as error:\n"
        "            print('refused', error)\n"
        "asyncio.run(main())\n"
    )
    env = {"PATH": os.defpath, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, str(tmp_path), env=env, stdout=asyncio.subprocess.PIPE
    )
    said = (await child.communicate())[0].decode().splitlines()
    assert "pip install '.[acp]'" in said[0]
    assert said[1].strip() == "hi"
    assert said[2].startswith("refused")
