"""What a message does to a running turn: queue, steer, interrupt, collect. And the stall guard."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.openai_replies import calls, text, verdict
from tests.fakes.telegram_world import BOB
from tests.scenarios.rig import Bot, running_bot

LOOK = ("list_files", {"path": "."})
NOT_YET = verdict(reason="Not yet.", done=False)
DONE = verdict(reason="All is there.", done=True)


def questions(bot: Bot) -> list[str]:
    """The last words of each request to the agent's model."""
    return [request.said() for request in bot.models.of("main")]


async def test_waiting_messages_each_get_a_turn_in_their_order(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("1.", gate="slow"), text("2."), text("3."))
        bot.say("one")
        await bot.asked(1)
        bot.say("two")
        bot.say("three")
        bot.models.open("slow")
        assert await bot.heard("3.") == ["1.", "2.", "3."]
        assert questions(bot) == ["one", "two", "three"]


async def test_collect_answers_what_waited_together(tmp_path: Path) -> None:
    async with running_bot(tmp_path, lanes={"collect": True}) as bot:
        bot.models.script("main", text("1.", gate="slow"), text("2 and 3."))
        bot.say("one")
        await bot.asked(1)
        bot.say("two")
        bot.say("three")
        await bot.all_said()
        bot.models.open("slow")
        assert await bot.heard("2 and 3.") == ["1.", "2 and 3."]
        last = bot.models.of("main")[1].messages()[-2:]
        assert [message["content"] for message in last] == ["two", "three"]


async def test_collect_mixes_no_roles(tmp_path: Path) -> None:
    access = {"telegram": {"members": [BOB.id]}}
    async with running_bot(tmp_path, lanes={"collect": True}, access=access) as bot:
        team = bot.people.group()
        bot.models.script("main", text("1.", gate="slow"), text("Anna's."), text("Bob's."))
        bot.say("@pursuit_bot one", chat=team)
        await bot.asked(1)
        bot.say("@pursuit_bot two", chat=team)
        bot.say("@pursuit_bot three", chat=team)
        bot.say("@pursuit_bot four", chat=team, user=BOB)
        await bot.all_said(team)
        bot.models.open("slow")
        assert await bot.heard("Bob's.", chat=team) == ["1.", "Anna's.", "Bob's."]
        assert questions(bot)[1:] == ["Anna: three", "Bob: four"]


@pytest.mark.parametrize("way", ["config", "command"])
async def test_a_steered_message_is_read_at_the_next_step(tmp_path: Path, way: str) -> None:
    lanes = {"busy": "steer"} if way == "config" else {}
    async with running_bot(tmp_path, lanes=lanes) as bot:
        bot.models.script("main", calls(LOOK, gate="slow"), text("With an eye on b."))
        bot.say("do a")
        await bot.asked(1)
        bot.say("mind b" if way == "config" else "/steer mind b")
        await bot.all_said()
        bot.models.open("slow")
        assert await bot.heard("With an eye on b.") == ["With an eye on b."]
        await bot.all_said()
        assert questions(bot) == ["do a", "mind b"]


async def test_a_steered_message_that_comes_too_late_gets_its_own_turn(tmp_path: Path) -> None:
    async with running_bot(tmp_path, lanes={"busy": "steer"}) as bot:
        bot.models.script("main", text("a is done.", gate="slow"), text("b is minded."))
        bot.say("do a")
        await bot.asked(1)
        bot.say("mind b")
        await bot.all_said()
        bot.models.open("slow")
        assert await bot.heard("b is minded.") == ["a is done.", "b is minded."]


async def test_a_file_is_not_steered_but_there_when_the_model_reads_of_it(tmp_path: Path) -> None:
    async with running_bot(tmp_path, lanes={"busy": "steer"}) as bot:
        bot.models.script("main", calls(LOOK, gate="slow"), text("a is done."), text("Read."))
        bot.say("do a")
        await bot.asked(1)
        bot.people.upload("plan.txt", b"the plan", caption="use this plan")
        await bot.all_said()
        bot.models.open("slow")
        await bot.heard("Read.")
        said = questions(bot)[-1]
        assert "use this plan" in said
        [path] = (bot.workspace() / "inbox").iterdir()
        assert path.read_bytes() == b"the plan"
        assert f"inbox/{path.name}" in said


async def test_queue_waits_although_the_lane_steers(tmp_path: Path) -> None:
    async with running_bot(tmp_path, lanes={"busy": "steer"}) as bot:
        bot.models.script("main", calls(LOOK, gate="slow"), text("a."), text("b."))
        bot.say("do a")
        await bot.asked(1)
        bot.say("/queue do b")
        await bot.all_said()
        bot.models.open("slow")
        assert await bot.heard("b.") == ["a.", "b."]
        assert questions(bot)[2] == "do b"


async def test_an_interruption_ends_the_running_turn(tmp_path: Path) -> None:
    async with running_bot(tmp_path, lanes={"busy": "interrupt"}) as bot:
        bot.models.script("main", text("Too late.", gate="never"), text("b is done."))
        bot.say("do a")
        await bot.asked(1)
        bot.say("no, do b")
        assert await bot.heard("b is done.") == ["b is done."]
        told = [message["content"] for message in bot.models.of("main")[1].messages()]
        assert told[1:] == ["do a", "no, do b"], "what was asked stays in the history"


async def test_an_interruption_in_a_goal_keeps_the_goal(tmp_path: Path) -> None:
    async with running_bot(tmp_path, lanes={"busy": "interrupt"}) as bot:
        bot.models.script(
            "main", text("Too late.", gate="never"), text("It is blue."), text("Painted.")
        )
        bot.models.script("judge", NOT_YET, DONE)
        bot.say("/goal paint it")
        await bot.asked(1)
        bot.say("which colour will it be?")
        said = await bot.heard("It is blue.", "↻ Continuing toward goal (1/20)", "✓ Goal achieved")
        assert "Too late." not in said


async def test_steer_and_queue_without_words_say_how_they_are_used(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.say("/steer")
        bot.say("/queue")
        assert await bot.all_said() == ["Usage: /steer <text>", "Usage: /queue <text>"]


async def test_the_third_identical_call_in_a_row_is_refused_with_a_hint(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", calls(LOOK), calls(LOOK), calls(LOOK), text("I give in."))
        bot.say("look")
        await bot.heard("I give in.")
        [_, first, second, third] = questions(bot)
        assert "refused" not in first + second
        assert third.startswith("refused: this call was just made twice with the same arguments")


async def test_three_goal_turns_alike_pause_the_goal(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.default("main", text("I am thinking."))
        bot.models.default("judge", NOT_YET)
        bot.say("/goal think")
        await bot.heard(
            "⏸ Goal paused: 3 turns in a row gave the same answer without using any tool "
            "(the judge: Not yet.). Say what is missing, then /goal resume."
        )
        assert len(bot.models.of("main")) == 3


async def test_turns_that_use_tools_are_no_standstill(tmp_path: Path) -> None:
    async with running_bot(tmp_path, goals={"max_turns": 4}) as bot:
        for number in range(4):
            call = ("write_file", {"path": "n.txt", "content": str(number)})
            bot.models.script("main", calls(call), text("Wrote it."))
        bot.models.default("judge", NOT_YET)
        bot.say("/goal write")
        await bot.heard("⏸ Goal paused — 4/4 turns used.")
