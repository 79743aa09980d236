"""People come first: before the queued continuation, and before a verdict that is on its way."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.openai_replies import calls, text, verdict
from tests.fakes.telegram_world import BOB
from tests.scenarios.rig import counting, running_bot

NOT_YET = verdict(reason="c is missing.", done=False)
DONE = verdict(reason="All is there.", done=True)


async def test_a_message_during_the_judges_call_is_answered_at_once(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script(
            "main",
            calls(("write_file", {"path": "a.txt", "content": "1"})),
            text("a is there."),
            calls(("write_file", {"path": "c.txt", "content": "3"})),
            text("c is there as well."),
        )
        bot.models.script("judge", text(NOT_YET.text, gate="slow"), DONE)
        bot.say("/goal write a and c")
        await bot.asked(1, "judge")
        bot.say("write c now")
        await bot.heard("a is there.", "c is there as well.")
        bot.models.open("slow")
        said = await bot.heard("✓ Goal achieved: All is there.")
        assert "↻" not in "".join(said), "the late verdict about the first turn was dropped"
        [_, second] = bot.models.of("judge")
        assert "wrote a.txt" in second.said()
        assert "wrote c.txt" in second.said()
        bot.say("/goal")
        await bot.heard("⊙ Goal (done, 1/20 turns)")


async def test_a_verdict_while_a_persons_turn_runs_changes_nothing(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        early = text(verdict(reason="Early.", done=True).text, gate="verdict", usage=(7000, 0, 1))
        first = text("First.", usage=(1000, 0, 0))
        bot.models.script("main", first, text("Yes.", gate="turn"), text("Third."))
        bot.models.script("judge", early, NOT_YET, DONE)
        bot.say("/goal write it")
        await bot.asked(1, "judge")
        bot.say("will you also check it?")
        await bot.asked(2)
        bot.models.open("verdict")
        while "Early." not in (status := await bot.status()) and "\nUsed: 8,001 " not in status:
            pass  # the verdict is in once its tokens are counted
        assert "active, 1/20 turns" in status
        bot.models.open("turn")
        said = await bot.heard(
            "Yes.", "↻ Continuing toward goal (1/20): c is missing.", "✓ Goal achieved"
        )
        assert "✓ Goal achieved: Early." not in said


async def test_a_message_goes_before_the_queued_continuation(tmp_path: Path) -> None:
    """Bob's turn holds the only slot, so that Anna's continuation has to wait for it."""
    members = {"telegram": {"members": [BOB.id]}}
    async with running_bot(tmp_path, access=members, agent={"max_concurrent_turns": 1}) as bot:
        bot.models.script(
            "main",
            text("First."),
            text("For Bob.", gate="bob"),
            text("For Anna."),
        )
        bot.models.script("judge", text(NOT_YET.text, gate="verdict"), DONE)
        bot.say("/goal write it")
        await bot.asked(1, "judge")
        bot.say("hello", user=BOB)
        await bot.asked(2)
        bot.models.open("verdict")
        await bot.heard("↻ Continuing toward goal (1/20): c is missing.")
        bot.say("c is there, look")
        await bot.all_said()
        bot.models.open("bob")
        await bot.heard("For Anna.", "✓ Goal achieved: All is there.")
        assert bot.models.of("main")[2].said() == "c is there, look"
        assert len(bot.models.of("main")) == 3, "the continuation never began"


async def test_a_persons_message_waits_for_the_running_goal_turn(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Goal turn.", gate="slow"), text("Person's turn."))
        bot.models.script("judge", DONE)
        bot.say("/goal write it")
        await bot.asked(1)
        bot.say("and now?")
        await bot.all_said()
        bot.models.open("slow")
        said = await bot.heard("✓ Goal achieved")
        assert said[1:] == ["Goal turn.", "Person's turn.", "✓ Goal achieved: All is there."]
        assert len(bot.models.of("judge")) == 1


async def test_a_slow_judge_delays_no_other_lane(tmp_path: Path) -> None:
    members = {"telegram": {"members": [BOB.id]}}
    async with running_bot(tmp_path, access=members) as bot:
        bot.models.script("main", text("Anna's first."))
        bot.models.script("judge", text(DONE.text, gate="slow"), DONE)
        bot.say("/goal slow")
        await bot.asked(1, "judge")
        bot.models.script("main", text("Bob's first."))
        bot.say("/goal quick", user=BOB)
        await bot.heard("Bob's first.", "✓ Goal achieved: All is there.", chat=BOB.id)
        assert bot.said()[1:] == ["Anna's first."]
        bot.models.open("slow")
        await bot.heard("✓ Goal achieved: All is there.")


async def test_a_slow_turn_delays_no_other_lane(tmp_path: Path) -> None:
    members = {"telegram": {"members": [BOB.id]}}
    async with running_bot(tmp_path, access=members) as bot:
        bot.models.script("main", text("For Anna.", gate="slow"))
        bot.models.default("main", counting("For Bob"))
        bot.say("think hard")
        await bot.asked(1)
        for number in range(1, 4):
            bot.say("quick", user=BOB)
            await bot.heard(f"For Bob {number}.", chat=BOB.id)
        assert bot.said() == []
        bot.models.open("slow")
        await bot.heard("For Anna.")
