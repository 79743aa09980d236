"""/new, /sessions and /resume; a goal stays with its session."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.openai_replies import text, verdict
from tests.scenarios.rig import running_bot

NOT_YET = verdict(reason="Not yet.", done=False)
DONE = verdict(reason="All is there.", done=True)
NEW = "✦ New session. The old one is kept: /sessions lists it, /resume goes back."


async def test_a_new_session_knows_nothing_of_the_old_one(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Hi Anna."), text("I do not know."), text("Anna."))
        bot.say("I am Anna")
        await bot.heard("Hi Anna.")
        bot.say("/new")
        bot.say("who am I?")
        await bot.heard(NEW, "I do not know.")
        assert len(bot.models.of("main")[1].messages()) == 2
        bot.say("/sessions")
        await bot.heard(
            "Sessions of this chat, newest first (/resume N goes to one):\n"
            "1. who am I? · 1 turn ← here\n"
            "2. I am Anna · 1 turn"
        )
        bot.say("/resume")
        bot.say("who am I?")
        await bot.heard("✦ Back in session “I am Anna” (1 turn).", "Anna.")
        assert len(bot.models.of("main")[2].messages()) == 4


async def test_a_message_queued_before_new_belongs_to_the_old_session(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("1.", gate="slow"), text("2."), text("3."))
        bot.say("one")
        await bot.asked(1)
        bot.say("two")
        bot.say("/new")
        bot.say("three")
        bot.models.open("slow")
        assert await bot.heard("3.") == ["1.", "2.", NEW, "3."]
        lengths = [len(request.messages()) for request in bot.models.of("main")]
        assert lengths == [2, 4, 2]


async def test_switches_wait_their_turn_and_know_of_each_other(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("1.", gate="slow"), text("2."), text("3."))
        bot.say("one")
        await bot.asked(1)
        bot.say("/new")
        bot.say("two")
        bot.say("/resume")
        bot.say("/resume 1")
        bot.say("three")
        bot.models.open("slow")
        back = "✦ Back in session “one” (1 turn)."
        here = "You are in that session already."
        said = await bot.heard("3.")
        assert [words for words in said if words != here] == ["1.", NEW, "2.", back, "3."]
        assert here in said
        lengths = [len(request.messages()) for request in bot.models.of("main")]
        assert lengths == [2, 2, 4]


async def test_a_goal_is_suspended_by_new_and_goes_on_by_resume(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Half."), text("Something else."), text("The rest."))
        bot.models.script("judge", text(NOT_YET.text, gate="slow"))
        bot.say("/goal write it")
        await bot.asked(1, "judge")
        bot.say("/new")
        await bot.heard(NEW)
        bot.models.open("slow")
        bot.say("/goal")
        await bot.heard("No active goal.")
        bot.say("hi")
        await bot.heard("Something else.")
        bot.say("/sessions")
        await bot.heard("2. write it · 1 turn · goal active")
        bot.models.script("judge", NOT_YET, DONE)
        bot.say("/resume 2")
        said = await bot.heard(
            "✦ Back in session “write it” (1 turn).",
            "▶ Going on with the goal (1/20 turns): write it",
            "↻ Continuing toward goal (1/20): Not yet.",
            "The rest.",
            "✓ Goal achieved: All is there.",
        )
        assert "".join(said).count("▶ Going on") == 1


async def test_a_paused_goal_stays_paused_in_its_session(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Half.", gate="slow"))
        bot.say("/goal write it")
        await bot.asked(1)
        bot.say("/stop")
        bot.say("/new")
        await bot.heard(NEW)
        bot.say("/resume")
        await bot.heard("✦ Back in session “write it” (1 turn).")
        said = await bot.all_said()
        assert "▶" not in "".join(said)
        assert "⊙ Goal (paused, 0/20 turns)" in await bot.status()


async def test_resume_of_what_is_not_there_lists_what_is(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.say("/resume 7")
        bot.say("/resume")
        said = await bot.all_said()
        assert [words.split(" Sessions")[0] for words in said] == ["There is no such session."] * 2


async def test_a_goals_rest_survives_a_visit_elsewhere(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("The build runs."))
        bot.models.script("judge", text(NOT_YET.text, gate="never"))
        bot.say("/goal get the build green")
        await bot.asked(1, "judge")
        bot.say("/goal wait 20m")
        bot.say("/new")
        await bot.heard(NEW)
        bot.say("/resume")
        await bot.heard("⏲ Goal waits 20m", NEW, "✦ Back in session", "▶ Going on with the goal")
        assert "Next: it goes on in 19m" in await bot.status()
        assert len(bot.models.of("main")) == 1
