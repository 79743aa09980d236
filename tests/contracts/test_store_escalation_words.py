"""The `Store` contract: a message or a command is an answer where nothing else can be meant."""

from __future__ import annotations

from dataclasses import replace

from core.escalations.record import Answer, Approved, Chose, Denied, State, Wrote
from core.messages import (
    Address,
    Duplicate,
    Handled,
    PlatformName,
    Queued,
    Refused,
    RemoteId,
)
from core.sessions.arrivals import Arrival, Commanded, Said
from core.sessions.conversation import Told
from core.sessions.lane import Rest
from core.sessions.ports import Begun
from tests.contracts.asking_rig import (
    ASK,
    CHOICE,
    DANGER,
    TEXT,
    Card,
    edits,
    park,
    parked,
    press,
    put,
    sent,
    speak,
    states,
    trail,
    words,
    working,
)
from tests.contracts.backends import people_of
from tests.contracts.store_rig import (
    HERE,
    LANE,
    MEMBER,
    OTHER_LANE,
    OWNER,
    THERE,
    Rig,
    texts,
)

STILL_OPEN = (
    "E1 is still open: this was not taken as its answer. "
    "To answer it, use /approve E1, or /deny E1 reason."
)


async def outcome(rig: Rig) -> Answer | None:
    """What the work gets to know that goes on."""
    begun = await rig.turn()
    one = await put(rig, begun)
    assert one.state is State.ANSWERED
    return one.answer


async def two(rig: Rig) -> tuple[Card, Card]:
    """Two questions of one turn, both in the chat."""
    begun = await working(rig)
    await put(rig, begun)
    await put(rig, begun, replace(ASK, key="call-2", question="Shall I restart?"))
    await park(rig, begun, "call-1", "call-2")
    first, second = await sent(rig)
    rig.clock.wall += 1
    return first, second


def order(rig: Rig, line: str) -> Arrival:
    """A command that was typed now."""
    made = rig.order(line)
    assert isinstance(made.what, Commanded)
    return replace(made, what=replace(made.what, sent_at=rig.clock.now()))


async def command(rig: Rig, line: str) -> object:
    """The same, accepted."""
    return (await rig.accept(order(rig, line)))[0]


async def test_a_reply_to_the_older_of_two_cards_answers_that_one(rig: Rig) -> None:
    first, _ = await two(rig)
    assert isinstance(await speak(rig, "no", to=first.remote), Handled)
    assert await states(rig) == {"E1": "answered", "E2": "open"}
    assert await outcome(rig) == Denied()


async def test_the_answer_is_confirmed_in_the_chat_and_its_card_edited(rig: Rig) -> None:
    card = await parked(rig)
    told = await speak(rig, "yes", to=card.remote)
    assert isinstance(told, Handled)
    assert told.text.startswith("✓ E1 approved by Anna")
    shown = await rig.shown()
    assert len(shown) == 2
    assert told.text in [getattr(what, "text", "") for _, what in shown]


async def test_a_bare_yes_answers_the_one_open_question(rig: Rig) -> None:
    await parked(rig)
    assert isinstance(await speak(rig, "Yes!"), Handled)
    assert await outcome(rig) == Approved()


async def test_a_bare_yes_to_two_is_refused_with_both_named(rig: Rig) -> None:
    await two(rig)
    told = await speak(rig, "yes")
    assert isinstance(told, Refused)
    assert "· E1" in told.text
    assert "· E2" in told.text
    assert await rig.begin() == Rest(None)  # it begins no turn either
    assert await states(rig) == {"E1": "open", "E2": "open"}


async def test_a_yes_that_was_typed_before_the_card_came_is_a_message(rig: Rig) -> None:
    begun = await working(rig)
    await put(rig, begun)
    await park(rig, begun)
    typed = words(rig, "yes")
    rig.clock.wall += 5
    await sent(rig)
    assert await rig.accept(typed) == (Queued(0),)
    assert await states(rig) == {"E1": "open"}


async def test_a_yes_while_the_card_is_on_its_way_is_a_message(rig: Rig) -> None:
    begun = await working(rig)
    await put(rig, begun)
    await park(rig, begun)
    assert isinstance(await speak(rig, "yes"), Queued)


async def test_a_yes_after_the_bot_said_something_else_is_a_message(rig: Rig) -> None:
    await parked(rig)
    await rig.tell("/whoami")
    assert isinstance(await speak(rig, "yes"), Queued)  # its reply is on its way
    assert (await rig.heard())[1:] == [STILL_OPEN]
    rig.clock.wall += 1
    assert isinstance(await speak(rig, "yes"), Queued)
    assert await rig.heard() == [STILL_OPEN]
    assert await states(rig) == {"E1": "open"}


async def test_a_message_that_comes_twice_is_told_once_that_it_was_no_answer(rig: Rig) -> None:
    card = await parked(rig)
    typed = words(rig, "no, not before Friday", to=card.remote)
    assert await rig.accept(typed) == (Queued(0),)
    assert await rig.accept(typed) == (Duplicate(),)
    assert await rig.heard() == [STILL_OPEN]
    assert (await rig.turn()).payloads[0]["text"] == "no, not before Friday"


async def test_a_yes_while_a_turn_runs_is_a_message(rig: Rig) -> None:
    await parked(rig)
    await speak(rig, "how is it going?")
    await rig.turn()
    assert isinstance(await speak(rig, "yes"), Queued)


async def test_what_is_said_in_another_chat_disturbs_nothing(rig: Rig) -> None:
    await parked(rig)
    await rig.accept(rig.order("/whoami", lane=OTHER_LANE))
    await rig.heard(OTHER_LANE)
    assert isinstance(await speak(rig, "yes", at=THERE), Queued)
    assert isinstance(await speak(rig, "yes"), Handled)


async def test_yes_but_is_a_message(rig: Rig) -> None:
    card = await parked(rig)
    for text in ("yes, but wait", "yes?", "yes please do it tomorrow"):
        assert isinstance(await speak(rig, text), Queued)
        assert await rig.heard() == []
        assert isinstance(await speak(rig, text, to=card.remote), Queued)
        assert await rig.heard() == [STILL_OPEN]
    assert await states(rig) == {"E1": "open"}


async def test_a_message_with_a_file_is_no_answer(rig: Rig) -> None:
    card = await parked(rig)
    typed = words(rig, "yes", to=card.remote)
    assert isinstance(typed.what, Said)
    assert typed.what.words is not None
    said = replace(typed.what, words=replace(typed.what.words, bare=False))
    assert await rig.accept(replace(typed, what=said)) == (Queued(0),)


async def test_a_text_in_private_is_the_answer_and_is_echoed(rig: Rig) -> None:
    await parked(rig, TEXT)
    told = await speak(rig, "call it Blue\u200bbird")
    assert isinstance(told, Handled)
    assert told.text.endswith("Taken as your answer to E1: call it Bluebird")
    assert told.text in await rig.heard()
    assert await outcome(rig) == Wrote("call it Bluebird")


async def test_a_text_in_a_group_needs_a_reply(rig: Rig) -> None:
    card = await parked(rig, TEXT)
    assert isinstance(await speak(rig, "Bluebird", private=False), Queued)
    assert isinstance(await speak(rig, "Bluebird", private=False, to=card.remote), Handled)


async def test_an_option_is_chosen_by_its_number(rig: Rig) -> None:
    await parked(rig, CHOICE)
    assert isinstance(await speak(rig, "2"), Handled)
    assert await outcome(rig) == Chose(1, "Green")


async def test_a_reply_to_a_decided_card_is_told_who_decided(rig: Rig) -> None:
    card = await parked(rig)
    await press(rig, card)
    late = await speak(rig, "no", to=card.remote)
    assert isinstance(late, Refused)
    assert "E1 approved by Anna" in late.text
    assert (await trail(rig))[-1] == "late"
    assert people_of(rig.store).audit(10) == ()


async def test_a_reply_by_who_may_not_answer_is_refused_and_written_down(rig: Rig) -> None:
    card = await parked(rig, DANGER)
    refused = await speak(rig, "yes", by=MEMBER, to=card.remote)
    assert refused == Refused("You may not answer E1. May answer: owners.")
    (row,) = people_of(rig.store).audit(10)
    assert row.what == "refused answer"
    assert isinstance(await speak(rig, "yes", by=MEMBER), Queued)  # no answer of theirs


async def test_a_reply_in_a_thread_under_the_card_answers_it(rig: Rig) -> None:
    channel = Address(PlatformName.SLACK, "T", "C")
    begun = await working(rig, channel.key)
    await put(rig, begun, lane=channel.key)
    await park(rig, begun, lane=channel.key)
    (card,) = await sent(rig, channel.key)
    below = replace(channel, thread=card.remote)
    assert isinstance(await speak(rig, "yes", at=below, to=card.remote), Handled)


async def test_an_answer_that_is_delivered_twice_counts_once(rig: Rig) -> None:
    card = await parked(rig)
    typed = words(rig, "yes", to=card.remote)
    assert isinstance((await rig.accept(typed))[0], Handled)
    assert await rig.accept(typed) == (Duplicate(),)
    await rig.reopen()
    assert await rig.accept(typed) == (Duplicate(),)


async def test_a_message_that_began_a_turn_is_no_answer_when_it_comes_again(rig: Rig) -> None:
    """It was taken before anything was asked, and its platform sends it once more."""
    typed = words(rig, "yes")
    assert await rig.accept(typed) == (Queued(0),)
    begun = await rig.turn()
    await put(rig, begun)
    await park(rig, begun)
    await sent(rig)
    assert await rig.accept(typed) == (Duplicate(),)
    assert await states(rig) == {"E1": "open"}


async def test_the_conversation_shows_answers_and_no_presses(rig: Rig) -> None:
    card = await parked(rig)
    await press(rig, card, "Later")
    await speak(rig, "yes", to=card.remote)
    read = await rig.store.conversation(LANE)
    told = [(line.text, line.command) for line in read.lines if isinstance(line, Told)]
    assert told == [("deploy it", False), ("yes", False)]
    await edits(rig)
    read = await rig.store.conversation(LANE)
    shown = [getattr(line.what, "text", "") for line in read.lines if not isinstance(line, Told)]
    assert len(shown) == 2  # the card as it was decided, and the confirmation
    assert all(text.startswith("✓ E1 approved by Anna") for text in shown)


async def test_a_command_answers_by_its_id_beside_a_running_turn(rig: Rig) -> None:
    await two(rig)
    await speak(rig, "what is this about?")
    await rig.turn()
    told = await command(rig, "/deny E1 not on a Friday")
    assert isinstance(told, Handled)
    assert told.text.startswith("✗ E1 denied by Anna")
    assert await states(rig) == {"E1": "answered", "E2": "open"}
    assert told.text in await rig.heard()


async def test_a_command_needs_no_id_where_one_is_open(rig: Rig) -> None:
    await parked(rig)
    assert isinstance(await command(rig, "/approve"), Handled)
    assert await outcome(rig) == Approved()


async def test_a_command_without_an_id_to_two_is_refused_in_private(rig: Rig) -> None:
    await two(rig)
    told = await command(rig, "/approve")
    assert isinstance(told, Refused)
    assert "Say which" in told.text
    assert await rig.heard() == []
    assert isinstance(await command(rig, "/approve E9"), Refused)


async def test_a_command_from_before_the_card_needs_its_id(rig: Rig) -> None:
    begun = await working(rig)
    await put(rig, begun)
    await park(rig, begun)
    early = order(rig, "/approve")
    assert isinstance(await command(rig, "/approve E1"), Refused)  # nobody has seen it
    rig.clock.wall += 5
    await sent(rig)
    assert isinstance((await rig.accept(early))[0], Refused)
    assert await states(rig) == {"E1": "open"}


async def test_an_answer_by_command_is_taken_as_it_is_written(rig: Rig) -> None:
    await parked(rig, TEXT)
    await command(rig, "/answer E1 Bluebird, with a capital B")
    assert await outcome(rig) == Wrote("Bluebird, with a capital B")


async def test_a_member_cannot_approve_by_command(rig: Rig) -> None:
    await parked(rig, DANGER)
    made = order(rig, "/approve E1")
    (told,) = await rig.accept(replace(made, principal=MEMBER))
    assert told == Refused("You may not answer E1. May answer: owners.")
    assert await rig.heard() == []


async def test_pending_lists_what_is_open_here(rig: Rig) -> None:
    await rig.tell("/pending")
    assert await rig.heard() == ["Nothing is waiting for an answer here."]
    await parked(rig)
    await rig.tell("/pending")
    (listed,) = await rig.heard()
    assert "· E1, a question: Shall I deploy?" in listed
    assert isinstance(await rig.accept(rig.order("/pending", lane=OTHER_LANE)), tuple)
    assert await rig.heard(OTHER_LANE) == ["Nothing is waiting for an answer here."]


async def test_an_answer_is_taken_ahead_of_what_people_wrote_meanwhile(rig: Rig) -> None:
    """A message goes first, and sets the parked turn aside; then the answer goes on."""
    card = await parked(rig)
    await rig.say("and another thing")
    await press(rig, card)
    first = await rig.turn()
    assert texts(first) == ["and another thing"]
    second = await rig.answer(first)
    assert isinstance(second, Begun)
    assert second.call is not None


async def test_whose_question_it_is_decides_for_whom_a_bare_yes_counts(rig: Rig) -> None:
    await parked(rig, by=OWNER)
    assert isinstance(await speak(rig, "yes", by=MEMBER), Queued)
    assert await states(rig) == {"E1": "open"}


async def test_a_message_in_a_chat_that_asks_nothing_is_only_a_message(rig: Rig) -> None:
    assert await speak(rig, "yes") == Queued(0)
    assert await speak(rig, "yes", to=RemoteId("7"), at=replace(HERE, thread="9")) == Queued(0)
