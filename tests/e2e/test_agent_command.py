"""`pursuit agent`: one task, in a process of its own, over the real SDK and the real store."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from core.transcript import Json
from tests.e2e.agent_process import (
    PURSUIT,
    WITHIN_S,
    Ended,
    configured,
    ended,
    environment,
    pursuit,
    started,
)
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import Answer, calls, refusal, text, verdict
from tests.fakes.openai_seen import role_of
from tests.scenarios.rig import eventually, nap, processes

DANGER = "rm -f /opt/there-is-no-such-file"
WRITE = calls(("write_file", {"path": "a.txt", "content": "one"}))


@dataclass(slots=True)
class Desk:
    """A folder to work in, and the models."""

    home: Path
    cwd: Path
    models: FakeOpenAI
    config: Path

    async def agent(self, *line: str) -> Ended:
        """Run `pursuit agent` to its end."""
        return await pursuit(self.home, self.cwd, *self.line(*line))

    def line(self, *line: str) -> tuple[str, ...]:
        """The command line."""
        return ("agent", *line, "--config", str(self.config), "--log-level", "error")


def by_name(body: dict[str, object]) -> str:
    """The role of a request: the critic asks for JSON as judges do, and has a model of its own."""
    return "critic" if body.get("model") == "critic" else role_of(body)


@asynccontextmanager
async def desk(tmp_path: Path, **groups: Json) -> AsyncIterator[Desk]:
    """A desk on fresh fakes."""
    cwd = tmp_path / "project"
    cwd.mkdir()
    async with FakeOpenAI(role_of=by_name) as models:  # type: ignore[arg-type]
        yield Desk(tmp_path, cwd, models, configured(tmp_path, models, **groups))


def ruled(word: str, reason: str) -> Answer:
    """The critic's reply."""
    return text(json.dumps({"verdict": word, "reason": reason}))


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
        assert list((tmp_path / "tmp").iterdir()) == []
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
        end = await at.agent("write b.txt", "--verify", "test -f b.txt")
        assert end.code == 1
        assert end.out == "Still there.\n"
        assert end.err.count("[verify] failed: `test -f b.txt` ended with exit code 1") == 2
        assert end.err.splitlines()[-1].startswith("[unverified]: verify: `test -f b.txt`")


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


async def test_a_goal_whose_budget_is_spent_ends_with_3(tmp_path: Path) -> None:
    async with desk(tmp_path, goals={"max_turns": 1}) as at:
        at.models.script("main", text("A start."))
        at.models.script("judge", verdict(done=False, reason="more to do"))
        end = await at.agent("write a novel", "--goal")
        assert end.code == 3
        assert "⏸ Goal paused" in end.err
        assert "[spent]" in end.err


async def test_json_is_one_object_a_line_with_the_result_last(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.models.script("main", WRITE, text("Done."))
        at.models.script("critic", ruled("APPROVE", "the receipt shows it"))
        end = await at.agent("write a.txt", "--json", "--critic")
        events = [json.loads(line) for line in end.out.splitlines()]
        assert [event["event"] for event in events] == [
            "tool_started",
            "tool_ended",
            "gate",
            "answer",
            "result",
        ]
        result = events[-1]
        assert (result["status"], result["exit_code"], result["answer"]) == (
            "verified",
            0,
            "Done.",
        )
        assert result["input_tokens"] > 0
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


async def test_sigint_and_sigterm_end_it_and_all_that_it_started(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        for number in (signal.SIGINT, signal.SIGTERM):
            command = nap()
            at.models.script("main", calls(("run", {"command": command})))
            process = await started(at.home, at.cwd, *at.line("sleep"))
            await eventually(lambda wanted=command: processes(wanted), WITHIN_S)  # type: ignore[misc]
            process.send_signal(number)
            end = await ended(process)
            assert (end.code, end.out) == (130, "")
            assert "[stopped]" in end.err
            assert processes(command) == []
            assert list((tmp_path / "tmp").iterdir()) == []


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
