"""How a question ends when nobody answers it: by its time, by /stop, or in another session; on
every platform."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.openai_replies import calls, text
from tests.scenarios.asking_rig import (
    COLOUR,
    ask,
    at_home,
    everywhere,
    in_threads,
    running,
    runs,
)
from tests.scenarios.test_branch_tables import LOOK, delegate

DAY_S = 86_400.0
STAFF = {
    "models": {
        "main": {"provider": "fake", "model": "main", "context_tokens": 100_000},
        "judge": {"provider": "fake", "model": "judge"},
        "checker": {"provider": "fake", "model": "checker", "tier": 3},
    },
    "agent": {"model": "main", "toolsets": ["terminal", "file", "delegation", "ask"]},
}


@everywhere
async def test_nobody_answers_a_command_and_the_work_goes_on_without_it(
    where: str, tmp_path: Path
) -> None:
    async with running(where, tmp_path) as bot:
        bot.models.script("main", runs(), text("Not pushed."))
        bot.place.say("push it")
        card = await bot.card("✋ E1", "that counts as refused, and the work goes on without it.")
        bot.clock.ahead += 2 * DAY_S
        await bot.press(card, "Later")  # which has the timers looked at
        await bot.place.heard("Not pushed.")
        decided = await bot.becomes(card, "⌛ E1 expired unanswered, ")
        assert decided.labels == ()
        told = (await bot.asked(2)).said()
        assert "[Outcome of E1: unanswered]" in told
        assert "That is no consent. Take it as refused" in told


@in_threads
async def test_nobody_answers_a_question_that_ends_the_work(where: str, tmp_path: Path) -> None:
    async with running(where, tmp_path, **STAFF) as bot:
        bot.models.script("main", delegate(), text("I could not find out."))
        human = calls(
            ("report_branch", {"branch": "gone", "confidence": "high", "observed": "404",
                               "checks": [], "evidence": []})
        )  # fmt: skip
        bot.models.script("checker", LOOK, human)
        bot.place.say("check the page")
        card = await bot.card("✋ E1: a question for you", "Where is it now?")
        assert "the work that asked is ended" in card.text
        bot.clock.ahead += 2 * DAY_S
        await bot.press(card, "Later")
        await bot.becomes(card, "⌛ E1 expired unanswered, ")
        await bot.place.heard("I could not find out.")
        told = (await bot.asked(2)).said()
        assert '"outcome": "cancelled"' in told
        assert "nobody answered in time" in told


@everywhere
async def test_a_stop_cancels_and_the_model_hears_of_it_with_the_next_message(
    where: str, tmp_path: Path
) -> None:
    async with running(where, tmp_path) as bot:
        both = calls(ask("Which colour?", kind="choose", options=["red", "blue"]), ask("Why?"))
        bot.models.script("main", both, text("All right."))
        bot.place.say("paint it")
        first, second = await bot.card("✋ E1"), await bot.card("✋ E2")
        await bot.answered("/stop", "⏹ Stopped.")
        for card in (first, second):
            assert (await bot.becomes(card, f"⏹ {card.text[2:4]} cancelled, ")).labels == ()
        assert (await bot.press(first, "1. red")).startswith(
            "Too late, this changed nothing. ⏹ E1 cancelled, "
        )
        await bot.answered("/pending", "Nothing is waiting for an answer here.")
        assert len(bot.models.of("main")) == 1
        bot.place.say("and now?")
        await bot.place.heard("All right.")
        seen = await bot.asked(2)
        assert seen.said().endswith("and now?")
        stopped = [m["content"] for m in seen.messages() if m["role"] == "tool"]
        note = "stopped before a person had answered what this call asked; nothing of it was done"
        assert stopped == [note] * 2


@everywhere
async def test_a_new_session_leaves_the_question_open_and_its_answer_goes_to_its_own(
    where: str, tmp_path: Path
) -> None:
    async with running(where, tmp_path) as bot:
        bot.models.script("main", COLOUR, text("Hello."), text("Blue it is."))
        bot.place.say("paint it")
        card = await bot.card("✋ E1")
        await bot.answered("/new", "✦ New session.")
        bot.place.say("good day")
        await bot.place.heard("Hello.")
        assert "paint it" not in str((await bot.asked(2)).messages())
        assert bot.now(card).labels == card.labels
        await bot.press(card, "2. blue")
        await bot.becomes(card, "✓ E1")
        await bot.place.heard("Hello.", "Blue it is.")
        seen = await bot.asked(3)
        assert seen.said().startswith("[What came of the call ask that waited for a person]\n")
        assert "paint it" in str(seen.messages())
        assert "good day" not in str(seen.messages())


@at_home
async def test_missed_reminders_come_as_one_after_a_restart(where: str, tmp_path: Path) -> None:
    async with running(where, tmp_path) as bot:
        bot.models.script("main", COLOUR, text("Red it is."))
        bot.place.say("paint it")
        card = await bot.card("✋ E1")
        await bot.stop()
        bot.clock.ahead += DAY_S / 2
        await bot.start()
        await bot.place.heard("✋ E1", "⏰ E1 still waits: a question. Until ")
        assert sum("⏰" in text for text in await bot.calm()) == 1
        assert "with option 1" in await bot.press(card, "1. red")
        await bot.place.heard("Red it is.")
