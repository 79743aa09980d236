"""The bot asks people: for leave, for a choice, for words; and goes on with what they say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.fakes.openai_replies import Answer, calls, text
from tests.scenarios.rig import running_bot

ASKING: Mapping[str, object] = {"agent": {"toolsets": ["terminal", "file", "ask"]}}
PUSH = "git push --force origin main"


def run(command: str) -> Answer:
    """The model runs a command."""
    return calls(("run", {"command": command}))


def ask(question: str, **fields: object) -> Answer:
    """The model asks a person."""
    return calls(("ask", {"question": question, **fields}))


async def test_an_approved_command_runs_once_and_the_answer_follows(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ASKING) as bot:
        bot.models.script("main", run(PUSH), text("Pushed, or not."))
        bot.say("push it")
        await bot.heard("✋ E1: may this command run?")
        assert "approved" in await bot.press("Approve")
        said = await bot.heard("✓ E1 approved by Anna", "Pushed, or not.")
        assert "✋" not in "\n".join(said)
        told = (await bot.asked(2))[1].said()
        assert told.startswith("Approved by Anna (E1).")
        assert "not a git repository" in told


async def test_a_denied_command_does_not_run(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ASKING) as bot:
        bot.models.script("main", run(PUSH), text("Not pushed."))
        bot.say("push it")
        await bot.heard("✋ E1")
        bot.say("/deny E1 not today")
        await bot.heard("✗ E1 denied by Anna", "Not pushed.")
        told = (await bot.asked(2))[1].said()
        assert "[Outcome of E1: declined]" in told
        assert "not today" in told


async def test_the_chat_goes_on_while_a_question_waits(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ASKING) as bot:
        which = ask("Which colour?", kind="choose", options=["red", "blue"])
        bot.models.script("main", which, text("Four."), text("Blue it is."))
        bot.say("paint it")
        await bot.heard("✋ E1: which one?")
        bot.say("what is 2 + 2?")
        await bot.heard("Four.")
        waiting, _ = (await bot.asked(2))[1].messages()[-2:]
        assert waiting["content"] == "waiting for E1; the answer comes as a message"
        bot.say("/answer E1 blue")
        await bot.heard("Blue it is.")
        told = (await bot.asked(3))[2].said()
        assert told.startswith("[What came of the call ask that waited for a person]")
        assert "chose option 2" in told


async def test_a_restart_changes_nothing_about_a_question(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ASKING) as bot:
        bot.models.script("main", ask("Red or blue?", kind="choose", options=["red", "blue"]))
        bot.say("paint it")
        await bot.heard("✋ E1: which one?")
        await bot.restart()
        bot.models.script("main", text("Blue it is."))
        assert "answered by Anna with option 2" in await bot.press("2. blue")
        await bot.heard("Blue it is.")
        assert "chose option 2" in (await bot.asked(2))[1].said()


async def test_a_goal_waits_for_its_answer_without_turns_judges_or_budget(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ASKING) as bot:
        bot.models.script("main", ask("Which colour?", kind="text"), text("Painted."))
        bot.say("/goal paint the house")
        await bot.heard("✋ E1")
        status = await bot.status()
        assert "a person's answer is waited for" in status
        assert "(0/20)" in status or "0/20" in status
        assert not bot.models.of("judge")
        bot.models.script("judge", text('{"done": true, "blocked": false, "reason": "painted"}'))
        bot.say("/answer E1 blue")
        await bot.heard("Painted.", "✓ Goal achieved")
        assert len(bot.models.of("judge")) == 1
