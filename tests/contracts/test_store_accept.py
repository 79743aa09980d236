"""The `Store` contract: what is accepted, once, in order, with its commands in effect."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.goals.texts import TURN_RUNNING
from core.messages import Duplicate, Handled, Queued, Refused
from core.sessions.arrivals import Commanded, Said
from core.sessions.lane import MAX_WAITING, Busy, Outcome, Rest
from core.sessions.machine import QUEUE_FULL
from core.sessions.ports import Begun, Ending
from tests.contracts.asking_rig import ASK, press, put, sent, working
from tests.contracts.store_rig import (
    LANE,
    MEMBER,
    NOW,
    OTHER_LANE,
    OWNER,
    SECOND_OWNER,
    Rig,
    answered,
    ref,
    texts,
)


async def test_messages_are_answered_in_the_order_they_came(rig: Rig) -> None:
    await rig.accept(rig.message("one"), rig.message("two"))
    await rig.say("three")
    seen: list[str] = []
    next_ = await rig.begin()
    while isinstance(next_, Begun):
        seen += texts(next_)
        next_ = await rig.answer(next_)
    assert seen == ["one", "two", "three"]
    assert next_ == Rest(None)


async def test_a_message_says_how_many_stand_before_it(rig: Rig) -> None:
    assert await rig.say("one") == Queued(0)
    assert await rig.say("two") == Queued(1)
    await rig.turn()
    assert await rig.say("three") == Queued(2)


async def test_a_redelivered_message_is_taken_once(rig: Rig) -> None:
    message = rig.message("once")
    assert await rig.accept(message, message) == (Queued(0), Duplicate())
    await rig.reopen()
    assert await rig.accept(message) == (Duplicate(),)
    assert isinstance(await rig.answer(await rig.turn()), Rest)
    assert await rig.accept(message) == (Duplicate(),)
    assert isinstance(await rig.begin(), Rest)


async def test_a_redelivered_command_acts_once(rig: Rig) -> None:
    order = rig.order("/goal Write a poem")
    assert isinstance((await rig.accept(order))[0], Handled)
    assert await rig.accept(order) == (Duplicate(),)
    assert len(await rig.heard()) == 1


async def test_the_cursor_moves_with_the_batch(rig: Rig) -> None:
    assert await rig.store.cursor("tg:bot") is None
    await rig.store.accept([rig.message("one")], cursor=("tg:bot", "7"), now=NOW)
    await rig.store.accept([], cursor=("tg:bot", "9"), now=NOW)
    await rig.store.accept([], cursor=("sl:team", "x"), now=NOW)
    await rig.reopen()
    assert await rig.store.cursor("tg:bot") == "9"
    assert await rig.store.cursor("sl:team") == "x"


async def test_a_batch_a_stop_b_drops_a_and_answers_b(rig: Rig) -> None:
    await rig.accept(rig.message("A"), rig.order("/stop"), rig.message("B"))
    begun = await rig.turn()
    assert texts(begun) == ["B"]
    assert isinstance(await rig.answer(begun), Rest)
    assert await rig.heard() == ["⏹ Stopped. 1 waiting messages dropped.", "an answer"]


async def test_a_redelivered_stop_kills_no_newer_message(rig: Rig) -> None:
    stop = rig.order("/stop")
    await rig.accept(rig.message("A"), stop)
    await rig.say("B")
    assert await rig.accept(stop) == (Duplicate(),)
    assert texts(await rig.turn()) == ["B"]


async def test_stop_cancels_the_running_turn_in_its_own_transaction(rig: Rig) -> None:
    await rig.say("A")
    begun = await rig.turn()
    await rig.say("waits")
    await rig.tell("/stop")
    assert rig.signals[-1].cancel == ((LANE, begun.turn.id),)
    assert await rig.heard() == ["⏹ Stopped. 1 waiting messages dropped."]
    next_ = await rig.answer(begun, "too late")
    assert next_ == Rest(None)
    assert await rig.heard() == []


async def test_a_stop_tells_which_questions_it_takes_back(rig: Rig) -> None:
    begun = await working(rig)
    for key in ("call-1", "call-2", "call-3"):
        await put(rig, begun, replace(ASK, key=key))
    first, *_ = await sent(rig)
    await press(rig, first, "Approve")
    await rig.heard()
    await rig.tell("/stop")
    assert "⏹ Stopped. 0 waiting messages dropped. E2 and E3 taken back." in await rig.heard()
    await rig.tell("/stop")
    assert await rig.heard() == ["⏹ Stopped. 0 waiting messages dropped."]


async def test_a_row_before_the_stop_turns_every_ending_into_stopped(rig: Rig) -> None:
    await rig.goal()
    await rig.tell("/stop")
    await rig.say("after")
    await rig.restart()
    begun = await rig.turn()
    assert texts(begun) == ["after"]
    assert await rig.store.open_judgement(LANE) is None


async def test_a_stop_with_nothing_to_stop_says_so(rig: Rig) -> None:
    assert await rig.tell("/stop") == Handled("Nothing is running here.")


async def test_a_stop_in_one_lane_leaves_the_others_alone(rig: Rig) -> None:
    await rig.accept(rig.message("A"), rig.message("B", lane=OTHER_LANE), rig.order("/stop"))
    assert isinstance(await rig.begin(), Rest)
    assert texts(await rig.turn(OTHER_LANE)) == ["B"]


async def test_the_hundred_and_first_waiting_message_is_refused_in_words(rig: Rig) -> None:
    many = [rig.message(str(n)) for n in range(MAX_WAITING + 1)]
    acks = await rig.accept(*many)
    assert acks[-2:] == (Queued(MAX_WAITING - 1), Refused(QUEUE_FULL))
    assert await rig.heard() == [QUEUE_FULL]
    assert await rig.accept(many[-1]) == (Duplicate(),)
    await rig.turn()
    assert await rig.say("one place is free again") == Queued(MAX_WAITING)


async def test_a_goal_right_behind_a_message_in_one_batch_is_rejected(rig: Rig) -> None:
    await rig.accept(rig.message("A"), rig.order("/goal Write a poem"))
    assert await rig.heard() == [TURN_RUNNING]
    begun = await rig.turn()
    assert begun.goal is None
    assert isinstance(await rig.answer(begun), Rest)


async def test_a_goal_during_a_turn_is_rejected_and_the_old_one_stays(rig: Rig) -> None:
    begun = await rig.goal("Write a poem")
    await rig.tell("/goal Something else")
    assert await rig.heard() == [TURN_RUNNING]
    await rig.answer(begun)
    assert (await rig.asked()).goal.text == "Write a poem"


async def test_an_open_verdict_counts_as_idle(rig: Rig) -> None:
    await rig.answer(await rig.goal("Write a poem"))
    await rig.tell("/goal Write a song")
    begun = await rig.turn()
    assert begun.goal is not None
    assert begun.goal.text == "Write a song"


async def test_a_split_message_waits_for_its_rest_and_is_one_turn(rig: Rig) -> None:
    await rig.accept(rig.message("first half", more=True))
    waiting = await rig.begin()
    assert isinstance(waiting, Rest)
    assert waiting.until is not None
    assert waiting.until > NOW
    await rig.say("second half")
    begun = await rig.turn()
    assert texts(begun) == ["first half", "second half"]
    assert isinstance(await rig.answer(begun), Rest)


async def test_a_split_message_whose_rest_never_comes_is_answered_alone(rig: Rig) -> None:
    await rig.accept(rig.message("first half", more=True))
    waiting = await rig.begin()
    assert isinstance(waiting, Rest)
    assert waiting.until is not None
    await rig.reopen()
    rig.clock.wall = waiting.until
    assert texts(await rig.turn()) == ["first half"]


async def test_another_persons_message_is_never_the_rest_of_a_split_one(rig: Rig) -> None:
    await rig.accept(rig.message("half", more=True), rig.message("other", SECOND_OWNER))
    rig.clock.wall += 60
    first = await rig.turn()
    assert texts(first) == ["half"]
    second = await rig.answer(first)
    assert texts(second) == ["other"]


async def test_collect_merges_what_waits_and_never_mixes_roles(rig: Rig) -> None:
    rig.collect = True
    await rig.accept(
        rig.message("a"),
        rig.message("b", SECOND_OWNER),
        rig.message("c", MEMBER),
        rig.message("d"),
    )
    first = await rig.turn()
    assert texts(first) == ["a", "b"]
    second = await rig.answer(first)
    assert texts(second) == ["c"]
    assert isinstance(second, Begun)
    assert second.turn.principal == MEMBER
    assert texts(await rig.answer(second)) == ["d"]


async def test_collect_never_reaches_over_a_session_switch(rig: Rig) -> None:
    rig.collect = True
    await rig.accept(rig.message("old"), rig.order("/new"), rig.message("new"))
    first = await rig.turn()
    assert texts(first) == ["old"]
    second = await rig.answer(first)
    assert isinstance(second, Begun)
    assert texts(second) == ["new"]
    assert second.turn.session != first.turn.session


async def test_an_interrupting_message_ends_the_running_turn_and_is_answered(rig: Rig) -> None:
    await rig.say("long work")
    begun = await rig.turn()
    await rig.say("look here", busy=Busy.INTERRUPT)
    assert rig.signals[-1].cancel == ((LANE, begun.turn.id),)
    next_ = await rig.answer(begun, "never shown")
    assert texts(next_) == ["look here"]
    assert await rig.heard() == []


async def test_unknown_commands_are_answered_with_the_nearest(rig: Rig) -> None:
    ack = await rig.tell("/gaol")
    assert ack == Handled("Unknown command /gaol. Did you mean /goal? /help lists them all.")
    assert isinstance(await rig.begin(), Rest)


async def test_a_press_and_its_redelivery_act_once_and_answer_with_a_toast(rig: Rig) -> None:
    await rig.goal()
    press = rig.order("/goal pause")
    assert isinstance(press.what, Commanded)
    acks = await rig.accept(press, replace(press))
    assert isinstance(acks[0], Handled)
    assert acks[0].text.startswith("⏸ Goal paused: as you asked.")
    assert acks[1] == Duplicate()


async def test_a_stopped_turn_keeps_its_messages_in_the_transcript(rig: Rig) -> None:
    await rig.say("remember me")
    begun = await rig.turn()
    await rig.tell("/stop")
    await rig.end(begun, Ending(outcome=Outcome.STOPPED, seconds=0.1))
    history = await rig.store.history(begun.turn.session)
    assert [entry.text for entry in history] == ["remember me"]


async def test_signals_wake_the_lane_and_its_delivery(rig: Rig) -> None:
    await rig.say("A")
    assert rig.signals[-1].wake == {LANE}
    begun = await rig.turn()
    await rig.answer(begun)
    assert rig.signals[-1].deliver == {LANE}


@pytest.mark.parametrize(
    "text", ["nul \x00 and bell \x07", "emoji 🎉", "half an emoji \ud83c", "x" * 1_000_000]
)
async def test_any_text_is_stored_and_answered(rig: Rig, text: str) -> None:
    payload = {"text": text, "name": text[:20]}
    arrival = replace(rig.message(""), what=Said(payload), principal=replace(OWNER, name=text[:9]))
    assert await rig.accept(arrival) == (Queued(0),)
    begun = await rig.turn()
    await rig.reopen()
    begun = await rig.turn()
    await rig.end(begun, answered(text))
    assert ref(begun).attempt == 2
    history = await rig.store.history(begun.turn.session)
    assert len(history) == 2
    assert len(history[1].text) == len(text)


@pytest.mark.parametrize(
    "line",
    [
        "/goal budget turns=_10",
        "/goal budget time=" + "9" * 400 + "h",
        "/goal budget turns=" + "9" * 5000,
        "/resume " + "9" * 5000,
        "/subgoal remove " + "9" * 5000,
        "/goal outcome:",
        "/" + "x" * 64 + " " + "y" * 5000,
    ],
)
async def test_no_command_line_ever_sinks_the_batch_it_came_in(rig: Rig, line: str) -> None:
    await rig.goal()
    acks = await rig.accept(rig.message("before"), rig.order(line), rig.message("after"))
    assert [type(ack) for ack in acks] == [Queued, Handled, Queued]
