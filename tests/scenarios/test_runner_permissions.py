"""A local agent runner that asks leave in the chat: approved, refused, stopped, overtaken, cut."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.runner_rig import AGENT, PYTHON, SITE
from tests.fakes.openai_replies import Answer, calls, text
from tests.scenarios.rig import Bot, eventually, running_bot

RUNNER = "PURSUIT_SCENARIO_RUNNER"
CARD = "may an agent do this?"


def settings(mark: Path) -> dict[str, object]:
    """A profile `runner` whose processes carry this mark."""
    runner = {
        "summary": "a local agent",
        "nickname": "Robo",
        "acp_command": PYTHON,
        "acp_args": [str(AGENT)],
        "acp_env": {
            "PYTHONPATH": str(SITE),
            "PYTHONDONTWRITEBYTECODE": "1",
            RUNNER: str(mark),
        },
    }
    return {
        "agent": {"toolsets": ["terminal", "file", "delegation", "think", "send"]},
        "delegation": {"profiles": {"runner": runner}},
        "workspace": {"extra": [str(SITE), str(AGENT.parent)]},
    }


def at_work(mark: Path) -> bool:
    """Whether a runner with this mark lives."""
    wanted = f"{RUNNER}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                return True
        except OSError:
            continue
    return False


def delegate(*orders: str) -> Answer:
    return calls(("delegate_task", {"goal": "\n".join(orders), "profile": "runner"}))


def told(said: str) -> dict[str, object]:
    """The child's result in what the model was told."""
    result = json.loads(said[said.index("{") : said.rindex("}") + 1])
    assert isinstance(result, dict)
    return result


async def card(bot: Bot) -> str:
    """The newest card, once there is one."""
    return (await bot.heard(CARD, within_s=30.0))[-1]


async def test_a_runner_that_is_let_do_it_goes_on_and_ends_the_turn(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **settings(tmp_path)) as bot:
        bot.models.script("main", delegate("ask once", "say  twice ", "ask once"), text("Done."))
        bot.say("build it")
        shown = await card(bot)
        assert "rm -rf build" in shown
        assert "agent: Robo" in shown
        assert at_work(tmp_path)
        assert "E1 approved" in await bot.press("Approve")
        await bot.heard("E2: may an agent do this?", within_s=30.0)
        await bot.press("Deny")
        await bot.heard("Done.")
        assert not at_work(tmp_path)
        result = told((await bot.asked(2))[1].said())
        assert result["status"] == "ok"
        assert result["escalations"] == 2
        assert str(result["summary"]).startswith("allow_once twice reject_once\n\n[Refused")


async def test_other_words_come_first_and_the_runner_goes_on_with_the_answer(
    tmp_path: Path,
) -> None:
    async with running_bot(tmp_path, **settings(tmp_path)) as bot:
        bot.models.script("main", delegate("ask once"), text("Four."), text("Built."))
        bot.say("build it")
        await card(bot)
        bot.say("what is 2 + 2?")
        await bot.heard("Four.")
        assert at_work(tmp_path)
        await bot.press("Approve")
        await bot.heard("Built.")
        assert not at_work(tmp_path)
        assert told((await bot.asked(3))[2].said())["summary"] == "allow_once"


async def test_stop_ends_a_runner_that_waits(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **settings(tmp_path)) as bot:
        bot.models.script("main", delegate("spawn", "ask once"))
        bot.say("build it")
        await card(bot)
        bot.say("/stop")
        await bot.heard("Stopped.")
        await eventually(lambda: not at_work(tmp_path), within_s=3.0)


async def test_an_answer_after_a_restart_comes_too_late_for_the_runner(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **settings(tmp_path)) as bot:
        bot.models.script("main", delegate("ask once"), text("I look first."))
        bot.say("build it")
        await card(bot)
        await bot.restart()
        assert not at_work(tmp_path)
        await bot.press("Approve")
        await bot.heard("I look first.")
        result = told((await bot.asked(2))[1].said())
        assert result["status"] == "interrupted"
        assert "what became of E1 came too late" in str(result["error"])
