"""Which press, reply, command or plain message counts as the answer to which escalation."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.escalations import texts, token
from core.escalations.commands import Verb, read
from core.escalations.events import Answered, CardAdopted, ReminderSent, Stopped
from core.escalations.machine import advance
from core.escalations.record import (
    NO_MESSAGE,
    Answer,
    Approved,
    Approvers,
    Chose,
    Denied,
    Escalation,
    Kind,
    Purpose,
    Wrote,
    approvers_of,
    relocated,
)
from core.escalations.routing import (
    Ambiguous,
    NotAnAnswer,
    Postponed,
    Push,
    Refused,
    Resolution,
    Resolved,
    Scene,
    Words,
    message,
    press,
)
from core.escalations.routing import (
    command as by_command,
)
from core.escalations.token import Act
from core.messages import Address, PlatformName, Principal, RemoteId, Role
from tests.fakes.escalated import (
    ANNA,
    BELA,
    CARL,
    HERE,
    NOW,
    command,
    escalation,
    secret,
    shown,
)

ELSEWHERE = replace(HERE, chat="999")
LATER = NOW + 30


def push(
    one: Escalation,
    what: Act | int = Act.APPROVE,
    *,
    by: Principal = ANNA,
    at: Address = HERE,
    remote: str = "",
) -> Push:
    data = token.encode(secret(one.number), what)
    return Push(by=by, address=at, data=data, remote=RemoteId(remote or f"card-{one.number}"))


def says(
    text: str,
    *,
    by: Principal = BELA,
    at: Address = HERE,
    when: float = LATER,
    private: bool = False,
    to: str = "",
    bare: bool = True,
) -> Words:
    return Words(
        by=by,
        address=at,
        text=text,
        sent_at=when,
        private=private,
        replies_to=RemoteId(to),
        bare=bare,
    )


def scene(*escalations: Escalation, last: str | None = None) -> Scene:
    """A place whose last message of the bot's is the newest card, unless another is named."""
    newest = f"card-{escalations[-1].number}" if escalations else ""
    return Scene(escalations, RemoteId(newest if last is None else last))


def refusal(found: Resolution) -> str:
    assert isinstance(found, Refused)
    return found.text


def told(*escalations: Escalation) -> NotAnAnswer:
    """No answer, and the person is told that these are still open."""
    return NotAnAnswer(texts.still_open(escalations))


def answer(found: Resolution) -> Answer:
    assert isinstance(found, Resolved)
    return found.answer


OPEN = shown(escalation())
RISKY = shown(command(8))
CHOICE = shown(escalation(Kind.CHOOSE, number=3))
QUESTION = shown(escalation(Kind.TEXT, number=4))


# Who.


@pytest.mark.parametrize("purpose", [Purpose.ASK, Purpose.BRANCH])
def test_a_question_takes_the_requester_and_owners(purpose: Purpose) -> None:
    one = escalation(purpose=purpose)
    assert [one.admits(person) for person in (ANNA, BELA, CARL)] == [True, True, False]


@pytest.mark.parametrize("purpose", [Purpose.COMMAND, Purpose.PERMISSION])
def test_a_member_never_approves_their_own_command_unless_the_configuration_says_so(
    purpose: Purpose,
) -> None:
    one = escalation(purpose=purpose)
    assert [one.admits(person) for person in (ANNA, BELA)] == [True, False]
    widened = replace(one, approvers=approvers_of(purpose, [Role.MEMBER]))
    assert widened.admits(BELA)


def test_an_owner_who_became_a_member_is_admitted_as_a_member() -> None:
    assert not command().admits(Principal(ANNA.id, ANNA.name, Role.MEMBER))


# Presses.


def test_a_press_on_the_cards_own_message_counts() -> None:
    assert press(push(OPEN), scene(OPEN)) == Resolved(OPEN, Approved())
    assert press(push(OPEN, Act.DENY), scene(OPEN)) == Resolved(OPEN, Denied())
    assert press(push(OPEN, Act.LATER), scene(OPEN)) == Postponed(OPEN)
    assert press(push(CHOICE, 2), scene(CHOICE)) == Resolved(CHOICE, Chose(2, "Blue"))


@pytest.mark.parametrize(
    "at",
    [
        ELSEWHERE,
        replace(HERE, thread=""),
        replace(HERE, account="43"),
        replace(HERE, platform=PlatformName.SLACK),
    ],
)
def test_a_press_from_another_chat_or_thread_is_refused_and_written_down(at: Address) -> None:
    found = press(push(OPEN, at=at), scene(OPEN))
    assert found == Refused(texts.ELSEWHERE, OPEN, audit=True)


def test_a_press_in_a_group_of_lanes_of_their_own_counts_for_the_place() -> None:
    one = replace(OPEN, address=replace(HERE, user="2"))
    assert answer(press(push(one, at=replace(HERE, user="1")), scene(one))) == Approved()


def test_a_token_on_the_card_of_another_escalation_is_refused() -> None:
    found = press(push(OPEN, remote="card-8"), scene(OPEN, RISKY))
    assert found == Refused(texts.ELSEWHERE, OPEN, audit=True)


def test_a_valid_token_on_an_unknown_message_of_the_pinned_chat_adopts_it_and_counts() -> None:
    unsent = escalation()
    found = press(push(unsent, remote="m-1"), scene(unsent, last=""))
    assert found == Resolved(unsent, Approved(), adopts=RemoteId("m-1"))
    adopted, _ = advance(unsent, CardAdopted(RemoteId("m-1"), NOW))
    assert advance(adopted, Answered(ANNA, Approved(), NOW))[0].answer == Approved()
    assert press(push(unsent, Act.LATER, remote="m-1"), scene(unsent)) == Postponed(
        unsent, adopts=RemoteId("m-1")
    )


def test_a_press_on_no_message_at_all_is_refused() -> None:
    bare = replace(push(OPEN), remote=NO_MESSAGE)
    assert refusal(press(bare, scene(OPEN))) == texts.ELSEWHERE


def test_a_stranger_to_the_question_is_refused_in_private() -> None:
    found = press(push(RISKY, by=BELA), scene(RISKY))
    assert found == Refused("You may not answer E8. May answer: owners.", RISKY, audit=True)


def test_an_old_or_forged_button_says_that_it_has_expired() -> None:
    other = replace(push(OPEN), data=token.encode(b"f" * 16, Act.APPROVE))
    for data in (other.data, "esc:", "esc:zzz.y", "/approve E7", ""):
        assert press(replace(other, data=data), scene(OPEN)) == Refused(texts.UNKNOWN_BUTTON)


@pytest.mark.parametrize(
    ("one", "what"), [(OPEN, 0), (CHOICE, Act.APPROVE), (CHOICE, 5), (QUESTION, Act.DENY)]
)
def test_a_button_that_the_card_does_not_have_is_refused(one: Escalation, what: Act | int) -> None:
    assert refusal(press(push(one, what), scene(one))) == texts.UNKNOWN_BUTTON


def test_a_press_after_the_decision_goes_on_to_be_told_who_decided() -> None:
    done, _ = advance(OPEN, Answered(BELA, Denied(), NOW))
    found = press(push(done), scene(done))
    assert isinstance(found, Resolved)
    _, effects = advance(done, Answered(ANNA, found.answer, NOW))
    assert any("denied by Bela" in getattr(effect, "why", "") for effect in effects)


# Replies.


def test_a_reply_answers_the_card_it_replies_to_also_the_older_of_two() -> None:
    older, newer = shown(escalation(number=1)), shown(escalation(number=2))
    found = message(says("yes", to="card-1"), scene(older, newer))
    assert found == Resolved(older, Approved())


def test_a_reply_to_the_reminder_is_a_reply_to_the_card() -> None:
    one, _ = advance(OPEN, ReminderSent(RemoteId("r-1")))
    assert answer(message(says("No.", to="r-1"), scene(one))) == Denied()


@pytest.mark.parametrize(
    "text", ["yes, but wait", "yes?", "yes no", "maybe", "", "yes\nbut", "y e s", "not yes", "…"]
)
def test_whoever_says_more_than_yes_or_no_has_not_answered(text: str) -> None:
    assert message(says(text, to="card-7"), scene(OPEN)) == told(OPEN)
    assert message(says(text), scene(OPEN)) == NotAnAnswer()


def test_who_replies_with_more_than_an_answer_is_told_how_to_answer() -> None:
    found = message(says("no, not before Friday", to="card-7"), scene(OPEN))
    assert found == NotAnAnswer(
        "E7 is still open: this was not taken as its answer. "
        "To answer it, use /approve E7, or /deny E7 reason."
    )


def test_a_reply_with_a_file_is_no_answer() -> None:
    assert message(says("yes", to="card-7", bare=False), scene(OPEN)) == told(OPEN)
    assert message(says("yes", bare=False), scene(OPEN)) == NotAnAnswer()


def test_a_reply_to_something_else_is_no_answer_even_with_one_question_open() -> None:
    assert message(says("yes", to="m-5"), scene(OPEN)) == NotAnAnswer()


def test_a_reply_by_someone_else_is_refused_only_where_it_would_have_counted() -> None:
    found = message(says("yes", by=BELA, to="card-8"), scene(RISKY))
    assert found == Refused(texts.not_yours(RISKY), RISKY, audit=True)
    assert message(says("why?", by=BELA, to="card-8"), scene(RISKY)) == NotAnAnswer()


def test_a_reply_to_a_decided_card_is_told_what_became_of_it_and_talk_goes_on() -> None:
    done, _ = advance(OPEN, Answered(ANNA, Approved(), NOW))
    assert refusal(message(says("no", to="card-7"), scene(done))) == texts.late(done)
    assert message(says("thanks", to="card-7"), scene(done)) == NotAnAnswer()
    told, _ = advance(QUESTION, Stopped(NOW))
    assert message(says("blue", to="card-4"), scene(told)) == NotAnAnswer()


def test_a_reply_from_another_chat_is_no_answer_and_one_in_the_cards_thread_is() -> None:
    one = replace(OPEN, address=replace(HERE, thread=""))
    assert message(says("yes", at=ELSEWHERE, to="card-7"), scene(one)) == NotAnAnswer()
    thread = replace(HERE, thread="card-7")
    assert answer(message(says("yes", at=thread, to="card-7"), scene(one))) == Approved()
    assert message(says("yes", at=thread, to="card-7"), scene(OPEN)) == NotAnAnswer()


def test_a_thread_that_begins_with_another_message_is_a_place_like_any() -> None:
    found = message(says("yes", to=HERE.thread), scene(OPEN))
    assert answer(found) == Approved()
    assert message(says("yes", to=HERE.thread), scene(OPEN, last="x")) == told(OPEN)


def test_a_yes_in_a_cards_thread_is_for_what_was_asked_there_last() -> None:
    first = replace(OPEN, address=replace(HERE, thread=""))
    thread = replace(HERE, thread="card-7")
    second = replace(shown(escalation(number=8)), address=thread)
    found = message(says("yes", at=thread, to="card-7"), scene(first, second))
    assert isinstance(found, Resolved)
    assert found.escalation is second
    unsure = message(says("yes", at=thread, to="card-7"), scene(first, second, last="x"))
    assert unsure == told(second)


def test_a_reply_chooses_by_number_or_by_the_whole_text() -> None:
    for text in ("3", "3.", "#3", "option 3", "blue", " BLUE "):
        assert answer(message(says(text, to="card-3"), scene(CHOICE))) == Chose(2, "Blue")
    for text in ("4", "0", "blu", "red or blue", "33"):
        assert message(says(text, to="card-3"), scene(CHOICE)) == told(CHOICE)


def test_a_number_that_is_the_text_of_another_option_is_no_answer() -> None:
    one = replace(CHOICE, options=("2", "1", "3"))
    assert message(says("1", to="card-3"), scene(one)) == told(one)
    assert answer(message(says("3", to="card-3"), scene(one))) == Chose(2, "3")


def test_a_reply_in_a_group_answers_a_question_in_words() -> None:
    found = message(says("Use the blue one", to="card-4"), scene(QUESTION))
    assert found == Resolved(QUESTION, Wrote("Use the blue one"))


# Plain messages.


def test_a_plain_yes_counts_when_nothing_else_can_be_meant() -> None:
    assert message(says("Yes!"), scene(OPEN)) == Resolved(OPEN, Approved())


def test_a_yes_typed_before_the_card_appeared_approves_nothing() -> None:
    for when in (NOW - 1, NOW, 0.0):
        assert message(says("yes", when=when), scene(OPEN)) == NotAnAnswer()


@pytest.mark.parametrize("last", ["m-9", ""])
def test_a_yes_after_another_message_of_the_bot_approves_nothing(last: str) -> None:
    assert message(says("yes"), scene(OPEN, last=last)) == told(OPEN)


def test_a_choice_after_another_message_of_the_bot_is_none_and_the_person_is_told() -> None:
    assert message(says("2"), scene(CHOICE, last="m-9")) == told(CHOICE)
    assert message(says("how is it going?"), scene(CHOICE, last="m-9")) == NotAnAnswer()
    private = says("blue", private=True)
    assert message(private, scene(QUESTION, last="m-9")) == NotAnAnswer()


def test_a_yes_after_another_message_with_two_open_names_both() -> None:
    one = shown(escalation(number=1))
    assert message(says("yes"), scene(one, OPEN, last="m-9")) == NotAnAnswer(
        "E1 and E7 are still open: this was not taken as an answer. /pending lists them."
    )


def test_a_yes_after_the_reminder_counts() -> None:
    one, _ = advance(OPEN, ReminderSent(RemoteId("r-1")))
    assert answer(message(says("yes"), scene(one, last="r-1"))) == Approved()


def test_a_bare_yes_with_two_open_is_refused_and_both_are_listed() -> None:
    found = message(says("yes"), scene(shown(escalation(number=1)), OPEN))
    assert isinstance(found, Ambiguous)
    assert found.ids == ("E1", "E7")
    assert "/approve E1" in found.text
    assert "/approve E7" in found.text


def test_with_a_choice_open_beside_an_approval_a_bare_yes_is_refused_all_the_same() -> None:
    assert isinstance(message(says("yes"), scene(CHOICE, OPEN)), Ambiguous)


def test_a_yes_while_another_card_is_on_its_way_is_not_given_to_the_older_one() -> None:
    found = message(says("yes"), scene(OPEN, escalation(number=8), last="card-7"))
    assert isinstance(found, Ambiguous)


def test_what_a_person_may_not_answer_does_not_count_among_theirs() -> None:
    assert message(says("yes", by=BELA), scene(OPEN, RISKY)) == told(OPEN)
    found = message(says("yes", by=BELA), scene(RISKY, OPEN))
    assert found == Resolved(OPEN, Approved())
    assert message(says("yes", by=CARL), scene(OPEN)) == NotAnAnswer()


def test_other_talk_with_two_open_is_talk() -> None:
    two = scene(shown(escalation(number=1)), OPEN)
    assert message(says("how is it going?"), two) == NotAnAnswer()


def test_a_plain_text_answers_a_question_in_private_only_and_is_echoed() -> None:
    assert message(says("blue"), scene(QUESTION)) == NotAnAnswer()
    found = message(says("blue", private=True), scene(QUESTION))
    assert found == Resolved(QUESTION, Wrote("blue"), echo="Taken as your answer to E4: blue")


def test_with_two_questions_in_words_open_a_plain_text_is_talk() -> None:
    two = scene(shown(escalation(Kind.TEXT, number=1)), QUESTION)
    assert message(says("blue", private=True), two) == NotAnAnswer()


def test_a_plain_number_chooses() -> None:
    assert answer(message(says("2"), scene(CHOICE))) == Chose(1, "Green")


def test_what_is_open_in_another_place_does_not_count_here() -> None:
    assert message(says("yes", at=ELSEWHERE), scene(OPEN)) == NotAnAnswer()


# Commands.


def order(
    line: str, *escalations: Escalation, by: Principal = BELA, at: float = LATER
) -> Resolution:
    verb, _, argument = line.partition(" ")
    made = read(Verb(verb), argument)
    assert not isinstance(made, str)
    return by_command(made, BELA, scene(*escalations), at)


@pytest.mark.parametrize("id_", ["E7", "e7", "7", "#7", "E#7", " E7 ", ""])
def test_a_command_takes_the_id_however_it_is_written(id_: str) -> None:
    assert order(f"approve {id_}", OPEN) == Resolved(OPEN, Approved())


def test_a_command_names_the_older_of_two() -> None:
    two = (shown(escalation(number=1)), OPEN)
    assert order("deny E1 too early", *two) == Resolved(two[0], Denied("too early"))


def test_without_an_id_several_open_ones_are_listed() -> None:
    found = order("approve", shown(escalation(number=1)), OPEN)
    assert isinstance(found, Ambiguous)


def test_without_an_id_only_those_count_that_the_person_may_answer() -> None:
    assert order("approve", OPEN, RISKY) == Resolved(OPEN, Approved())
    assert refusal(order("approve", RISKY)) == texts.not_yours(RISKY)


def test_without_an_id_a_command_means_nothing_that_was_shown_after_it() -> None:
    assert "E7 takes /approve E7" in refusal(order("approve", OPEN, at=NOW))
    assert order("approve E7", OPEN, at=0.0) == Resolved(OPEN, Approved())


def test_a_reason_that_begins_with_a_number_is_a_reason() -> None:
    assert order("deny 3 days is too long", OPEN) == Resolved(OPEN, Denied("3 days is too long"))
    assert order("deny 7 too early", OPEN) == Resolved(OPEN, Denied("too early"))
    assert order("deny 7", OPEN, CHOICE) == Resolved(OPEN, Denied())
    assert order("deny 8", OPEN) == Resolved(OPEN, Denied("8"))


def test_an_answer_takes_an_option_or_words() -> None:
    assert order("answer E3 2", CHOICE) == Resolved(CHOICE, Chose(1, "Green"))
    assert order("answer 2", CHOICE) == Resolved(CHOICE, Chose(1, "Green"))
    assert order("answer 3 2", CHOICE) == Resolved(CHOICE, Chose(1, "Green"))
    assert order("answer E4 two\nlines", QUESTION) == Resolved(QUESTION, Wrote("two\nlines"))
    assert order("answer E7 yes", OPEN) == Resolved(OPEN, Approved())


def test_a_choice_or_a_question_can_be_declined() -> None:
    assert order("deny E4", QUESTION) == Resolved(QUESTION, Denied())


@pytest.mark.parametrize(
    ("line", "one"),
    [
        ("approve E3", CHOICE),
        ("answer E3 9", CHOICE),
        ("answer E7 yes, but wait", OPEN),
        ("approve E4", QUESTION),
    ],
)
def test_an_order_that_does_not_fit_says_what_does(line: str, one: Escalation) -> None:
    assert f"{one.id} takes {texts.how_to(one)}" in refusal(order(line, one))


def test_a_command_for_what_is_unknown_unsent_or_over_says_so() -> None:
    assert refusal(order("approve E9", OPEN)) == "There is no E9 here. Open: E7."
    assert texts.NOTHING_OPEN in refusal(order("approve E9"))
    assert refusal(order("approve")) == texts.NOTHING_OPEN
    assert refusal(order("approve E7", escalation())) == texts.not_shown_yet(escalation())
    done, _ = advance(OPEN, Answered(ANNA, Denied(), NOW))
    assert refusal(order("approve E7", done)) == texts.late(done)


# What holds for all of it.

PEOPLE = st.sampled_from([ANNA, BELA, CARL])
SETS = st.lists(
    st.sampled_from([OPEN, RISKY, CHOICE, QUESTION, escalation(number=9)]), unique=True
)
TEXTS = st.sampled_from(["yes", "no", "2", "blue", "yes, but", "hello"]) | st.text(max_size=8)
SPOKEN = st.builds(
    says,
    TEXTS,
    by=PEOPLE,
    at=st.sampled_from([HERE, ELSEWHERE]),
    when=st.sampled_from([NOW - 1, NOW, LATER]),
    private=st.booleans(),
    to=st.sampled_from(["", "card-7", "card-8", "card-3", "m"]),
)


@given(SPOKEN, SETS, st.sampled_from(["card-7", "card-8", "card-3", "card-4", "m", ""]))
def test_whatever_counts_is_admitted_fits_and_was_said_in_its_place(
    said: Words, there: list[Escalation], last: str
) -> None:
    found = message(said, scene(*there, last=last))
    if isinstance(found, Resolved):
        assert found.escalation.admits(said.by)
        assert found.escalation.fits(found.answer)
        assert said.address == HERE
        assert found.escalation.shown_in(said.replies_to or RemoteId(last))
        assert said.replies_to or said.sent_at > NOW
        assert advance(found.escalation, Answered(said.by, found.answer, NOW))[0].decider


@given(PEOPLE, SETS, st.sampled_from(Verb), st.text(max_size=12) | TEXTS)
def test_no_command_line_breaks_anything_and_what_counts_is_admitted(
    by: Principal, there: list[Escalation], verb: Verb, argument: str
) -> None:
    made = read(verb, argument)
    if isinstance(made, str):
        assert "Usage: " in made
        return
    found = by_command(made, by, scene(*there), LATER)
    if isinstance(found, Resolved):
        assert found.escalation.admits(by)
        assert found.escalation.fits(found.answer)


def test_a_chat_that_moved_takes_its_questions_along() -> None:
    new = replace(HERE, chat="-100")
    moved = relocated(OPEN, new)
    made = read(Verb.APPROVE, "E7")
    assert not isinstance(made, str)
    unseen = by_command(made, BELA, scene(moved), LATER)
    assert refusal(unseen) == texts.not_shown_yet(moved)
    assert not moved.shown_in(RemoteId("card-7"))
    again = shown(moved)
    assert answer(by_command(made, BELA, scene(again), LATER)) == Approved()
    assert refusal(press(push(again), scene(again))) == texts.ELSEWHERE


def test_nobody_at_all_may_be_named_too() -> None:
    one = replace(OPEN, approvers=Approvers(frozenset()))
    assert refusal(press(push(one), scene(one))) == "You may not answer E7. May answer: nobody."
