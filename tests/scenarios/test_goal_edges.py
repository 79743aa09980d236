"""The corners of a goal's life: commands at the wrong time, twice, or from the wrong person."""

from __future__ import annotations

import json
from pathlib import Path

from tests.fakes.openai_replies import calls, text, verdict
from tests.fakes.telegram_world import BOB
from tests.scenarios.rig import counting, nap, running_bot, settings_of

NOT_YET = verdict(reason="Not yet.", done=False)
DONE = verdict(reason="All is there.", done=True)


async def test_a_judge_that_waits_for_a_background_process_parks_the_goal(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        build = ("run", {"command": nap(), "background": True})
        bot.models.script("main", calls(build), text("The build runs."), text("It is green."))
        wait = {"reason": "The build runs.", "done": False, "blocked": False, "wait_s": 1}
        bot.models.script("judge", text(json.dumps(wait)), DONE)
        bot.say("/goal get the build green")
        await bot.heard(
            "⏲ Goal waits 1s: The build runs.", "It is green.", "✓ Goal achieved: All is there."
        )
        assert "wait_s" in str(bot.models.of("judge")[0].body["response_format"])


async def test_without_a_background_process_the_judge_cannot_park(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.default("main", counting())
        wait = {"reason": "Wait.", "done": False, "blocked": False, "wait_s": 1000}
        bot.models.script("judge", text(json.dumps(wait)), DONE)
        bot.say("/goal sleep")
        await bot.heard("↻ Continuing toward goal (1/20): Wait.", "✓ Goal achieved")


async def test_a_message_to_a_paused_goal_is_answered_and_not_judged(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Half."), text("Nothing much."))
        bot.models.script("judge", text(NOT_YET.text, gate="never"))
        bot.say("/goal write it")
        await bot.asked(1, "judge")
        bot.say("/goal pause")
        bot.say("what is up?")
        await bot.heard("⏸ Goal paused: as you asked.", "Nothing much.")
        assert "⊙ Goal (paused, 1/20 turns)" in await bot.status()
        assert len(bot.models.of("judge")) == 1


async def test_what_is_done_can_be_looked_at_and_cleared_but_not_resumed(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Done."))
        bot.models.script("judge", DONE)
        bot.say("/goal write it")
        await bot.heard("✓ Goal achieved")
        bot.say("/goal resume")
        bot.say("/goal pause")
        bot.say("/goal wait 5m")
        bot.say("/goal show")
        bot.say("/goal clear")
        said = (await bot.all_said())[3:]
        assert said[:3] == ["That goal is done. Set a new one with /goal <text>."] * 3
        assert said[3].startswith("⊙ Goal (done, 1/20 turns): write it\n")
        assert said[4] == "✗ Goal cleared."


async def test_commands_that_come_twice_change_nothing_more(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Half.", gate="never"))
        bot.say("/goal write it")
        await bot.asked(1)
        bot.say("/goal resume")
        bot.say("/goal pause")
        bot.say("/goal pause")
        bot.say("/goal wait 5m")
        bot.say("/goal clear")
        bot.say("/goal clear")
        assert (await bot.all_said())[1:] == [
            "The goal is being worked on already.",
            "⏸ Goal paused: as you asked. The running turn finishes.",
            "The goal is paused already. /goal resume goes on.",
            "The goal is not active. /goal resume goes on.",
            "✗ Goal cleared.",
            "No active goal. Set one with /goal <text>.",
        ]


async def test_a_draft_accepted_twice_is_one_goal(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("judge", text('{"goal": "Write a parser."}'))
        bot.models.script("main", text("Half.", gate="slow"))
        bot.say("/goal draft a parser")
        await bot.heard("Proposed goal.")
        await bot.press("Accept")
        await bot.asked(1)
        await bot.press("Accept")
        said = await bot.all_said()
        assert sum("⊙ Goal set" in words for words in said) == 1


async def test_a_draft_in_mid_run_is_rejected(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Half.", gate="never"))
        bot.say("think")
        await bot.asked(1)
        bot.say("/goal draft a parser")
        bot.say("/goal a parser")
        rejected = "⚠ A turn is running. Use /stop first, then set the new goal."
        assert await bot.all_said() == [rejected, rejected]


async def test_a_goal_whose_setter_lost_the_right_pauses(tmp_path: Path) -> None:
    members = {"telegram": {"members": [BOB.id]}}
    async with running_bot(tmp_path, access=members) as bot:
        bot.models.default("main", counting())
        bot.models.script("judge", text(NOT_YET.text, gate="never"), NOT_YET)
        bot.say("/goal write it", user=BOB)
        await bot.asked(1, "judge")
        await bot.stop()
        bot.settings = settings_of(bot.people, bot.models, {})
        await bot.start()
        await bot.heard(
            "⏸ Goal paused: Bob, who set it, may no longer use this bot here. "
            "An owner can take it up with /goal resume.",
            chat=BOB.id,
        )
        assert len(bot.models.of("main")) == 1


async def test_a_goal_whose_setter_lost_the_right_goes_on_for_an_owner_who_takes_it_up(
    tmp_path: Path,
) -> None:
    members = {"telegram": {"members": [BOB.id]}}
    async with running_bot(tmp_path, access=members) as bot:
        team = bot.people.group()
        bot.models.default("main", counting())
        bot.models.script("judge", text(NOT_YET.text, gate="never"), NOT_YET, DONE)
        bot.say("@pursuit_bot /goal write it", user=BOB, chat=team)
        await bot.asked(1, "judge")
        await bot.stop()
        bot.settings = settings_of(bot.people, bot.models, {})
        await bot.start()
        await bot.heard("An owner can take it up with /goal resume.", chat=team)
        bot.say("@pursuit_bot /goal resume", chat=team)
        await bot.heard(
            "▶ Goal resumed",
            "Anna answers for this goal from now on, in place of Bob, who may no longer use this "
            "bot here. It keeps a member's rights: set it again to give it an owner's.",
            "Step 2.",
            "✓ Goal achieved",
            chat=team,
        )


async def test_a_message_whose_sender_lost_the_right_leaves_the_goal_alone(
    tmp_path: Path,
) -> None:
    members = {"telegram": {"members": [BOB.id]}}
    async with running_bot(tmp_path, access=members) as bot:
        team = bot.people.group()
        bot.models.script("main", text("Too late.", gate="never"), text("Half."), text("All."))
        bot.models.script("judge", NOT_YET, DONE)
        bot.say("@pursuit_bot /goal write it", chat=team)
        await bot.asked(1)
        bot.say("@pursuit_bot delete it", user=BOB, chat=team)
        await bot.all_said(team)
        await bot.stop()
        bot.settings = settings_of(bot.people, bot.models, {})
        await bot.start()
        said = await bot.heard(
            "Half.",
            "⚠ Not worked on: the person who sent this may no longer use this bot here.",
            "All.",
            "✓ Goal achieved",
            chat=team,
        )
        assert not any("Goal paused" in words for words in said)


async def test_an_old_goals_verdict_cannot_end_a_new_one(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("First."), text("Second.", gate="never"))
        bot.models.script("judge", text(DONE.text, gate="slow"))
        bot.say("/goal first")
        await bot.asked(1, "judge")
        bot.say("/goal clear")
        bot.say("/goal second")
        await bot.asked(2)
        bot.models.open("slow")
        assert "active, 0/20 turns): second" in await bot.status()


async def test_the_kick_off_that_was_stopped_begins_again_by_resume(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Too late.", gate="never"), text("Written."))
        bot.models.script("judge", DONE)
        bot.say("/goal write it")
        await bot.asked(1)
        bot.say("/stop")
        bot.say("/goal resume")
        await bot.heard("⏹ Stopped.", "▶ Goal resumed", "Written.", "✓ Goal achieved")
        assert "Goal: write it" in bot.models.of("main")[1].said()


async def test_a_long_goal_and_a_long_reason_stay_within_a_message(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        goal, reason = "very " * 700 + "long", "because " * 200
        bot.models.default("main", counting())
        bot.models.script("judge", verdict(reason=reason, done=False), DONE)
        bot.say(f"/goal {goal}")
        for number in range(20):
            bot.say(f"/subgoal {number} " + "criterion " * 300)
        await bot.heard("✓ Goal achieved")
        bot.say("/goal show")
        bot.say("/goal")
        await bot.all_said()
        failed = [c for c in bot.people.called("sendMessage") if c.outcome != "ok"]
        assert not failed
        assert goal.strip() in bot.models.of("main")[0].said()
