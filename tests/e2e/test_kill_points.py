"""Single kills, told one by one; `test_kill` has the hundred under load."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from pathlib import Path

import pytest

from tests.e2e.kill_people import REPEAT
from tests.e2e.kill_stage import Stage, stage
from tests.e2e.kill_victim import ROOT
from tests.e2e.kill_world import Moment
from tests.fakes.telegram_faults import Lost
from tests.fakes.telegram_world import ANNA

HEARD_S = 20.0


@pytest.fixture(autouse=True)
def quiet_server(caplog: pytest.LogCaptureFixture) -> None:
    """aiohttp's server reports each caller that is killed in mid-request."""
    caplog.set_level("CRITICAL", "aiohttp.server")


async def _heard(on: Stage, text: str) -> None:
    await on.people.wait_for(lambda: text in "\n".join(on.shown(ANNA)), HEARD_S)


async def _killed(on: Stage, what: str) -> None:
    """One life that ends when a fake sees this moment."""

    def listen(moment: Moment) -> bool:
        if moment.what == what:
            on.bot.kill()
        return False

    on.people.listener = on.models.listener = listen
    await on.bot.start()
    assert await on.bot.ended() == -9
    on.people.listener = on.models.listener = lambda _: False


async def test_a_turn_that_is_cut_three_times_without_a_step_fails_in_words(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, ANNA) as on:
        on.people.say("ask 1 with 0 calls")
        for _ in range(3):
            await _killed(on, "main asks")
        on.people.say("ask 2 with 0 calls")
        await on.bot.start()
        await _heard(on, "answer 2")
        reason = "it was begun 3 times and each time cut by a restart"
        assert on.shown(ANNA) == [f"⚠ This turn failed: {reason}", "answer 2"]


async def test_a_goal_whose_turn_is_cut_three_times_pauses_and_can_be_resumed(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, ANNA) as on:
        on.people.say("/goal reach g1 in 1 turns")
        for _ in range(3):
            await _killed(on, "main asks")
        await on.bot.start()
        await _heard(on, "⏸ Goal paused: it was begun 3 times")
        on.people.say("/goal resume")
        await _heard(on, "✓ Goal achieved: all steps of g1 are there")


async def test_an_answer_that_was_on_its_way_comes_again_with_a_mark(tmp_path: Path) -> None:
    async with stage(tmp_path, ANNA) as on:
        on.people.say("ask 1 with 0 calls")
        await _killed(on, "sendMessage done")
        await on.bot.start()
        await _heard(on, REPEAT)
        assert on.shown(ANNA) == ["answer 1", f"{REPEAT}answer 1"]


async def test_a_status_message_that_came_twice_keeps_its_mark(tmp_path: Path) -> None:
    async with stage(tmp_path, ANNA) as on:
        on.people.fault("sendMessage", Lost())
        on.people.say("/goal reach g1 in 1 turns")
        await on.bot.start()
        await _heard(on, "done · 1/20 turns")
        line = "⊙ Goal set (20-turn budget): reach g1 in 1 turns"
        first, second, *_ = on.shown(ANNA)
        assert (first, second.split("\n")[0]) == (line, f"{REPEAT}{line}")


async def test_a_command_that_was_running_is_told_as_interrupted_and_runs_once(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, ANNA) as on:
        bell = on.workspace(ANNA) / "bell"
        os.mkfifo(bell)
        pipe = os.open(bell, os.O_RDWR | os.O_NONBLOCK)
        asyncio.get_running_loop().add_reader(pipe, on.bot.kill)
        on.people.say("ask 1 with 1 calls, slowly")
        await on.bot.start()
        assert await on.bot.ended() == -9
        asyncio.get_running_loop().remove_reader(pipe)
        os.close(pipe)
        await on.bot.start()
        await _heard(on, "answer 1")
        assert on.shown(ANNA) == ["answer 1"]
        assert (on.workspace(ANNA) / "ledger").read_text() == "ask-1.0 1\n"
        assert "interrupted by a restart" in on.models.asked[-1].said()


async def test_the_command_itself_may_be_killed_while_it_starts(tmp_path: Path) -> None:
    rng = random.Random(7)
    async with stage(tmp_path, ANNA) as on:
        config = tmp_path / "config.yaml"
        config.write_text(json.dumps(on.settings), encoding="utf-8")
        for life in range(1, 4):
            on.people.say(f"ask {life} with 0 calls")
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", "from gateway.cli import main; main()", "up"),
                *("--config", str(config), "--data", str(on.data)),
                cwd=ROOT,
                env={**os.environ, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "s")},
            )
            try:
                if life < 3:
                    await on.people.wait_for(lambda: on.people.counts["getme"] >= life, 60.0)  # noqa: B023
                    await asyncio.sleep(rng.uniform(0.0, 0.2))
                else:
                    await _heard(on, "answer 3")
            finally:
                process.send_signal(signal.SIGKILL)
                assert await process.wait() == -9
        said = [text.removeprefix(REPEAT) for text in on.shown(ANNA)]
        assert list(dict.fromkeys(said)) == [f"answer {n}" for n in range(1, 4)]
