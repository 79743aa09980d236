"""`pursuit agent`: one task, in a process of its own, over the real SDK and the real store."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
from pathlib import Path

import pytest

from core.transcript import Json
from tests.e2e.agent_desk import WRITE, desk, events, ruled
from tests.e2e.agent_process import PURSUIT, WITHIN_S, ended, environment, started
from tests.fakes.openai_replies import calls, refusal, text, verdict
from tests.scenarios.rig import eventually, nap, processes

KEY = "test-key-of-the-fake"
TELLS = (calls(("run", {"command": f"echo {KEY}"})), text(f"The key is {KEY}."))
DANGER = "rm -f /opt/there-is-no-such-file"


async def test_the_answer_is_on_standard_output_and_what_happens_on_standard_error(
    tmp_path: Path,
) -> None:
    async with desk(tmp_path) as at:
        at.models.script("main", WRITE, text("I wrote **a.txt**."))
        end = await at.agent("write a.txt")
        assert (end.code, end.out) == (0, "I wrote **a.txt**.\n")
        assert end.err.splitlines()[0].startswith("✏️ a.txt")
        assert end.err.splitlines()[-1].startswith("[done] (1 turn, ")
        assert (at.cwd / "a.txt").read_text() == "one"


async def test_nothing_of_it_is_kept_and_no_gateways_folder_is_touched(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.models.script("main", text("Done."))
        assert (await at.agent("say done")).code == 0
        assert at.leftovers == []
        assert not (tmp_path / ".local").exists()


async def test_a_critic_that_rejects_sends_the_answer_back(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.models.script("main", text("It is there."), WRITE, text("Now it is there."))
        at.models.script("critic", ruled("REJECT", "no receipt"), ruled("APPROVE", "receipts"))
        end = await at.agent("write a.txt", "--critic-instructions", "Be strict about files.")
        assert (end.code, end.out) == (0, "Now it is there.\n")
        lines = [line for line in end.err.splitlines() if line.startswith("[")]
        assert lines[0] == "[critic] REJECT: no receipt"
        assert lines[1].startswith("[critic] APPROVE")
        assert lines[2].startswith("[verified]")
        assert "Be strict about files." in at.models.of("critic")[0].said()


async def test_an_answer_that_verify_never_lets_pass_ends_with_1(tmp_path: Path) -> None:
    async with desk(tmp_path, gates={"max_bounces": 1}) as at:
        at.models.script("main", text("It is there."), WRITE, text("Still there."))
        end = await at.agent("write b.txt", "--verify", f"echo no {KEY}; test -f b.txt")
        assert end.code == 1
        assert end.out == "Still there.\n"
        failed = "`echo no [redacted]; test -f b.txt` ended with exit code 1: `no [redacted]`"
        assert end.err.count(f"[verify] failed: {failed}\n") == 2
        assert end.err.splitlines()[-1].startswith(f"[unverified]: verify: {failed} (1 turn")


async def test_what_cannot_be_done_ends_with_3(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.models.script("main", text("Nobody can divide by zero."))
        at.models.script("critic", ruled("IMPOSSIBLE", "it has no value"))
        end = await at.agent("divide one by zero", "--critic")
        assert end.code == 3
        assert "[critic] IMPOSSIBLE: it has no value" in end.err
        assert "[blocked]: it has no value" in end.err


async def test_a_goal_is_worked_on_until_it_is_judged_done(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.models.script("main", WRITE, text("One is there."), text("Two as well."))
        at.models.script("judge", verdict(done=False, reason="one is missing"))
        at.models.script("judge", verdict(done=True, reason="both are there"))
        end = await at.agent("write two files", "--goal")
        assert (end.code, end.out) == (0, "Two as well.\n")
        told = [line for line in end.err.splitlines() if not line.startswith("✏️")]
        assert told[:5] == [
            "⊙ Goal set (20-turn budget): write two files",
            "One is there.",
            "↻ Continuing toward goal (1/20): one is missing",
            "Two as well.",
            "✓ Goal achieved: both are there",
        ]


async def test_json_is_one_object_a_line_with_the_result_last(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.models.script("main", WRITE, text("Done."))
        at.models.script("critic", ruled("APPROVE", "the receipt shows it"))
        end = await at.agent("write a.txt", "--json", "--critic")
        told = events(end)
        assert [event["event"] for event in told] == [
            "tool_started",
            "tool_ended",
            "gate",
            "answer",
            "result",
        ]
        result = told[-1]
        assert (result["status"], result["exit_code"], result["answer"]) == (
            "verified",
            0,
            "Done.",
        )
        assert result["input_tokens"]
        assert end.err == ""


async def test_where_there_is_no_terminal_the_work_goes_on_unasked(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.models.script("main", calls(("run", {"command": DANGER})), text("Not removed."))
        end = await at.agent("remove it")
        assert (end.code, end.out) == (0, "Not removed.\n")
        told = at.models.of("main")[1].said()
        assert "[Outcome of E1: undeliverable]" in told


async def test_on_a_terminal_a_question_is_answered_by_its_number(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        question = {"question": "Which?", "kind": "choose", "options": ["red", "blue"]}
        at.models.script("main", calls(("ask", question)), text("Blue it is."))
        near, far = pty.openpty()
        process = await asyncio.create_subprocess_exec(
            *(str(PURSUIT), *at.line("paint it")),
            env=environment(tmp_path),
            cwd=at.cwd,
            stdin=far,
            stdout=asyncio.subprocess.PIPE,
            stderr=far,
        )
        os.close(far)
        screen = await asyncio.to_thread(_until, near, b"Your choice")
        assert b"2. blue" in screen
        os.write(near, b"2\n")
        assert process.stdout is not None
        async with asyncio.timeout(WITHIN_S):
            out = await process.stdout.read()
            code = await process.wait()
        os.close(near)
        assert (code, out.decode()) == (0, "Blue it is.\n")
        assert "chose option 2" in at.models.of("main")[1].said()


def _until(descriptor: int, words: bytes) -> bytes:
    """What the terminal shows up to these words."""
    shown = b""
    while words not in shown:
        shown += os.read(descriptor, 1 << 16)
    return shown


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_ends_it_and_all_that_it_started(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with desk(tmp_path) as at:
        command = nap()
        at.models.script("main", calls(("run", {"command": command})))
        process = await started(at.home, at.cwd, *at.line("sleep"))
        await eventually(lambda: processes(command), WITHIN_S)
        process.send_signal(number)
        end = await ended(process)
        assert (end.code, end.out) == (130, "")
        assert "[stopped]" in end.err
        assert (processes(command), at.leftovers) == ([], [])


async def test_a_second_signal_leaves_nothing_behind_either(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        command = nap()
        at.models.script("main", calls(("run", {"command": command})))
        process = await started(at.home, at.cwd, *at.line("sleep"))
        await eventually(lambda: processes(command), WITHIN_S)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGHUP)
        assert (await ended(process)).code == 130
        assert (processes(command), at.leftovers) == ([], [])


async def test_a_hang_up_that_nohup_has_had_ignored_ends_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.models.script("main", text("Went on.", gate="hung up"))
        process = await asyncio.create_subprocess_exec(
            *("nohup", str(PURSUIT), *at.line("go on")),
            env=environment(tmp_path),
            cwd=at.cwd,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        await at.models.wait_for_requests(1, within_s=WITHIN_S)
        process.send_signal(signal.SIGHUP)
        at.models.open("hung up")
        end = await ended(process)
        assert (end.code, end.out) == (0, "Went on.\n")


async def test_a_command_that_is_named_twice_is_run_once(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.models.script("main", text("Done."))
        end = await at.agent("do it", "--verify", "echo x >> ran", "--verify", " echo x >> ran ")
        assert end.code == 0
        assert (at.cwd / "ran").read_text() == "x\n"


async def test_secrets_are_masked_in_the_answer_and_beside_it(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.models.script("main", *TELLS)
        end = await at.agent("tell the key")
        assert (end.code, end.out) == (0, "The key is [redacted].\n")
        assert "echo [redacted]" in end.err
        assert KEY not in end.err


async def test_secrets_are_masked_in_each_event(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.models.script("main", *TELLS)
        end = await at.agent("tell the key", "--json")
        assert KEY not in end.out + end.err
        told = {str(event["event"]): event for event in events(end)}
        assert told["tool_started"]["summary"] == "echo [redacted]"
        assert told["answer"]["text"] == "The key is [redacted]."
        assert told["result"]["answer"] == "The key is [redacted]."


async def test_a_model_that_refuses_ends_it_with_69(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.models.script("main", refusal(401, "bad key"))
        end = await at.agent("do it")
        assert (end.code, end.out) == (69, "")
        assert "[failed]" in end.err


async def test_a_profile_brings_its_model_tools_and_words(tmp_path: Path) -> None:
    profile: Json = {
        "model": "child",
        "toolsets": ["file"],
        "system_prompt": "You are a careful reader.",
        "constraints": "Never write.",
    }
    async with desk(tmp_path, delegation={"profiles": {"reader": profile}}) as at:
        at.models.script("child", text("Read."))
        assert (await at.agent("read it", "--profile", "reader")).out == "Read.\n"
        (seen,) = at.models.of("child")
        raw = seen.raw.decode()
        assert "You are a careful reader." in raw
        assert "Never write." in raw
        assert '"name": "run"' not in raw.replace('"name":"run"', '"name": "run"')


async def test_a_wrong_line_is_told_before_anything_starts(tmp_path: Path) -> None:
    lines = {
        ("do it", "--model", "mian"): "did you mean `main`?",
        ("do it", "--profile", "nobody"): "there is no profile 'nobody'",
        ("do it", "--profile", "runner"): "is a local agent runner",
        ("/new",): "A task begins with no chat command",
        ("  ",): "Say what is to be done",
        ("status", "--goal"): "is a word of /goal",
        (): "Missing argument 'TASK'",
    }
    runner: Json = {"acp_command": "true", "acp_mode": "text"}
    async with desk(tmp_path, delegation={"profiles": {"runner": runner}}) as at:
        for line, words in lines.items():
            end = await at.agent(*line)
            assert (end.code, end.out) == (2, "")
            assert words in " ".join(end.err.split())
        assert at.models.count == 0


async def test_an_option_that_is_empty_is_wrong_use(tmp_path: Path) -> None:
    lines = {
        ("--model", ""): "--model is empty. Say which model",
        ("--profile", " "): "--profile is empty. Say which profile",
        ("--verify", "true", "--verify", ""): "--verify is empty. Say which command",
        ("--critic-instructions", ""): "--critic-instructions is empty. Say what",
    }
    async with desk(tmp_path) as at:
        for line, words in lines.items():
            end = await at.agent("do it", *line)
            assert (end.code, end.out) == (2, "")
            assert words in " ".join(end.err.split())
        assert at.models.count == 0
