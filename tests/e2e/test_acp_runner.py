"""A real agent of the protocol's own SDK in the real sandbox, over its standard streams."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.workspace.options import WorkspaceOptions
from adapters.workspace.orphans import OWNER, end_orphans, owner_of
from core.delegation.ports import Permission, Permitted, RunnerEnd
from core.delegation.worker import Runner
from core.errors import Fenced
from tests.e2e.runner_rig import BARE, MARK, READY, Rig, open_rig, replies, result, shell
from tests.e2e.test_sandbox import listening

ROOT = Path(__file__).parents[2]


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with open_rig(tmp_path) as rig:
        yield rig


def fault(number: int, code: int, message: str) -> dict[str, object]:
    """The refusal of the client's request of that number."""
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}


def asks(number: int) -> dict[str, object]:
    """A request for permission."""
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    call = {"toolCallId": "c1", "title": "Build"}
    params = {"sessionId": "s", "toolCall": call, "options": options}
    method = "session/request_permission"
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


async def test_what_it_said_after_its_last_call_is_the_answer_and_its_steps_are_progress(
    rig: Rig,
) -> None:
    end = await rig.run("say I look.\nplan build|test\ntool make \x1b[1mall\nsay All \nsay done.")
    assert end == RunnerEnd("All done.")
    assert rig.lines == ["plan 2/3: build", "make all", "done: make all"]
    assert rig.processes() == []


async def test_a_permission_is_given_or_refused_for_once_and_never_for_always(rig: Rig) -> None:
    asked: list[Permission] = []

    async def decide(permission: Permission) -> Permitted:
        asked.append(permission)
        allowed = len(asked) < 2
        return Permitted(allowed, "Ann said yes" if allowed else "Ann said no")

    task = "ask once\nsay  \nask always\nsay  \nask once"
    end = await rig.run(task, permit=decide)
    assert end.text == "allow_once cancelled reject_once"
    assert end.refused == (
        "Remove it (it cannot be allowed just once)",
        "Remove it (Ann said no)",
    )
    assert asked == [Permission("Remove it", "other", command="rm -rf build")] * 2
    assert rig.lines == [
        "allowed: Remove it (Ann said yes)",
        "refused: Remove it (it cannot be allowed just once)",
        "refused: Remove it (Ann said no)",
    ]


async def test_what_holds_a_secret_of_the_settings_is_put_to_nobody(rig: Rig) -> None:
    asked: list[Permission] = []

    async def allow(permission: Permission) -> Permitted:
        asked.append(permission)
        return Permitted(allowed=True, reason="Ann said yes")

    calls = (
        {"title": "Use it", "rawInput": {"command": "curl -H sk-123456"}},
        {"title": "Say sk-123456", "rawInput": {"command": "ls"}},
    )
    task = "\n".join(f"beg {json.dumps(call)}\nsay  " for call in calls)
    end = await rig.run(task, rig.runner(API_KEY="sk-123456"), permit=allow)
    assert end.text == "reject_once allow_once"
    assert end.refused == (
        "Use it (what it asks for holds a secret of its `acp_env`, which is shown in no chat)",
    )
    assert asked == [Permission("Say [API_KEY]", "other", command="ls")]


async def test_the_time_that_a_person_takes_is_not_the_runners(rig: Rig) -> None:
    async def slow(_: Permission) -> Permitted:
        await asyncio.sleep(1.1)
        return Permitted(allowed=True, reason="at last")

    own = replies(*READY, asks(7), result(2, stopReason="end_turn"))
    assert await rig.run("x", own, permit=slow, timeout_s=1.0) == RunnerEnd("")
    assert rig.lines == ["allowed: Build (at last)"]


async def test_what_stops_the_asking_stops_the_runner_and_is_raised(rig: Rig) -> None:
    async def fenced(_: Permission) -> Permitted:
        raise Fenced("another attempt has the turn")

    own = replies(*READY, asks(7), then="sleep 600")
    with pytest.raises(Fenced):
        await rig.run("x", replace(own, env={MARK: rig.mark}), permit=fenced)
    assert rig.processes() == []


async def test_what_no_client_capability_offers_is_answered_as_method_not_found(rig: Rig) -> None:
    assert (await rig.run("want /etc/passwd")).text == "-32601 -32601 -32601"


async def test_cancelling_cancels_the_open_permission_and_the_session(rig: Rig) -> None:
    asking = asyncio.Event()

    async def never(_: Permission) -> Permitted:
        asking.set()
        await asyncio.Event().wait()
        raise AssertionError

    running = asyncio.ensure_future(rig.run("ask once\nhang politely", permit=never))
    await asking.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (rig.workspace / "outcome").read_text() == "cancelled"
    assert (rig.workspace / "cancelled").exists()
    assert rig.processes() == []


@pytest.mark.parametrize("options", [WorkspaceOptions(), BARE], ids=["sandboxed", "bare"])
async def test_a_deaf_runner_and_its_stubborn_child_are_gone_within_two_seconds(
    tmp_path: Path, options: WorkspaceOptions
) -> None:
    async with open_rig(tmp_path, options) as rig:
        running = asyncio.ensure_future(rig.run("spawn\ntool child\nhang deaf"))
        await rig.until("child")
        assert len(rig.processes()) >= 2
        began = time.monotonic()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert time.monotonic() - began < 2.0
        assert rig.processes() == []


async def test_after_a_crash_nothing_holds_it_up_and_what_was_said_is_kept(tmp_path: Path) -> None:
    """Without a sandbox, which would end what it left behind by itself."""
    async with open_rig(tmp_path, BARE) as rig:
        end = await rig.run("hold_output\nspawn\nsay Half of it.\ncrash 3")
        assert end.text == "Half of it."
        assert end.error.endswith(
            "ended with exit code 3 in the middle of the task. The end of its error output:\n"
            "out of luck here"
        )
        assert rig.processes() == []


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (shell("echo why >&2; exit 3"), "exit code 3 before it was ready. The end of its"),
        (shell("read -r line; exit 4"), "exit code 4 before it was ready."),
        (replies(READY[0], then="read -r x; kill -9 $$"), "exit code 137 before it was ready."),
        (replies(READY[0], fault(1, -32000, "Log in")), "Log in (code -32000). It wants to be"),
        (shell("exec cat"), "one that prints its answer needs `acp_mode: text`"),
        (replies(fault(0, -32601, "Method not found")), "which belongs into `acp_args`"),
        (replies(result(0, protocolVersion=9)), "version 9 of the Agent Client Protocol and"),
        (replies(result(0, protocol="old")), "gave an answer that cannot be read"),
        (replies(READY[0], result(1)), "gave an answer that cannot be read"),
    ],
)
async def test_a_start_that_fails_is_an_error(rig: Rig, own: Runner, said: str) -> None:
    end = await rig.run("x", own)
    assert end.text == ""
    assert said in end.error


async def test_a_runner_that_closes_its_output_is_ended(tmp_path: Path) -> None:
    async with open_rig(tmp_path, BARE) as rig:
        end = await rig.run("x", replies(READY[0], then="exec >&-; sleep 600"))
        assert "closed its output before it was ready" in end.error


async def test_the_real_agents_own_refusal_is_an_error(rig: Rig) -> None:
    end = await rig.run("say hello", rig.runner(LOGGED_OUT="1"))
    assert "in the profile's `acp_env`" in end.error


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("max_tokens", "limit of tokens"),
        ("max_turn_requests", "limit of model calls"),
        ("refusal", "refused the task"),
        ("cancelled", "as cancelled"),
    ],
)
async def test_another_stop_than_the_end_of_the_turn_is_an_error(
    rig: Rig, reason: str, said: str
) -> None:
    end = await rig.run("x", replies(*READY, result(2, stopReason=reason)))
    assert said in end.error


async def test_floods_and_stray_lines_do_no_harm(rig: Rig) -> None:
    strays = ("raw hello\\20", "raw 42", 'raw {"id": [1]}', 'raw {"id": 2, "error": "x"}')
    end = await rig.run("\n".join(("shout 20000000", *strays, "raw [[[[", "big 200000")))
    assert end.error == ""
    assert len(end.text) == 200_000
    assert end.text[0] + end.text[-1] == "<>"


async def test_a_runner_that_is_no_agent_is_told_so(rig: Rig) -> None:
    end = await rig.run("hello", shell("echo Welcome; exit 0"))
    assert "ended with exit code 0 before it was ready" in end.error
    assert "the first: 'Welcome'" in end.error
    assert "acp_mode: text" in end.error


async def test_endless_garbage_and_an_endless_line_are_ended(rig: Rig) -> None:
    garbage = await rig.run("hello", shell("yes"))
    assert "printed more than 200 lines that are no messages" in garbage.error
    line = await rig.run("hello", shell("yes | tr -d '\\n'"))
    assert "sent a message of more than 50 MB" in line.error


async def test_a_hang_is_ended_when_its_time_is_up(rig: Rig) -> None:
    end = await rig.run("hello", shell("sleep 600"), timeout_s=0.2)
    assert "it took longer than 0.2 s" in end.error


async def test_a_program_that_is_not_there_is_told_with_the_remedy(rig: Rig) -> None:
    end = await rig.run("hello", Runner(command="/root/bin/no-such-agent"))
    assert "no-such-agent cannot be started" in end.error
    assert "`acp_command` must name a program that is visible inside the sandbox" in end.error
    assert "No such file or directory" in end.error


async def test_words_that_cannot_be_executed_are_an_error(rig: Rig) -> None:
    for words in ("a\0b", "x" * 200_000):
        end = await rig.run("hello", Runner(command="sh", args=(words,)))
        assert "cannot be started" in end.error


async def test_without_a_sandbox_the_refusal_is_that_of_commands(tmp_path: Path) -> None:
    async with open_rig(tmp_path, WorkspaceOptions(bwrap="bwrap-that-is-not-there")) as rig:
        end = await rig.run("hello", shell("touch ran"))
        assert "apt install bubblewrap" in end.error
        assert not (rig.workspace / "ran").exists()


async def test_it_writes_in_the_workspace_alone_and_has_no_network(rig: Rig) -> None:
    outside = rig.lane.data / "x"
    async with listening() as port:
        task = f"write inside.txt kept\nwrite /usr/x no\nwrite {outside} no\nconnect {port}"
        end = await rig.run(task)
    assert end.text.startswith("written Read-only file system ")
    assert end.text.endswith("no network")
    assert (rig.workspace / "inside.txt").read_text() == "kept"
    assert not outside.exists()


async def test_its_environment_is_the_sandboxs_and_what_the_settings_give(tmp_path: Path) -> None:
    """In a gateway of its own, with a secret in its environment."""
    script = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from tests.e2e.runner_rig import open_rig\n"
        "async def main():\n"
        "    async with open_rig(Path(sys.argv[1])) as rig:\n"
        "        end = await rig.run('env', rig.runner(GIVEN='this', API_KEY='sk-123456'))\n"
        "        print(end.text)\n"
        "asyncio.run(main())\n"
    )
    env = {"PATH": os.defpath, "PYTHONPATH": str(ROOT), "TELEGRAM_BOT_TOKEN": "token-of-the-bot"}
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, str(tmp_path), env=env, stdout=asyncio.subprocess.PIPE
    )
    said = (await child.communicate())[0].decode()
    own, _ = json.loads(said)
    assert "token-of-the-bot" not in said
    assert own["GIVEN"] == "this"
    assert own["API_KEY"] == "[API_KEY]"  # it got the key; what it says of it is masked
    assert own["HOME"].startswith(str(tmp_path))
    assert own[OWNER] == owner_of(tmp_path / "data")


async def test_what_outlives_a_killed_gateway_is_ended_by_its_next_life(tmp_path: Path) -> None:
    script = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from tests.e2e.runner_rig import BARE, open_rig\n"
        "async def main():\n"
        "    async with open_rig(Path(sys.argv[1]), BARE) as rig:\n"
        "        running = asyncio.ensure_future(rig.run('spawn\\ntool up\\nhang deaf'))\n"
        "        await rig.until('up')\n"
        "        print(rig.mark, flush=True)\n"
        "        await running\n"
        "asyncio.run(main())\n"
    )
    env = {"PATH": os.defpath, "PYTHONPATH": str(ROOT)}
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, str(tmp_path), env=env, stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    mark = (await child.stdout.readline()).decode().strip()
    child.kill()
    await child.communicate()
    async with open_rig(tmp_path / "other") as other:
        left = Rig(other.lane, other.runners, mark)
        assert left.processes() != []
        assert await asyncio.to_thread(end_orphans, tmp_path / "data") >= 1
        assert left.processes() == []
