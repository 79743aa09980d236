"""What people say and type where they are asked: what counts as an answer to a card, what does
not, and what they are told, on every platform."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.openai_replies import calls, text
from tests.scenarios.asking_places import Who
from tests.scenarios.asking_rig import (
    COLOUR,
    Bot,
    ask,
    asks,
    at_home,
    everywhere,
    in_threads,
    running,
    runs,
)

READY = asks("Ready?", kind="approve")
BOTH = calls(ask("Ready?", kind="approve"), ask("Steady?", kind="approve"))


@everywhere
async def test_a_bare_yes_right_after_the_card_approves_it(where: str, tmp_path: Path) -> None:
    async with running(where, tmp_path) as bot:
        bot.models.script("main", READY, text("Go."))
        bot.place.say("begin")
        card = await bot.card("✋ E1: do you approve this?", "Ready?")
        bot.place.say("Yes!")
        await bot.becomes(card, "✓ E1 approved by Anna")
        await bot.place.heard("Go.")
        assert "A person approved it" in (await bot.asked(2)).said()


@everywhere
async def test_yes_with_a_but_is_a_message_like_any_other(where: str, tmp_path: Path) -> None:
    async with running(where, tmp_path) as bot:
        bot.models.script("main", READY, text("I wait."), text("Go."))
        bot.place.say("begin")
        card = await bot.card("✋ E1")
        bot.place.say("yes, but wait")
        await bot.place.heard("I wait.")
        assert (await bot.asked(2)).said().endswith("yes, but wait")
        assert bot.now(card) == card
        await bot.press(card, "Approve")
        await bot.place.heard("Go.")


@everywhere
async def test_a_no_that_says_more_or_comes_too_late_is_told_how_to_answer(
    where: str, tmp_path: Path
) -> None:
    async with running(where, tmp_path) as bot:
        bot.models.script("main", READY, text("I see."), text("Hm."), text("Then not."))
        bot.place.say("begin")
        card = await bot.card("✋ E1")
        replies = not where.startswith("slack")  # there a reply is a thread of its own, or nothing
        bot.place.say("no, not before Friday", reply_to=card.id if replies else "")
        if replies:
            told = await bot.place.heard("E1 is still open: this was not taken as its answer.")
            assert "approve E1, or " in told.text
        await bot.place.heard("I see.")
        bot.place.say("no")
        await bot.place.heard("Hm.")
        await bot.place.wait_for(lambda: len(_still_open(bot)) == 1 + replies)
        assert bot.now(card) == card
        await bot.answered("/deny E1", "✗ E1 denied by Anna")
        await bot.place.heard("Then not.")


def _still_open(bot: Bot) -> list[tuple[object, ...]]:
    return bot.rows("SELECT 1 FROM outbox WHERE body LIKE '%E1 is still open%'")


@everywhere
async def test_a_yes_that_was_typed_before_the_card_approves_nothing(
    where: str, tmp_path: Path
) -> None:
    async with running(where, tmp_path) as bot:
        gated = calls(ask("Ready?", kind="approve"), gate="card")
        bot.models.script("main", gated, text("Yes what?"))
        bot.place.say("begin")
        await bot.asked(1)
        bot.place.say("yes")
        await bot.place.wait_for(lambda: bot.rows("SELECT 1 FROM inbox WHERE state = 'ready'"))
        bot.models.open("card")
        card = await bot.card("✋ E1")
        await bot.place.heard("Yes what?")
        assert bot.now(card) == card
        assert (await bot.asked(2)).said().endswith("yes")


@everywhere
async def test_a_bare_yes_to_two_cards_is_refused_and_they_are_listed(
    where: str, tmp_path: Path
) -> None:
    async with running(where, tmp_path) as bot:
        bot.models.script("main", BOTH, text("Go."))
        bot.place.say("begin")
        first, second = await bot.card("✋ E1"), await bot.card("✋ E2")
        bot.place.say("yes")
        told = await bot.alone(
            "2 questions are open here, so this was taken as an answer to none."
        )
        assert "· E1, a question: Ready?" in told
        assert "· E2, a question: Steady?" in told
        assert "approve E1, or " in told
        assert (bot.now(first), bot.now(second)) == (first, second)
        assert len(bot.models.of("main")) == 1


@everywhere
async def test_a_reply_to_the_older_of_two_cards_answers_that_one(
    where: str, tmp_path: Path
) -> None:
    async with running(where, tmp_path) as bot:
        bot.models.script("main", BOTH, text("Go."))
        bot.place.say("begin")
        first, second = await bot.card("✋ E1"), await bot.card("✋ E2")
        if where == "slack-thread":  # nobody can reply to a message of a thread there
            await bot.answered("/deny E1", "E1 denied by")
        else:
            bot.place.say("no", reply_to=first.id)
        await bot.becomes(first, "✗ E1 denied by Anna")
        assert bot.now(second) == second
        await bot.press(second, "Approve")
        await bot.place.heard("Go.")
        no, yes = (str(m["content"]) for m in (await bot.asked(2)).messages()[-2:])
        assert "[Outcome of E1: declined]" in no
        assert "[Outcome of E2: approved]" in yes


@at_home
async def test_a_plain_text_answers_in_a_chat_of_two_and_is_repeated(
    where: str, tmp_path: Path
) -> None:
    async with running(where, tmp_path) as bot:
        bot.models.script("main", asks("Which colour?"), text("Blue it is."))
        bot.place.say("paint it")
        card = await bot.card("✋ E1: a question for you")
        assert card.labels == ("Later",)
        bot.place.say("a light blue, please")
        told = await bot.place.heard("Taken as your answer to E1: a light blue, please")
        assert told.text.startswith("✓ E1 answered by Anna, 20")
        await bot.place.heard("Blue it is.")
        assert "a light blue, please" in (await bot.asked(2)).said()
        assert "a light blue, please" in (await bot.becomes(card, "✓ E1 answered")).text


@in_threads
async def test_a_plain_text_in_a_shared_thread_is_a_message_and_the_question_stays(
    where: str, tmp_path: Path
) -> None:
    async with running(where, tmp_path) as bot:
        bot.models.script("main", asks("Which colour?"), text("Hello."), text("Blue it is."))
        bot.place.say("paint it")
        card = await bot.card("✋ E1")
        bot.place.say("a light blue, please")
        await bot.place.heard("Hello.")
        assert bot.now(card) == card
        await bot.answered("/answer E1 light blue", "E1 answered by")
        await bot.place.heard("Blue it is.")


@everywhere
async def test_commands_answer_with_an_id_and_without_one(where: str, tmp_path: Path) -> None:
    async with running(where, tmp_path) as bot:
        bot.models.script("main", READY, COLOUR, asks("How many?"), runs(), text("Done."))
        await bot.answered("/pending", "Nothing is waiting for an answer here.")
        bot.place.say("begin")
        await bot.card("✋ E1")
        listed = await bot.answered("/pending", "Waiting for an answer here:")
        assert "· E1, a question: Ready?\n" in listed
        assert "approve E1, or " in listed
        await bot.answered("/approve E7", "There is no E7 here. Open: E1.")
        await bot.answered("/approve E1 but slowly", "/approve takes an id and nothing else")
        await bot.answered("/answer E1 blue", "This was not taken. E1 takes ")
        await bot.answered("/approve", "✓ E1 approved by Anna")
        second = await bot.card("✋ E2")
        await bot.answered("/answer E2 3", "This was not taken. E2 takes ")
        await bot.answered("/answer 2", "✓ E2 answered by Anna with option 2")
        await bot.becomes(second, "✓ E2")
        third = await bot.card("✋ E3")
        await bot.answered("/answer seven or so", "✓ E3 answered by Anna")
        assert "seven or so" in (await bot.becomes(third, "✓ E3")).text
        fourth = await bot.card("✋ E4")
        await bot.answered("/deny not on Friday", "✗ E4 denied by Anna")
        assert "not on Friday" in (await bot.becomes(fourth, "✗ E4")).text
        await bot.place.heard("Done.")
        await bot.answered("/approve E4", "Too late, this changed nothing. ✗ E4 denied by Anna")


@in_threads
async def test_a_members_command_on_an_owners_question_is_refused(
    where: str, tmp_path: Path
) -> None:
    async with running(where, tmp_path) as bot:
        bot.models.script("main", runs(), text("Done."))
        bot.place.say("push it")
        card = await bot.card("✋ E1")
        refusal = "You may not answer E1. May answer: owners."
        await bot.answered("/approve E1", refusal, Who.MIA)
        assert bot.now(card) == card
        assert bot.refusals() == [(str(bot.place.id_of(Who.MIA)), "refused answer")]
