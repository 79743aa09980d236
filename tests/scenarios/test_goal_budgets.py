"""A goal's budgets: caps are checked before each model call, and only owners change them."""

from __future__ import annotations

import re
from pathlib import Path

from tests.fakes.openai_replies import calls, text, verdict
from tests.fakes.telegram_world import BOB
from tests.scenarios.rig import Bot, counting, running_bot

DONE = verdict(reason="All is there.", done=True)
BOB_MAY_TALK = {"telegram": {"members": [BOB.id]}}
LOOK = ("list_files", {"path": "."})


def advice(bot: Bot) -> str:
    """The command that the newest pause names as an example."""
    [command] = re.findall(r"for example (/goal budget \S+),", bot.said()[-1])
    return str(command)


async def test_a_token_cap_set_in_mid_turn_pauses_and_its_advice_helps(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", calls(LOOK, gate="slow"), text("Nothing there yet."))
        bot.models.script("judge", DONE)
        bot.say("/goal look round")
        await bot.asked(1)
        bot.say("/goal budget tokens=10")
        await bot.heard("Budget: 20 turns, 10 tokens, any cost, any time.")
        bot.models.open("slow")
        await bot.heard("⏸ Goal paused: its token budget does not cover the next model call. ")
        assert len(bot.models.of("main")) == 1
        assert not bot.models.of("judge")
        bot.say(advice(bot))
        await bot.heard("⏸ Goal paused", "Budget: 20 turns, ")
        bot.say("/goal resume")
        await bot.heard("▶ Goal resumed", "Nothing there yet.", "✓ Goal achieved: All is there.")


async def test_a_person_is_answered_though_the_goals_cap_is_reached(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Half of it is there.", gate="slow"))
        bot.say("/goal look round")
        await bot.asked(1)
        bot.say("/goal pause")
        await bot.heard("⏸ Goal paused: as you asked.")
        bot.models.open("slow")
        await bot.heard("Half of it is there.")
        bot.models.script("main", calls(LOOK, gate="again"), text("Nothing new."))
        bot.say("anything new?")
        await bot.asked(2)
        bot.say("/goal budget tokens=10")
        bot.say("/goal resume")
        await bot.heard("▶ Goal resumed")
        bot.models.open("again")
        await bot.heard("⏸ Goal paused: its token budget does not cover", "Nothing new.")
        assert await bot.status() == (await bot.heard("⊙ Goal (paused, "))[-1]
        assert len(bot.models.of("main")) == 3
        assert "anything new?" in str(bot.models.of("main")[-1].messages())
        assert not bot.models.of("judge")


async def test_a_cost_cap_counts_the_judge_and_pauses(tmp_path: Path) -> None:
    price = {"price": {"input": 100, "output": 100}}
    async with running_bot(tmp_path, models={"main": price, "judge": price}) as bot:
        bot.models.default("main", counting())
        more = verdict(reason="More.", done=False).text
        bot.models.script("judge", text(more, usage=(40_000, 0, 1)), DONE)
        bot.say("/goal spend")
        bot.say("/goal budget cost=$5")
        await bot.heard("Budget: 20 turns, any tokens, $5, any time.")
        await bot.heard("⏸ Goal paused: its cost budget does not cover the next model call. ")
        assert len(bot.models.of("main")) == 1
        bot.say(advice(bot))
        bot.say("/goal resume")
        await bot.heard("▶ Goal resumed", "✓ Goal achieved: All is there.")


async def test_a_cost_cap_is_not_set_where_a_price_is_unknown(tmp_path: Path) -> None:
    price = {"price": {"input": 100, "output": 100}}
    async with running_bot(tmp_path, models={"main": price}) as bot:
        bot.models.script("main", text("Begun.", gate="slow"))
        bot.models.script("judge", DONE)
        bot.say("/goal spend")
        await bot.asked(1)
        bot.say("/goal budget cost=$5")
        await bot.heard(
            "The budget stays as it was: a cost budget cannot hold, as no price is known of "
            "judge. Set its price in the configuration, or cap tokens instead: "
        )
        bot.models.open("slow")
        await bot.heard("✓ Goal achieved: All is there.")


async def test_a_configured_cost_cap_that_cannot_hold_pauses_in_words(tmp_path: Path) -> None:
    async with running_bot(tmp_path, goals={"max_cost": 5}) as bot:
        bot.say("/goal spend")
        await bot.heard("⏸ Goal paused: a cost budget cannot hold, as no price is known of main. ")
        assert not bot.models.of("main")
        bot.models.script("main", text("All of it."))
        bot.models.script("judge", DONE)
        bot.say("/goal budget cost=none tokens=1_000_000")
        bot.say("/goal resume")
        await bot.heard("▶ Goal resumed", "All of it.", "✓ Goal achieved: All is there.")


async def test_a_judge_that_a_cap_does_not_cover_is_not_asked(tmp_path: Path) -> None:
    async with running_bot(tmp_path, goals={"max_tokens": 30_000}) as bot:
        bot.models.script("main", text("All of it.", usage=(29_000, 0, 100)), text("Again."))
        bot.models.script("judge", DONE)
        bot.say("/goal spend")
        await bot.heard(
            "All of it.",
            "⏸ Goal paused: its token budget does not cover the next model call. ",
        )
        assert not bot.models.of("judge")
        bot.say(advice(bot))
        bot.say("/goal resume")
        await bot.heard("▶ Goal resumed", "Again.", "✓ Goal achieved: All is there.")
        used = re.findall(r"Used: ([\d,]+) tokens", await bot.status())
        assert int(used[0].replace(",", "")) < 40_000, "reservations are settled"


async def test_a_time_cap_pauses_and_its_advice_helps(tmp_path: Path) -> None:
    async with running_bot(tmp_path, goals={"max_seconds": 1}) as bot:
        bot.models.script("main", calls(("run", {"command": "sleep 1.2"})), text("Slept."))
        bot.models.script("judge", DONE)
        bot.say("/goal sleep")
        await bot.heard("⏸ Goal paused: its time budget does not cover the next model call. ")
        bot.say(advice(bot))
        bot.say("/goal resume")
        await bot.heard("▶ Goal resumed", "Slept.", "✓ Goal achieved")


async def test_a_turn_budget_changed_in_place_keeps_the_counter(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.default("main", counting())
        bot.models.script("main", text("Begun.", gate="slow"))
        bot.models.default("judge", verdict(reason="More.", done=False))
        bot.say("/goal count")
        await bot.asked(1)
        bot.say("/goal budget turns=2 time=2h")
        await bot.heard("Budget: 2 turns, any tokens, any cost, 2h.")
        bot.models.open("slow")
        await bot.heard("↻ Continuing toward goal (1/2): More.", "⏸ Goal paused — 2/2 turns used.")


async def test_a_member_sets_goals_but_no_budgets(tmp_path: Path) -> None:
    async with running_bot(tmp_path, access=BOB_MAY_TALK) as bot:
        bot.models.script("main", text("Begun.", gate="slow"))
        bot.models.script("judge", DONE)
        bot.say("/goal count", user=BOB)
        await bot.asked(1)
        bot.say("/goal budget turns=500", user=BOB)
        await bot.heard("Only owners may change a goal's budget.", chat=BOB.id)
        bot.models.open("slow")
        await bot.heard("✓ Goal achieved", chat=BOB.id)


async def test_a_budget_that_cannot_be_read_says_how_it_is_written(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Begun.", gate="slow"))
        bot.say("/goal count")
        await bot.asked(1)
        bot.say("/goal budget turns=many")
        await bot.heard(
            "“turns=many” is not a budget. "
            "Usage: /goal budget turns=N tokens=N cost=N time=2h (each one optional)."
        )
