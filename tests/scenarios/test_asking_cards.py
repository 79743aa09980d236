"""What a person is asked stands on a card in the chat that the work came from, on every platform:
who may press it, who is told what, and what becomes of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from tests.fakes.openai_replies import calls, text
from tests.scenarios.asking_places import OWNERS, Who
from tests.scenarios.asking_rig import (
    COLOUR,
    PUSH,
    ask,
    asks,
    everywhere,
    in_threads,
    running,
    runs,
)


@everywhere
async def test_a_press_on_a_card_where_the_work_came_from_lets_it_go_on(
    where: str, tmp_path: Path
) -> None:
    async with running(where, tmp_path) as bot:
        bot.models.script("main", COLOUR, text("Blue it is."))
        bot.place.say("paint it")
        card = await bot.card("✋ E1: which one?", "Which colour?", "1. red\n2. blue")
        assert card.labels == ("1. red", "2. blue", "Later")
        told = await bot.press(card, "2. blue")
        assert told.casefold().startswith("✓ e1 answered by anna with option 2, 20")
        await bot.place.heard("Blue it is.")
        decided = await bot.becomes(card, "✓ E1 answered by ")
        assert decided.labels == ()
        assert "Which colour?" in decided.text
        assert "chose option 2" in (await bot.asked(2)).said()
        assert bot.place.elsewhere() == []


@everywhere
async def test_an_owners_press_lets_a_dangerous_command_run_once(
    where: str, tmp_path: Path
) -> None:
    async with running(where, tmp_path) as bot:
        bot.models.script("main", runs(), text("Pushed, or not."))
        bot.place.say("push it")
        card = await bot.card("✋ E1: may this command run?", PUSH)
        assert card.labels == ("Approve", "Deny", "Later")
        await bot.press(card, "Approve")
        await bot.place.heard("Pushed, or not.")
        assert (await bot.becomes(card, "✓ E1 approved by ")).labels == ()
        assert "not a git repository" in (await bot.asked(2)).said()


@in_threads
async def test_a_member_answers_what_their_own_work_asks_and_nothing_dangerous(
    where: str, tmp_path: Path
) -> None:
    async with running(where, tmp_path) as bot:
        bot.models.script("main", COLOUR, runs(), text("Done."))
        bot.place.say("paint it and push", Who.MIA)
        first = await bot.card("✋ E1", "May answer: Mia or owners.")
        await bot.press(first, "1. red", Who.MIA)
        await bot.becomes(first, "✓ E1 answered by ")
        second = await bot.card("✋ E2", "May answer: owners.")
        assert await bot.press(second, "Approve", Who.MIA) == (
            "You may not answer E2. May answer: owners."
        )
        assert bot.now(second) == second
        assert bot.refusals() == [(str(bot.place.id_of(Who.MIA)), "refused answer")]
        assert bot.trail()[-1] == "refused"
        await bot.press(second, "Deny", Who.OLA)
        assert "denied by" in (await bot.becomes(second, "✗ E2 denied by ")).text
        await bot.place.heard("Done.")


@everywhere
async def test_of_forty_presses_at_once_one_counts_and_all_others_are_told_who_decided(
    where: str, tmp_path: Path
) -> None:
    async with running(where, tmp_path) as bot:
        bot.models.script("main", runs(), text("Done."))
        bot.place.say("push it")
        card = await bot.card("✋ E1")
        crowd = OWNERS if not bot.place.private else OWNERS[:1]
        pressed = [
            bot.place.press(card, ("Approve", "Deny")[n % 2], crowd[n % len(crowd)])
            for n in range(40)
        ]
        told = await asyncio.gather(*map(bot.place.told, pressed))
        await bot.place.heard("Done.")
        taken = [one for one in told if not one.startswith("Too late")]
        assert len(taken) == 1
        late = [one for one in told if one.startswith("Too late")]
        assert set(late) == {f"Too late, this changed nothing. {taken[0]}"}
        assert Counter(bot.trail())["answered"] == 1
        assert Counter(bot.trail())["late"] == len(crowd)  # of each once a minute
        assert (await bot.becomes(card, taken[0][:2])).labels == ()
        assert len(bot.models.of("main")) == 2


@in_threads
async def test_a_strangers_press_changes_nothing_and_tells_nothing(
    where: str, tmp_path: Path
) -> None:
    async with running(where, tmp_path) as bot:
        bot.models.script("main", runs(), text("Done."))
        bot.place.say("push it")
        card = await bot.card("✋ E1")
        assert await bot.press(card, "Approve", Who.SAM) == ""
        assert bot.refusals() == [(str(bot.place.id_of(Who.SAM)), "refused press")]
        assert bot.now(card) == card
        assert bot.trail()[-1] == "sent"
        await bot.press(card, "Deny")
        await bot.place.heard("Done.")


@everywhere
async def test_a_press_with_a_cards_data_in_another_chat_is_refused(
    where: str, tmp_path: Path
) -> None:
    async with running(where, tmp_path) as bot:
        bot.models.script("main", runs(), text("Done."))
        bot.place.say("push it")
        card = await bot.card("✋ E1")
        told = await bot.place.told(bot.place.press_abroad(card, "Approve"))
        assert told == (
            "This button counts only on its own message, in the chat where it was asked."
        )
        assert bot.now(card) == card
        assert ("refused answer") in {what for _, what in bot.refusals()}
        await bot.press(card, "Deny")
        await bot.place.heard("Done.")


@everywhere
async def test_a_button_means_the_same_after_a_restart_and_an_old_one_says_that_it_is_over(
    where: str, tmp_path: Path
) -> None:
    async with running(where, tmp_path) as bot:
        bot.models.script("main", COLOUR)
        bot.place.say("paint it")
        card = await bot.card("✋ E1")
        await bot.restart()
        bot.models.script("main", text("Red it is."))
        assert "with option 1" in await bot.press(card, "1. red")
        await bot.place.heard("Red it is.")
        await bot.becomes(card, "✓ E1")
        await bot.restart()
        late = await bot.press(card, "2. blue")
        assert late.startswith("Too late, this changed nothing. ✓ E1 answered by ")
        await bot.stop()
        bot.change(
            "DELETE FROM escalation_event", "DELETE FROM escalation"
        )  # as it is after a while
        await bot.start()
        told = await bot.press(card, "2. blue")
        assert told.startswith("This button has expired: what it asked is over. ")
        assert told.endswith("pending lists what is open.")


@everywhere
async def test_a_press_does_not_wait_behind_a_running_turn(where: str, tmp_path: Path) -> None:
    async with running(where, tmp_path) as bot:
        bot.models.script("main", COLOUR, text("Four.", gate="later"), text("Blue it is."))
        bot.place.say("paint it")
        card = await bot.card("✋ E1")
        bot.place.say("what is 2 + 2?")
        await bot.asked(2)
        assert "with option 2" in await bot.press(card, "2. blue")
        await bot.becomes(card, "✓ E1")
        assert "Four." not in "".join(bot.place.texts())
        bot.models.open("later")
        await bot.place.heard("Four.", "Blue it is.")


@in_threads
async def test_the_sixth_question_is_not_asked(where: str, tmp_path: Path) -> None:
    async with running(where, tmp_path) as bot:
        six = calls(*(ask(f"Question {n}?") for n in range(1, 7)))
        bot.models.script("main", six, text("Go on."))
        bot.place.say("ask away")
        await bot.place.heard("✋ E5")
        await bot.calm()
        bot.place.say("never mind", Who.ANNA)
        seen = await bot.asked(2)
        refused = [m for m in seen.messages() if "5 questions wait" in str(m.get("content"))]
        assert len(refused) == 1
        assert "✋ E6" not in "".join(bot.place.texts())


@everywhere
async def test_later_keeps_a_question_open_without_reminders(where: str, tmp_path: Path) -> None:
    reminders = {"reminders_s": [0.5, 1.5]}
    async with running(where, tmp_path, escalations=reminders) as bot:
        bot.models.script("main", asks("Ready?", kind="approve"), text("Good."))
        bot.place.say("begin")
        card = await bot.card("✋ E1: do you approve this?")
        await bot.place.heard("⏰ E1 still waits: a question. Until ")
        assert (await bot.press(card, "Later")).startswith("E1 stays open until ")
        await bot.press(card, "Approve")
        await bot.place.heard("Good.")
        assert bot.trail().count("reminded") == 1
