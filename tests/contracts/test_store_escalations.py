"""The `Store` contract: work asks a person, a press on the card answers, and the work goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.errors import Fenced
from core.escalations import texts
from core.escalations.record import (
    MAX_OPEN,
    Approved,
    Chose,
    Denied,
    Escalation,
    Fact,
    Label,
    State,
)
from core.messages import Address, Duplicate, Handled, PlatformName, Refused, RemoteId, Say
from core.sessions.lane import Outcome, Rest, RowKind
from core.sessions.ports import Begun, Ending
from tests.contracts.asking_rig import (
    ASK,
    CHOICE,
    DANGER,
    TEXT,
    card_of,
    edits,
    park,
    parked,
    press,
    push,
    put,
    questions,
    sent,
    states,
    trail,
    working,
)
from tests.contracts.backends import people_of
from tests.contracts.store_rig import (
    HERE,
    LANE,
    MEMBER,
    NOW,
    OTHER_LANE,
    OWNER,
    SECOND_OWNER,
    THERE,
    Rig,
    answered,
    ref,
)
from tests.contracts.store_rig import (
    texts as inputs_of,
)


async def again(rig: Rig) -> Begun:
    """The parked turn, begun again."""
    begun = await rig.turn()
    assert begun.turn.attempt > 1
    return begun


async def found(rig: Rig, begun: Begun) -> Escalation:
    """What became of it, as the work gets it that asks once more."""
    return await put(rig, begun)


async def test_the_same_question_of_a_turn_is_asked_once(rig: Rig) -> None:
    begun = await working(rig)
    first = await put(rig, begun)
    assert (first.id, first.state, first.address) == ("E1", State.PENDING_SEND, HERE)
    assert await put(rig, begun, replace(ASK, question="in other words")) == first
    await rig.reopen()
    begun = await rig.turn()
    assert await put(rig, begun) == first
    assert (await put(rig, begun, replace(ASK, key="call-2"))).id == "E2"
    assert begun.asked == {"call-1"}
    assert len(await sent(rig)) == 2


async def test_numbers_count_within_a_chat(rig: Rig) -> None:
    await put(rig, await working(rig))
    assert (await put(rig, await working(rig, OTHER_LANE), lane=OTHER_LANE)).id == "E1"


async def test_the_sixth_open_question_is_not_asked(rig: Rig) -> None:
    begun = await working(rig)
    for number in range(MAX_OPEN):
        await put(rig, begun, replace(ASK, key=f"call-{number}"))
    one_more = replace(ASK, key="more")
    refused, _ = await rig.store.ask(ref(begun), "more", one_more, OWNER)
    assert refused == texts.too_many()
    cards = await sent(rig)
    assert len(cards) == MAX_OPEN
    await press(rig, cards[0])
    assert (await put(rig, begun, one_more)).id == "E6"


async def test_what_no_card_can_show_whole_is_not_asked(rig: Rig) -> None:
    begun = await working(rig)
    long = replace(DANGER, facts=(Fact(Label.COMMAND, "echo " + "x" * 4000),))
    refused, signals = await rig.store.ask(ref(begun), "call-1", long, OWNER)
    assert isinstance(refused, str)
    assert "always shown whole" in refused
    assert not signals.deliver
    assert await rig.heard() == []


async def test_only_who_owns_the_turn_may_ask_and_be_told(rig: Rig) -> None:
    old = await working(rig)
    await put(rig, old)
    await rig.reopen()
    await rig.turn()
    with pytest.raises(Fenced):
        await rig.store.ask(ref(old), "call-2", replace(ASK, key="call-2"), OWNER)
    with pytest.raises(Fenced):
        await rig.store.apply(ref(old), "call-1")


async def test_a_press_is_the_answer_and_the_work_goes_on_where_it_stood(rig: Rig) -> None:
    card = await parked(rig)
    assert await press(rig, card) == Handled("✓ E1 approved by Anna, 2023-11-14 22:13 UTC")
    assert rig.signals[-1].wake == {LANE}
    begun = await again(rig)
    assert begun.asked == {"call-1"}
    one = await found(rig, begun)
    assert (one.state, one.answer, one.decider) == (State.ANSWERED, Approved(), OWNER)
    assert await rig.store.apply(ref(begun), "call-1")
    assert not await rig.store.apply(ref(begun), "call-1")
    assert (await found(rig, begun)).state is State.APPLIED
    assert await trail(rig) == ["asked", "sent", "answered", "applied"]


async def test_the_card_shows_the_decision_and_loses_its_buttons(rig: Rig) -> None:
    card = await parked(rig, DANGER)
    await press(rig, card, "Deny")
    assert rig.signals[-1].deliver == {LANE}
    shown = await edits(rig)
    assert shown.keys() == {card.remote}
    assert shown[card.remote].text.startswith("✗ E1 denied by Anna")
    assert "rm -rf /srv/data" in shown[card.remote].text
    assert shown[card.remote].buttons == ()
    assert await edits(rig) == {}


async def test_what_is_still_open_is_not_told_to_the_work(rig: Rig) -> None:
    begun = await working(rig)
    await put(rig, begun)
    await sent(rig)
    assert not await rig.store.apply(ref(begun), "call-1")
    assert (await found(rig, begun)).state is State.OPEN


async def test_an_option_is_chosen_by_its_button(rig: Rig) -> None:
    card = await parked(rig, CHOICE)
    assert list(card.buttons) == ["1. Red", "2. Green", "3. Blue", "Later"]
    assert isinstance(await press(rig, card, "2. Green"), Handled)
    one = await found(rig, await again(rig))
    assert one.answer == Chose(1, "Green")


@pytest.mark.parametrize("together", [True, False])
async def test_of_forty_presses_the_first_wins_and_the_others_are_told_who(
    rig: Rig, *, together: bool
) -> None:
    card = await parked(rig, DANGER)
    presses = [
        push(rig, card, "Deny" if n else "Approve", by=OWNER if n % 2 else SECOND_OWNER)
        for n in range(40)
    ]
    if together:
        acks = list(await rig.accept(*presses))
    else:
        acks = [(await rig.accept(one))[0] for one in presses]
    assert isinstance(acks[0], Handled)
    (late,) = set(acks[1:])
    assert isinstance(late, Refused)
    assert late.text.startswith("Too late, this changed nothing. ✓ E1 approved by Bela")
    assert await rig.accept(*presses) == (Duplicate(),) * 40
    assert (await found(rig, await again(rig))).answer == Approved()
    assert len(await edits(rig)) == 1
    assert (await trail(rig)).count("late") == 2  # one for each of the two


async def test_a_member_does_not_approve_their_own_command(rig: Rig) -> None:
    card = await parked(rig, DANGER, by=MEMBER)
    refused = await press(rig, card, by=MEMBER)
    assert refused == Refused("You may not answer E1. May answer: owners.")
    assert await rig.heard() == []  # the card does not change
    assert await trail(rig) == ["asked", "sent", "refused"]
    (row,) = people_of(rig.store).audit(10)
    assert (row.what, row.person) == ("refused answer", MEMBER.id)
    assert isinstance(await press(rig, card, by=OWNER), Handled)


async def test_a_member_answers_what_their_own_work_asks(rig: Rig) -> None:
    card = await parked(rig, by=MEMBER)
    assert isinstance(await press(rig, card, by=MEMBER), Handled)


async def test_a_press_in_another_chat_or_on_another_card_counts_for_nothing(rig: Rig) -> None:
    begun = await working(rig)
    await put(rig, begun)
    await put(rig, begun, replace(ASK, key="call-2"))
    first, second = await sent(rig)
    assert await press(rig, first, at=THERE) == Refused(texts.ELSEWHERE)
    assert await press(rig, first, remote=second.remote) == Refused(texts.ELSEWHERE)
    assert await states(rig) == {"E1": "open", "E2": "open"}


async def test_a_button_that_nobody_knows_has_expired(rig: Rig) -> None:
    card = await parked(rig)
    forged = card_of(card.remote, Say("", buttons=()))
    forged = replace(forged, buttons={"Approve": "esc:AAAAAAAAAAAAAAAAAAAAAA.y"})
    assert await press(rig, forged) == Refused(texts.UNKNOWN_BUTTON)
    broken = replace(forged, buttons={"Approve": "esc:what"})
    assert await press(rig, broken) == Refused(texts.UNKNOWN_BUTTON)


async def test_a_copy_of_the_card_that_nobody_heard_of_counts(rig: Rig) -> None:
    """The first send was in doubt and arrived, so the chat shows two."""
    begun = await working(rig)
    await put(rig, begun)
    first = await rig.store.next_outgoing(LANE, now=NOW)
    assert first is not None
    assert isinstance(first.what, Say)
    lost = card_of(RemoteId("lost"), first.what)
    await rig.store.unsent(first, doubtful=True)
    await rig.reopen()
    (card,) = await sent(rig)
    assert card.buttons != lost.buttons
    assert isinstance(await press(rig, lost), Handled)
    assert (await edits(rig)).keys() == {"lost", card.remote}


async def test_a_copy_is_taken_before_any_card_is_known(rig: Rig) -> None:
    begun = await working(rig)
    await put(rig, begun)
    first = await rig.store.next_outgoing(LANE, now=NOW)
    assert first is not None
    assert isinstance(first.what, Say)
    await rig.store.unsent(first, doubtful=True)
    assert isinstance(await press(rig, card_of(RemoteId("m1"), first.what)), Handled)
    assert (await found(rig, begun)).answer == Approved()


async def test_the_same_start_sends_a_card_again_with_the_same_buttons(rig: Rig) -> None:
    await put(rig, await working(rig))
    first = await rig.store.next_outgoing(LANE, now=NOW)
    assert first is not None
    await rig.store.unsent(first, doubtful=True)
    second = await rig.store.next_outgoing(LANE, now=NOW)
    assert second is not None
    assert first.what == second.what


async def test_later_keeps_the_question_open(rig: Rig) -> None:
    card = await parked(rig)
    told = await press(rig, card, "Later")
    assert isinstance(told, Handled)
    assert "without reminders" in told.text
    assert await states(rig) == {"E1": "open"}
    assert isinstance(await press(rig, card), Handled)


async def test_a_card_that_cannot_be_sent_is_told_to_the_work(rig: Rig) -> None:
    begun = await working(rig)
    await put(rig, begun)
    await park(rig, begun)
    out = await rig.store.next_outgoing(LANE, now=NOW)
    assert out is not None
    signals = await rig.store.dead(out, "bot was kicked")
    assert signals.wake == {LANE}
    one = await found(rig, await again(rig))
    assert (one.state, one.why) == (State.UNDELIVERABLE, "bot was kicked")


async def test_an_edit_that_cannot_be_made_alarms_nobody(rig: Rig) -> None:
    await press(rig, await parked(rig))
    out = await rig.store.next_outgoing(LANE, now=NOW)
    assert out is not None
    await rig.store.dead(out, "message not found")
    assert people_of(rig.store).audit(10) == ()


async def test_a_turn_that_still_runs_parks_after_its_answer_and_goes_on_at_once(
    rig: Rig,
) -> None:
    begun = await working(rig)
    await put(rig, begun)
    (card,) = await sent(rig)
    await press(rig, card)
    next_ = await park(rig, begun)
    assert isinstance(next_, Begun)
    assert (next_.turn.id, next_.turn.attempt) == (begun.turn.id, 2)
    assert await rig.store.apply(ref(next_), "call-1")
    assert isinstance(await rig.answer(next_), Rest)


async def test_what_the_work_found_out_by_itself_is_not_told_again(rig: Rig) -> None:
    """It was begun again for another reason, after the answer and before its row was due."""
    begun = await working(rig)
    await put(rig, begun)
    (card,) = await sent(rig)
    await press(rig, card)
    assert await rig.store.apply(ref(begun), "call-1")
    assert isinstance(await rig.answer(begun), Rest)


async def test_two_questions_of_a_call_begin_it_no_more_often_than_needed(rig: Rig) -> None:
    begun = await working(rig)
    await put(rig, begun)
    await put(rig, begun, replace(ASK, key="call-1#2"), call="call-1")
    await park(rig, begun)
    for card in await sent(rig):
        await press(rig, card)
    begun = await again(rig)
    assert begun.asked == {"call-1", "call-1#2"}
    assert await rig.store.apply(ref(begun), "call-1")
    assert await rig.store.apply(ref(begun), "call-1#2")
    assert isinstance(await rig.answer(begun), Rest)


async def test_an_answer_that_was_told_does_not_begin_a_turn_that_parked_again(rig: Rig) -> None:
    begun = await working(rig)
    await put(rig, begun)
    await put(rig, begun, replace(ASK, key="call-1#2"), call="call-1")
    await park(rig, begun)
    for card in await sent(rig):
        await press(rig, card)
    begun = await again(rig)
    await rig.store.apply(ref(begun), "call-1")
    await rig.store.apply(ref(begun), "call-1#2")
    await put(rig, begun, replace(ASK, key="call-1#3"), call="call-1")
    parked_again = Ending(outcome=Outcome.PARKED, seconds=1.0)
    assert await rig.end(begun, parked_again) == Rest(None)


async def test_what_waits_while_others_talk_goes_on_in_a_turn_of_its_own(rig: Rig) -> None:
    card = await parked(rig)
    await rig.say("something else")
    between = await rig.turn()
    assert inputs_of(between) == ["something else"]
    history = await rig.store.history(between.turn.session)
    assert "waiting for E1; the answer comes as a message" in str(history)
    await rig.answer(between)
    await press(rig, card)
    begun = await rig.turn()
    assert begun.turn.kind is RowKind.ANSWER
    assert begun.turn.principal == OWNER
    assert begun.call is not None
    assert begun.call.id == "call-1"
    assert (await found(rig, begun)).answer == Approved()
    assert await rig.store.apply(ref(begun), "call-1")
    assert isinstance(await rig.answer(begun), Rest)


async def test_a_turn_that_ends_takes_its_open_questions_along(rig: Rig) -> None:
    begun = await working(rig)
    await put(rig, begun)
    (card,) = await sent(rig)
    assert isinstance(await rig.answer(begun), Rest)
    (said, *_) = (await edits(rig)).values()
    assert said.text.startswith("⏹ E1 cancelled")
    late = await press(rig, card)
    assert isinstance(late, Refused)
    assert "E1 cancelled" in late.text
    await rig.say("what about it?")
    told = inputs_of(await rig.turn())
    assert told[0].startswith("[Outcome of E1: cancelled]")
    assert told[1:] == ["what about it?"]


async def test_what_a_chat_was_asked_can_be_listed(rig: Rig) -> None:
    card = await parked(rig, replace(ASK, question="Shall I\ndeploy?"))
    (fact,) = await rig.store.chats(PlatformName.TELEGRAM)
    assert fact.waiting == 1
    one = (await questions(rig))["E1"]
    assert (one.text, one.how) == ("Shall I deploy?", "/approve E1, or /deny E1 reason")
    assert [button.command for button in one.buttons] == ["/approve E1", "/deny E1"]
    assert (one.outcome, one.remotes) == ("", (card.remote,))
    assert one.trail[0].who == "Anna"
    await press(rig, card)
    done = (await questions(rig))["E1"]
    assert done.buttons == ()
    assert done.outcome.startswith("✓ E1 approved by Anna")
    (fact,) = await rig.store.chats(PlatformName.TELEGRAM)
    assert fact.waiting == 0


async def test_a_failed_turn_is_told_apart_from_one_that_waits(rig: Rig) -> None:
    begun = await working(rig)
    await put(rig, begun, TEXT)
    await rig.end(begun, Ending(outcome=Outcome.FAILED, seconds=1.0, reason="no route"))
    assert await states(rig) == {"E1": "cancelled"}
    assert [text for text in await rig.heard() if "E1" in text] == []  # its card never goes out


async def test_a_reply_in_the_trail_names_who_gave_it(rig: Rig) -> None:
    card = await parked(rig)
    await press(rig, card, "Deny", by=SECOND_OWNER)
    one = (await questions(rig))["E1"]
    assert [(line.what, line.who) for line in one.trail[-1:]] == [("answered", "Bela")]
    begun = await again(rig)
    assert (await found(rig, begun)).answer == Denied()
    await rig.end(begun, answered())
    assert await states(rig) == {"E1": "applied"}


async def test_a_group_whose_people_have_lanes_of_their_own_shares_its_numbers(rig: Rig) -> None:
    group = Address(PlatformName.DISCORD, "bot", "5")
    anna, bela = replace(group, user="1"), replace(group, user="2")
    first = await put(rig, await working(rig, anna.key), lane=anna.key)
    second = await put(rig, await working(rig, bela.key, MEMBER), lane=bela.key)
    assert (first.id, second.id) == ("E1", "E2")
    (card,) = await sent(rig, bela.key)
    assert isinstance(await press(rig, card, at=anna), Handled)
    assert await states(rig, bela.key) == {"E2": "answered"}
