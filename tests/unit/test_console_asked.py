"""Questions to a person on the console: cards, the numbers that answer them, their decision."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.console.conversation import ADDRESS
from adapters.console.encode import decision, is_question, shown
from adapters.console.front import Typed
from adapters.console.render import Renderer
from core.escalations import card
from core.escalations.events import Answered
from core.escalations.machine import advance
from core.escalations.record import Approved, Kind
from core.escalations.token import Act, encode
from core.messages import Ack, Button, Handled, Message, Press, Refused, RemoteId, Say
from core.splitting import Room
from tests.contracts.console_screen import plain
from tests.fakes.cards import card_of, running_command
from tests.fakes.console_intake import RecordingIntake
from tests.fakes.escalated import ANNA, NOW, SECRET, command, escalation
from tests.fakes.escalated import shown as posted
from tests.unit.test_console_platform import STATUS, Bench

ROOM = Room(20_000)
CARD = card_of(command(), ROOM)
SHOWN = shown(CARD)
APPROVE, DENY, LATER = (encode(SECRET, act) for act in (Act.APPROVE, Act.DENY, Act.LATER))
DECIDED = card.decided(advance(posted(command()), Answered(ANNA, Approved(), NOW + 5.0))[0], ROOM)
HEAD = DECIDED.text.partition("\n")[0]


def bench_of(tmp_path: Path, *replies: Ack) -> Bench:
    """A console whose words get these acks, one after the other."""
    return Bench(tmp_path, RecordingIntake(replies=replies))


async def test_a_number_answers_with_the_cards_token_and_what_became_of_it_is_told_once(
    tmp_path: Path,
) -> None:
    bench = bench_of(tmp_path, Handled(HEAD))
    async with bench.talking():
        sent = await bench.console.send(ADDRESS, CARD)
        bench.front.hears(Typed("1"))
        await bench.intake.until(1)
        await bench.console.edit(ADDRESS, sent.remote, DECIDED)
    [press] = bench.intake.accepted
    assert isinstance(press, Press)
    assert (press.command, press.remote) == (APPROVE, sent.remote)
    assert bench.front.notes == ["→ Approve"]
    assert bench.front.said == [SHOWN, Say(HEAD)]


async def test_a_typed_answer_is_confirmed_once_and_what_it_was_taken_for_is_told(
    tmp_path: Path,
) -> None:
    bench = bench_of(tmp_path)
    async with bench.talking():
        sent = await bench.console.send(ADDRESS, CARD)
        await bench.console.edit(ADDRESS, sent.remote, DECIDED)
        first = await bench.console.send(ADDRESS, Say(HEAD))
        second = await bench.console.send(ADDRESS, Say(f"{HEAD}\nTaken as your answer to E7: x"))
    assert bench.front.said == [SHOWN, Say(HEAD), Say("Taken as your answer to E7: x")]
    assert len({sent.remote, first.remote, second.remote}) == 3


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        (Kind.APPROVE, "Type yes or no, or use /approve E7, or /deny E7 reason."),
        (Kind.CHOOSE, "Type the number, or use /answer E7 with an option's number behind it."),
        (Kind.TEXT, "Type your answer, or use /answer E7 with your words behind it."),
    ],
)
def test_a_card_says_how_it_is_answered_by_typing(kind: Kind, how: str) -> None:
    trap = "Press a button, reply to this message with yes or no, or use /x"
    text = shown(card_of(replace(escalation(kind), question=f"{trap}\n\n {trap}"), ROOM)).text
    assert text.endswith(f" {how}")
    assert text.count(trap) == 2


async def test_after_a_refusal_and_after_later_the_numbers_go_on_working(tmp_path: Path) -> None:
    bench = bench_of(tmp_path, Refused("It takes owners."), Handled("E7 stays open."))
    async with bench.talking():
        await bench.console.send(ADDRESS, CARD)
        bench.front.hears(Typed("1"), Typed("3"), Typed("2"))
    assert bench.intake.texts() == [f"[{APPROVE}]", f"[{LATER}]", f"[{DENY}]"]
    notes = ["→ Approve", "It takes owners.", "→ Later", "E7 stays open.", "→ Deny"]
    assert bench.front.notes == notes


async def test_a_decision_is_one_line_and_takes_the_numbers_away(tmp_path: Path) -> None:
    bench = bench_of(tmp_path)
    async with bench.talking():
        sent = await bench.console.send(ADDRESS, CARD)
        for _ in range(2):
            await bench.console.edit(ADDRESS, sent.remote, DECIDED)
        bench.front.hears(Typed("1"))
    assert bench.front.said == [SHOWN, Say(HEAD)]
    assert HEAD.startswith("✓ E7 approved by Anna")
    assert bench.intake.texts() == ["1"]


async def test_a_decision_leaves_a_newer_cards_numbers_alone(tmp_path: Path) -> None:
    bench = bench_of(tmp_path)
    async with bench.talking():
        old = await bench.console.send(ADDRESS, CARD)
        new = await bench.console.send(ADDRESS, card_of(command(8), ROOM))
        await bench.console.edit(ADDRESS, old.remote, DECIDED)
        bench.front.hears(Typed("2"))
    [press] = bench.intake.accepted
    assert isinstance(press, Press)
    assert press.remote == new.remote


async def test_a_card_of_an_earlier_process_is_decided_in_one_line_too(tmp_path: Path) -> None:
    bench = bench_of(tmp_path)
    async with bench.talking():
        await bench.console.edit(ADDRESS, RemoteId("old:3"), DECIDED)
    assert bench.front.said == [Say(HEAD)]


@pytest.mark.parametrize("words", ["yes", "no", APPROVE, "/approve E7"])
async def test_words_are_a_message_as_they_are(tmp_path: Path, words: str) -> None:
    bench = bench_of(tmp_path)
    async with bench.talking():
        await bench.console.send(ADDRESS, CARD)
        bench.front.hears(Typed(words))
    [message] = bench.intake.accepted
    assert isinstance(message, Message)
    assert message.text == words


async def test_a_reminder_of_the_card_leaves_its_numbers_alone_and_other_words_do_not(
    tmp_path: Path,
) -> None:
    bench = bench_of(tmp_path)
    async with bench.talking():
        sent = await bench.console.send(ADDRESS, CARD)
        await bench.console.send(ADDRESS, Say("⏰ E7 still waits", reply_to=sent.remote))
        bench.front.hears(Typed("3"))
        await bench.intake.until(1)
        await bench.console.send(ADDRESS, Say("How many, 1 or 2?"))
        bench.front.hears(Typed("1"))
    assert bench.intake.texts() == [f"[{LATER}]", "1"]


async def test_the_decision_is_printed_once_for_a_card_and_its_reminders(tmp_path: Path) -> None:
    bench = bench_of(tmp_path)
    reminder = Say("⏰ E7 still waits")
    async with bench.talking():
        card = await bench.console.send(ADDRESS, CARD)
        sent = [await bench.console.send(ADDRESS, reminder) for _ in range(2)]
        for remote in (card.remote, *(one.remote for one in sent)):
            edit = DECIDED if remote == card.remote else Say(HEAD)
            await bench.console.edit(ADDRESS, remote, edit)
    assert bench.front.said == [SHOWN, reminder, reminder, Say(HEAD)]


async def test_a_number_begun_before_the_card_was_there_answers_nothing(tmp_path: Path) -> None:
    bench = bench_of(tmp_path)
    async with bench.talking():
        begun = bench.clock.time
        bench.clock.time += 1.0
        await bench.console.send(ADDRESS, CARD)
        bench.front.hears(Typed("1", begun))
    assert bench.intake.texts() == ["1"]


async def test_a_pinned_goal_keeps_its_numbers_to_itself_while_a_card_waits(
    tmp_path: Path,
) -> None:
    bench = bench_of(tmp_path)
    async with bench.talking():
        goal = await bench.console.send(ADDRESS, STATUS)
        await bench.console.edit(ADDRESS, goal.remote, STATUS)
        sent = await bench.console.send(ADDRESS, CARD)
        hidden = bench.front.pinned
        await bench.console.edit(ADDRESS, sent.remote, DECIDED)
        bench.front.hears(Typed("1"))
    assert hidden is not None
    assert hidden.buttons == ()
    assert bench.front.pinned == STATUS
    assert bench.intake.texts() == ["[/goal pause]"]


def test_only_a_questions_buttons_make_a_question() -> None:
    assert is_question(CARD)
    assert not is_question(STATUS)
    assert not is_question(Say("Go?", buttons=(Button("Yes", "/approve E7"),)))


def test_an_edit_that_decides_nothing_has_no_decision() -> None:
    assert decision(CARD, CARD) == ""
    assert decision(Say("a"), Say("✓ E7 approved by Anna")) == ""
    assert decision(None, Say("✓ Goal achieved: x")) == ""


# How a card looks


def rendered(what: Say, width: int = 60) -> str:
    return plain(Renderer({}).say(what, width))


def test_choices_stand_in_a_list_under_their_own_numbers() -> None:
    one = replace(escalation(Kind.CHOOSE), options=("Red", "Green", "Blue"))
    assert rendered(card_of(one, ROOM)).endswith(
        "\n1. Red\n2. Green\n3. Blue\n[4] Later\n(type the number)\n\n"
    )


@pytest.mark.parametrize("fence", ["", "```"])
def test_no_line_of_a_command_can_be_taken_for_the_hosts(fence: str) -> None:
    false = "Approve: nothing happens at all."
    text = f"rm -rf / #{fence}{' ' * 47}{false}\n{false}\n{' ' * 70}{false}"
    lines = rendered(card_of(running_command(text), ROOM)).split("\n")
    own = [line for line in lines if "Approve:" in line and line[0] not in " │↪"]
    assert len(own) == 1
    assert own[0].startswith("Approve: it runs once, exactly as shown")


@given(st.text(st.sampled_from("ab é漢🎉"), min_size=1, max_size=300))
def test_a_command_is_shown_whole_however_narrow_the_window(text: str) -> None:
    wanted = f"x{text}x"
    lines = rendered(card_of(running_command(wanted), ROOM), 40).replace("\n↪ ", "").split("\n")
    assert f"  {wanted}" in lines
