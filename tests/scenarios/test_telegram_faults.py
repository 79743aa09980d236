"""What goes wrong between the bot and Telegram, and what the chat shows of it: little."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.openai_replies import text, verdict
from tests.fakes.telegram_faults import Lost, Reset, Status, TooMany
from tests.fakes.telegram_world import ANNA, BOB
from tests.scenarios.rig import counting, running_bot

DONE = verdict(reason="All is there.", done=True)
NOT_YET = verdict(reason="Not yet.", done=False)


async def test_a_lost_answer_of_a_send_gives_one_marked_repeat(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.default("main", counting())
        bot.people.fault("sendMessage", Lost())
        bot.say("hi")
        await bot.heard("(may be a repeat) Step 1.")
        bot.say("and?")
        assert await bot.heard("Step 2.") == ["Step 1.", "(may be a repeat) Step 1.", "Step 2."]


async def test_a_send_that_failed_at_the_server_is_marked_when_it_is_repeated(
    tmp_path: Path,
) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.default("main", counting())
        bot.people.fault("sendMessage", Status(502, "Bad Gateway"))
        bot.say("hi")
        assert await bot.heard("Step 1.") == ["(may be a repeat) Step 1."]


async def test_a_cooling_chat_delays_no_other(tmp_path: Path) -> None:
    access = {"telegram": {"members": [BOB.id]}}
    async with running_bot(tmp_path, access=access) as bot:
        bot.models.default("main", counting())
        bot.people.fault("sendMessage", TooMany(2), chat=ANNA.id)
        bot.say("hi")
        await bot.until(
            lambda: [c for c in bot.people.called("sendMessage", ANNA.id) if c.outcome != "ok"]
        )
        bot.say("hi", user=BOB)
        await bot.heard("Step 2.", chat=BOB.id)
        assert bot.said() == []
        assert await bot.heard("Step 1.") == ["Step 1."]


async def test_a_refused_formatting_goes_out_plain(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("This is **bold**."))
        bot.people.fault("sendMessage", Status(400, "Bad Request: can't parse entities"))
        bot.say("hi")
        await bot.heard("bold")
        [seen] = bot.people.by_bot(ANNA.id)
        assert seen.text == "This is bold."
        assert seen.entities == []


async def test_a_goal_goes_on_although_its_chat_is_gone(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        team = bot.people.group()
        bot.models.script("main", text("Half."), text("All.", gate="slow"), text("Hello."))
        bot.models.script("judge", NOT_YET, DONE)
        bot.say("/goal paint it", chat=team)
        await bot.asked(2)
        bot.people.world.chats[team].blocked = True
        bot.models.open("slow")
        await bot.asked(2, "judge")
        bot.say("hi")
        await bot.heard("Hello.")


async def test_a_flaky_api_loses_nothing_and_keeps_the_order(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.default("main", counting())
        for fault in (Reset(), Status(500), Lost()):
            bot.people.fault("getUpdates", fault)
        for number in range(4):
            bot.say(f"message {number}")
        said = await bot.heard("Step 4.")
        assert said == ["Step 1.", "Step 2.", "Step 3.", "Step 4."]
        assert [r.said() for r in bot.models.of("main")] == [f"message {n}" for n in range(4)]
