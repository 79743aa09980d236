"""Fail-open: a judge that cannot be asked or read counts as "continue", and not for ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.openai_replies import (
    Scripted,
    calls,
    html,
    rate_limited,
    refusal,
    server_error,
    text,
    verdict,
)
from tests.scenarios.rig import counting, running_bot

DONE = verdict(reason="All is there.", done=True)
QUICK = {"goal_judge": {"timeout_s": 1}}


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        pytest.param((server_error(),) * 3, "the judge failed: ", id="500"),
        pytest.param((refusal(400, "no such model"),), "the judge failed: ", id="400"),
        pytest.param((html(),) * 3, "the judge failed: ", id="html"),
        pytest.param((text(""),), "the judge's reply was empty", id="empty"),
        pytest.param((text("It is done!"),), "the judge's reply was not a verdict", id="prose"),
        pytest.param((text('{"done": tr'),), "the judge's reply was not a verdict", id="cut"),
    ],
)
async def test_a_broken_judge_counts_as_continue(
    tmp_path: Path, answers: tuple[Scripted, ...], reason: str
) -> None:
    async with running_bot(tmp_path, auxiliary={"goal_judge": {"timeout_s": 10}}) as bot:
        bot.models.default("main", counting())
        bot.models.script("judge", *answers, DONE)
        bot.say("/goal work")
        await bot.heard(
            f"↻ Continuing toward goal (1/20): {reason}", "Step 2.", "✓ Goal achieved: All"
        )


async def test_a_judge_that_hangs_counts_as_continue(tmp_path: Path) -> None:
    async with running_bot(tmp_path, auxiliary=QUICK) as bot:
        bot.models.default("main", counting())
        bot.models.script("judge", text("", gate="never"), DONE)
        bot.say("/goal work")
        await bot.heard("did not finish its answer within 1 s", "Step 2.", "✓ Goal achieved: All")


async def test_a_judge_with_a_passing_fault_is_asked_again(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.default("main", counting())
        bot.models.script("judge", server_error(), DONE)
        bot.say("/goal work")
        said = await bot.heard("✓ Goal achieved")
        assert "Step 2." not in said


async def test_a_reply_of_the_shorter_shape_is_taken(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.default("main", counting())
        bot.models.script("judge", text('{"done": true, "reason": "Short and done."}'))
        bot.say("/goal work")
        await bot.heard("✓ Goal achieved: Short and done.")


async def test_three_unreadable_replies_in_a_row_pause_and_name_the_key(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.default("main", counting())
        bot.models.default("judge", text("It looks fine to me."))
        bot.say("/goal work")
        await bot.heard(
            "⏸ Goal paused: the judge's replies could not be read 3 times in a row. "
            "Set auxiliary.goal_judge to another model, then /goal resume."
        )
        assert len(bot.models.of("main")) == 3


async def test_five_failed_calls_in_a_row_pause_and_name_the_key(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.default("main", counting())
        bot.models.default("judge", refusal(404, "no such model", code="model_not_found"))
        bot.say("/goal work")
        said = await bot.heard("⏸ Goal paused: the judge could not be asked 5 times in a row")
        assert "Set auxiliary.goal_judge to another model, then /goal resume." in said[-1]
        assert len(bot.models.of("main")) == 5


async def test_a_good_verdict_between_two_bad_ones_counts_anew(tmp_path: Path) -> None:
    bad = text("Hm.")
    async with running_bot(tmp_path) as bot:
        bot.models.default("main", counting())
        more = verdict(reason="More.", done=False)
        bot.models.script("judge", bad, bad, more, bad, bad, DONE)
        bot.say("/goal work")
        said = await bot.heard("✓ Goal achieved")
        assert "⏸" not in "".join(said)


async def test_a_providers_refusal_pauses_the_goal_and_is_not_judged(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script(
            "main", refusal(401, "Incorrect API key provided", code="invalid_api_key")
        )
        bot.say("/goal work")
        said = await bot.heard("⏸ Goal paused: ")
        assert "api_key" in said[-1]
        assert not bot.models.of("judge")
        bot.models.script("main", text("Now it works."))
        bot.models.script("judge", DONE)
        bot.say("/goal resume")
        await bot.heard("▶ Goal resumed", "Now it works.", "✓ Goal achieved")


async def test_passing_faults_of_the_provider_are_retried_unseen(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        look = calls(("list_files", {"path": "."}))
        bot.models.script("main", server_error(), look, rate_limited("0.2"), text("Looked."))
        bot.models.script("judge", DONE)
        bot.say("/goal look")
        said = await bot.heard("✓ Goal achieved")
        assert said[1:] == ["Looked.", "✓ Goal achieved: All is there."]


async def test_a_fault_that_stays_pauses_the_goal_in_words(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.default("main", server_error(503))
        bot.say("/goal work")
        said = await bot.heard("⏸ Goal paused: ")
        assert "503" in said[-1]
        assert len(bot.models.of("main")) == 3
        assert not bot.models.of("judge")


async def test_a_failed_turn_without_a_goal_says_why(
    tmp_path: Path,
) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", refusal(400, "nothing doing"), text("Hello again."))
        bot.say("hi")
        await bot.heard("⚠ This turn failed: ")
        bot.say("hi again")
        await bot.heard("Hello again.")
