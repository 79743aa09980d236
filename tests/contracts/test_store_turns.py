"""The `Store` contract: a turn is begun, recorded, taken up after a restart, and ended."""

from __future__ import annotations

import pytest

from core.agent.steps import Finished, Folded, Injected, Replied, Started, TurnInput
from core.agent.trace import replay
from core.errors import Fenced
from core.messages import Address, LaneKey, PlatformName, Say, SendFile
from core.sessions.lane import Busy, Outcome, Rest
from core.sessions.ports import Begun, Ending
from core.transcript import Assistant, Result, User
from tests.contracts.store_rig import (
    LANE,
    MEMBER,
    OTHER_LANE,
    OWNER,
    Rig,
    answered,
    call,
    ref,
    reply,
    result,
    texts,
)

MOVED = Address(PlatformName.TELEGRAM, "bot", "-100777").key


async def test_a_begun_turn_is_taken_up_before_a_newer_message(rig: Rig) -> None:
    await rig.say("old")
    first = await rig.turn()
    await rig.say("new")
    await rig.reopen()
    again = await rig.turn()
    assert texts(again) == ["old"]
    assert (again.turn.id, again.turn.attempt) == (first.turn.id, 2)
    assert texts(await rig.answer(again)) == ["new"]


async def test_a_turn_goes_on_from_its_last_step(rig: Rig) -> None:
    await rig.say("work")
    begun = await rig.turn()
    await rig.step(begun, 0)
    asked, second = call(1), call(2)
    await rig.store.record(
        ref(begun), [Replied(1, reply(asked, second, text="on it")), Started(1, asked.id)]
    )
    await rig.reopen()
    again = await rig.turn()
    assert again.inputs == begun.inputs
    assert [step.n for step in again.steps] == [0, 1]
    assert again.steps[0].results[call(0).id] == result(call(0))
    assert again.steps[1].reply == reply(asked, second, text="on it")


async def test_a_call_that_started_without_a_result_is_reported_as_started(rig: Rig) -> None:
    await rig.say("work")
    begun = await rig.turn()
    asked, second = call(1), call(2)
    await rig.store.record(ref(begun), [Replied(0, reply(asked, second)), Started(0, asked.id)])
    await rig.reopen()
    (step,) = (await rig.turn()).steps
    assert step.started == {asked.id}
    assert step.results == {}


async def test_a_finished_call_stays_finished_when_it_is_told_to_start_again(rig: Rig) -> None:
    await rig.say("work")
    begun = await rig.turn()
    asked = call(1)
    await rig.store.record(ref(begun), [Replied(0, reply(asked)), Started(0, asked.id)])
    await rig.store.record(ref(begun), [Finished(0, result(asked, "first"))])
    await rig.store.record(ref(begun), [Started(0, asked.id), Finished(0, result(asked, "again"))])
    await rig.reopen()
    (step,) = (await rig.turn()).steps
    assert step.results[asked.id].text == "first"


async def test_what_entered_a_step_keeps_its_order(rig: Rig) -> None:
    await rig.say("work")
    begun = await rig.turn()
    for n in range(12):
        await rig.store.record(ref(begun), [Injected(0, User(f"note {n}"))])
    await rig.reopen()
    (step,) = (await rig.turn()).steps
    assert [message.text for message in step.injected] == [f"note {n}" for n in range(12)]


async def test_a_turn_begun_three_times_without_a_new_step_ends_as_failed(rig: Rig) -> None:
    await rig.say("poison")
    await rig.say("next")
    for attempt in (1, 2, 3):
        begun = await rig.turn()
        assert (texts(begun), begun.turn.attempt) == (["poison"], attempt)
        await rig.reopen()
    assert texts(await rig.turn()) == ["next"]
    (said,) = await rig.heard()
    assert said.startswith("⚠ This turn failed: it was begun 3 times")


async def test_a_new_step_gives_a_turn_its_three_tries_again(rig: Rig) -> None:
    await rig.say("slow")
    for n in range(5):
        begun = await rig.turn()
        await rig.step(begun, n)
        await rig.reopen()
    for _ in range(3):
        assert texts(await rig.turn()) == ["slow"]
        await rig.reopen()
    assert isinstance(await rig.begin(), Rest)


async def test_an_older_attempts_writes_are_fenced(rig: Rig) -> None:
    await rig.say("work")
    old = await rig.turn()
    await rig.reopen()
    new = await rig.turn()
    with pytest.raises(Fenced):
        await rig.step(old, 0)
    with pytest.raises(Fenced):
        await rig.answer(old)
    assert isinstance(await rig.answer(new), Rest)
    with pytest.raises(Fenced):
        await rig.answer(new)
    with pytest.raises(Fenced):
        await rig.step(new, 0)
    assert await rig.heard() == ["an answer"]


async def test_a_stopped_turn_may_write_nothing_more_but_its_end(rig: Rig) -> None:
    await rig.say("work")
    begun = await rig.turn()
    await rig.tell("/stop")
    with pytest.raises(Fenced):
        await rig.step(begun, 0)
    with pytest.raises(Fenced):
        await rig.store.post(LANE, begun.turn.id, "file:1", SendFile("a.txt"))
    assert isinstance(await rig.answer(begun), Rest)


async def test_a_stopped_turn_whose_process_died_is_ended_at_the_next_start(rig: Rig) -> None:
    await rig.say("work")
    await rig.turn()
    await rig.tell("/stop")
    await rig.say("next")
    await rig.reopen()
    assert texts(await rig.turn()) == ["next"]


async def test_every_ending_frees_the_lane_and_names_the_next_turn(rig: Rig) -> None:
    await rig.accept(*(rig.message(str(n)) for n in range(4)))
    next_: Begun | Rest = await rig.turn()
    for n, outcome in enumerate((Outcome.ANSWERED, Outcome.FAILED, Outcome.STOPPED)):
        assert texts(next_) == [str(n)]
        assert isinstance(next_, Begun)
        next_ = await rig.end(next_, Ending(outcome=outcome, seconds=0.5, reason="why"))
    assert texts(next_) == ["3"]


async def test_a_failed_turn_says_so_in_the_chat(rig: Rig) -> None:
    await rig.say("work")
    await rig.fail(await rig.turn(), "the key was refused")
    assert await rig.heard() == ["⚠ This turn failed: the key was refused"]


async def test_an_answer_is_one_transcript_with_its_steps(rig: Rig) -> None:
    await rig.say("work")
    begun = await rig.turn()
    await rig.step(begun, 0)
    await rig.answer(begun, "done")
    await rig.reopen()
    assert await rig.store.history(begun.turn.session) == (
        User("work"),
        Assistant("", (call(0),)),
        Result(call(0).id, "fine"),
        Assistant("done"),
    )


async def test_a_stopped_turn_leaves_no_call_open_in_the_transcript(rig: Rig) -> None:
    await rig.say("work")
    begun = await rig.turn()
    asked, second = call(1), call(2)
    await rig.store.record(ref(begun), [Replied(0, reply(asked, second)), Started(0, asked.id)])
    await rig.tell("/stop")
    await rig.answer(begun)
    history = await rig.store.history(begun.turn.session)
    assert [type(entry) for entry in history] == [User, Assistant, Result, Result]
    assert all("unknown" in entry.text for entry in history[2:])


async def test_a_stored_turn_replays_to_the_request_it_would_have_sent(rig: Rig) -> None:
    await rig.say("first")
    await rig.answer(await rig.turn())
    await rig.say("second")
    begun = await rig.turn()
    history = await rig.store.history(begun.turn.session)
    await rig.step(begun, 0)
    before = replay(
        TurnInput(turn=1, history=history, inputs=begun.inputs, steps=(await _stored(rig)).steps)
    )
    assert [entry.text for entry in before.messages] == [
        "first",
        "an answer",
        "second",
        "",
        "fine",
    ]


async def _stored(rig: Rig) -> Begun:
    await rig.reopen()
    return await rig.turn()


async def test_a_checkpoint_replaces_what_came_before_it(rig: Rig) -> None:
    await rig.say("one")
    await rig.answer(await rig.turn(), "answer one")
    await rig.say("two")
    begun = await rig.turn()
    await rig.step(begun, 0)
    await rig.store.record(ref(begun), [Folded(1, "a summary")])
    await rig.reopen()
    begun = await rig.turn()
    await rig.step(begun, 1)
    await rig.answer(begun, "answer two")
    await rig.reopen()
    assert [entry.text for entry in await rig.store.history(begun.turn.session)] == [
        "a summary",
        "",
        "fine",
        "answer two",
    ]
    await rig.say("three")
    await rig.answer(await rig.turn(), "answer three")
    kept = [entry.text for entry in await rig.store.history(begun.turn.session)]
    assert kept == ["a summary", "", "fine", "answer two", "three", "answer three"]


async def test_a_second_checkpoint_replaces_the_first(rig: Rig) -> None:
    await rig.say("one")
    begun = await rig.turn()
    await rig.store.record(ref(begun), [Folded(0, "first")])
    await rig.answer(begun)
    await rig.say("two")
    begun = await rig.turn()
    await rig.store.record(ref(begun), [Folded(0, "second")])
    await rig.answer(begun, "end")
    kept = [entry.text for entry in await rig.store.history(begun.turn.session)]
    assert kept == ["second", "end"]


async def test_a_prefix_is_kept_once_and_never_replaced(rig: Rig) -> None:
    await rig.say("one")
    begun = await rig.turn()
    assert begun.prefix == ""
    session = begun.turn.session
    assert await rig.store.keep_prefix(session, "first") == "first"
    assert await rig.store.keep_prefix(session, "second") == "first"
    await rig.reopen()
    again = await rig.turn()
    assert again.prefix == "first"


async def test_the_providers_count_goes_from_turn_to_turn(rig: Rig) -> None:
    await rig.accept(rig.message("one"), rig.message("two"), rig.message("three"))
    begun = await rig.turn()
    assert begun.counted == 0
    counted = Ending(outcome=Outcome.ANSWERED, seconds=1.0, answer="ok", counted=1234)
    second = await rig.end(begun, counted)
    assert isinstance(second, Begun)
    assert second.counted == 1234
    third = await rig.fail(second)
    assert isinstance(third, Begun)
    assert third.counted == 1234


async def test_a_steered_message_is_claimed_with_the_record_that_reads_it(rig: Rig) -> None:
    await rig.say("work")
    begun = await rig.turn()
    await rig.say("to the left", busy=Busy.STEER)
    (steered,) = await rig.store.steered(ref(begun))
    assert steered.message == User("to the left")
    assert len(await rig.store.steered(ref(begun))) == 1
    await rig.store.record(ref(begun), [Injected(0, steered.message)], claim=[steered.seq])
    assert await rig.store.steered(ref(begun)) == ()
    await rig.reopen()
    again = await rig.turn()
    assert again.steps[0].injected == (User("to the left"),)
    assert isinstance(await rig.answer(again), Rest)


async def test_a_steered_message_that_nobody_read_gets_its_own_turn(rig: Rig) -> None:
    await rig.say("work")
    begun = await rig.turn()
    await rig.say("to the left", busy=Busy.STEER)
    assert len(await rig.store.steered(ref(begun))) == 1
    assert texts(await rig.answer(begun)) == ["to the left"]


async def test_a_steered_message_of_another_role_is_not_read_by_the_turn(rig: Rig) -> None:
    await rig.say("work")
    begun = await rig.turn()
    await rig.say("give me everything", MEMBER, busy=Busy.STEER)
    assert await rig.store.steered(ref(begun)) == ()
    next_ = await rig.answer(begun)
    assert isinstance(next_, Begun)
    assert next_.turn.principal == MEMBER


async def test_a_message_behind_a_switch_is_never_steered_into_the_old_session(rig: Rig) -> None:
    await rig.say("work")
    begun = await rig.turn()
    await rig.tell("/new")
    await rig.say("for the new session", busy=Busy.STEER)
    assert await rig.store.steered(ref(begun)) == ()
    next_ = await rig.answer(begun)
    assert isinstance(next_, Begun)
    assert next_.turn.session != begun.turn.session


async def test_a_file_is_queued_once_per_turn_and_key(rig: Rig) -> None:
    await rig.say("work")
    begun = await rig.turn()
    for _ in range(2):
        await rig.store.post(LANE, begun.turn.id, "file:1", SendFile("a.txt"))
    await rig.store.post(LANE, begun.turn.id, "file:2", SendFile("b.txt"))
    await rig.answer(begun)
    assert await rig.heard() == ["a.txt", "b.txt", "an answer"]
    with pytest.raises(Fenced):
        await rig.store.post(LANE, begun.turn.id, "file:3", SendFile("c.txt"))


async def test_an_answers_parts_go_out_in_order_and_once(rig: Rig) -> None:
    await rig.say("work")
    begun = await rig.turn()
    await rig.end(begun, answered("long", ["part 1", "part 2", "part 3"]))
    assert await rig.heard() == ["part 1", "part 2", "part 3"]
    assert await rig.heard() == []


async def test_two_lanes_run_side_by_side(rig: Rig) -> None:
    await rig.accept(rig.message("here"), rig.message("there", lane=OTHER_LANE))
    here, there = await rig.turn(), await rig.turn(OTHER_LANE)
    assert (texts(here), texts(there)) == (["here"], ["there"])
    assert here.turn.session != there.turn.session
    await rig.end(there, answered("over there"), OTHER_LANE)
    await rig.end(here, answered("over here"))
    assert await rig.heard() == ["over here"]
    assert await rig.heard(OTHER_LANE) == ["over there"]


async def test_small_values_are_kept_by_key(rig: Rig) -> None:
    assert await rig.store.meta("menu") is None
    await rig.store.put_meta("menu", "1")
    await rig.store.put_meta("menu", "2")
    await rig.reopen()
    assert await rig.store.meta("menu") == "2"


async def test_closing_twice_is_once(rig: Rig) -> None:
    await rig.store.close()
    await rig.store.close()


async def test_what_a_start_finds_is_what_was_left(rig: Rig) -> None:
    other = LaneKey(OTHER_LANE)
    assert not (await rig.store.unfinished()).lanes
    await rig.say("waits")
    await rig.accept(rig.message("runs", lane=other))
    await rig.turn(other)
    await rig.reopen()
    found = await rig.store.unfinished()
    assert found.lanes == {LANE, other}
    assert found.outbox == frozenset()
    assert not await rig.store.at_rest(LANE)
    await rig.answer(await rig.turn())
    found = await rig.store.unfinished()
    assert found.lanes == {other}
    assert found.outbox == {LANE}
    assert not await rig.store.at_rest(LANE)
    await rig.heard()
    assert await rig.store.at_rest(LANE)


async def test_a_lane_with_an_active_goal_is_never_at_rest(rig: Rig) -> None:
    await rig.judged_goal()
    await rig.answer(await rig.turn())
    await rig.heard()
    assert (await rig.store.unfinished()).goals == {LANE}
    assert not await rig.store.at_rest(LANE)
    await rig.tell("/goal clear")
    await rig.heard()
    assert await rig.store.at_rest(LANE)
    assert (await rig.store.unfinished()).goals == frozenset()


async def test_a_lane_that_never_was_is_at_rest(rig: Rig) -> None:
    assert await rig.store.at_rest(OTHER_LANE)
    assert isinstance(await rig.begin(OTHER_LANE), Rest)


async def test_an_answer_can_carry_buttons_and_files(rig: Rig) -> None:
    await rig.say("work")
    begun = await rig.turn()
    posts = (Say("see", markdown=True), SendFile("long.md", content="all of it"))
    await rig.end(begun, Ending(outcome=Outcome.ANSWERED, seconds=1, answer="x", posts=posts))
    await rig.reopen()
    first = await rig.store.next_outgoing(LANE, now=rig.clock.now())
    assert first is not None
    assert (first.what, first.turn, first.last_part) == (posts[0], begun.turn.id, False)


async def test_a_turn_runs_under_the_rights_of_who_asked(rig: Rig) -> None:
    await rig.say("member asks", MEMBER)
    await rig.say("owner asks", OWNER)
    first = await rig.turn()
    assert first.turn.principal == MEMBER
    second = await rig.answer(first)
    assert isinstance(second, Begun)
    assert second.turn.principal == OWNER
