"""The `Store` contract: turns that wait for a person, over restarts and what comes between."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.agent.steps import Finished, Injected, Replied, Started, Step
from core.delegation.ports import ChildRef
from core.errors import Fenced
from core.messages import Address, PlatformName
from core.sessions.lane import Rest, RowKind
from core.transcript import Assistant, Result, User
from tests.contracts.asking_rig import put
from tests.contracts.backends import children_of
from tests.contracts.parking_rig import (
    WAITS,
    approve,
    asks,
    between,
    goes_on,
    park,
    question,
    rests,
    tell_work,
    wait,
    waiting,
)
from tests.contracts.store_rig import (
    LANE,
    NOT_DONE,
    Rig,
    answered,
    ref,
    reply,
    result,
    texts,
)

MOVED = Address(PlatformName.TELEGRAM, "bot", "-100777").key
E1, E2 = WAITS.format(id="E1"), WAITS.format(id="E2")


@pytest.mark.parametrize("answered_before_the_kill", [True, False])
async def test_a_turn_that_waits_outlives_a_kill(
    rig: Rig, *, answered_before_the_kill: bool
) -> None:
    await rig.say("deploy it")
    first = await rig.turn()
    await rig.step(first, 0)
    await wait(rig, first, "a", "b", n=1, done=["b"])
    if answered_before_the_kill:
        await approve(rig)
    await rig.restart()
    if not answered_before_the_kill:
        assert isinstance(await rig.begin(), Rest)
        await approve(rig)
    again = await rig.turn()
    assert again.turn == replace(first.turn, attempt=2)
    assert (again.inputs, again.payloads) == (first.inputs, first.payloads)
    assert again.asked == {"a"}
    assert again.call is None
    assert [step.n for step in again.steps] == [0, 1]
    assert again.steps[1] == Step(
        n=1,
        reply=reply(asks("a"), asks("b")),
        started=frozenset("ab"),
        results={"b": result(asks("b"))},
    )
    await tell_work(rig, again, "a")
    await rig.store.record(ref(again), [Finished(1, result(asks("a")))])
    assert isinstance(await rig.answer(again, "deployed"), Rest)
    assert (await rig.store.history(again.turn.session))[-3:] == (
        Result("a", "fine"),
        Result("b", "fine"),
        Assistant("deployed"),
    )


async def test_a_turn_that_waits_may_be_cut_again_and_again_while_it_waits(rig: Rig) -> None:
    await waiting(rig)
    for _ in range(4):
        await rig.restart()
        assert isinstance(await rig.begin(), Rest)
    await approve(rig)
    assert (await rig.turn()).turn.tries == 1


async def test_an_older_attempt_that_waited_is_fenced(rig: Rig) -> None:
    first = await waiting(rig)
    with pytest.raises(Fenced):
        await rig.store.record(ref(first), [Injected(1, User("late"))])
    with pytest.raises(Fenced):
        await rig.answer(first)
    await approve(rig)
    await rig.turn()
    with pytest.raises(Fenced):
        await park(rig, first)


async def test_what_is_set_aside_reads_so_in_the_transcript(rig: Rig) -> None:
    await rig.say("deploy it")
    first = await rig.turn()
    await wait(rig, first, "a", "b", "c", done=["b"], behind=["d"])
    await rig.say("and you?")
    second = await rig.turn()
    assert await rig.store.history(first.turn.session) == (
        User("deploy it"),
        Assistant("", tuple(map(asks, "abcd"))),
        Result("b", "fine"),
        Result("a", E1),
        Result("c", E2),
        Result(
            "d",
            "not run: it stood behind a call that waits for a person. Make it again if it is "
            "still wanted",
        ),
    )
    assert texts(second) == ["and you?"]
    await rig.answer(second, "fine")
    assert (await rig.store.history(first.turn.session))[-2:] == (
        User("and you?"),
        Assistant("fine"),
    )


async def test_the_answer_begins_a_turn_that_goes_on_with_its_call_alone(rig: Rig) -> None:
    first = await waiting(rig, "a", "b")
    await between(rig)
    await approve(rig)
    begun = await goes_on(rig, first)
    assert begun.call == asks("a")
    assert (begun.inputs, begun.steps) == ((), ())
    assert begun.asked == {"a"}
    await rig.restart()
    again = await goes_on(rig, first)
    assert again.turn == replace(begun.turn, attempt=2, tries=2)
    assert again.call == asks("a")
    assert again.asked == {"a"}
    await tell_work(rig, again, "a")
    told = User("what came of it")
    await rig.store.record(ref(again), [Finished(0, result(asks("a"))), Injected(0, told)])
    await rig.restart()
    once_more = await goes_on(rig, first)
    assert once_more.steps == (
        Step(n=0, injected=(told,), started=frozenset("a"), results={"a": result(asks("a"))}),
    )
    before = await rig.store.history(first.turn.session)
    assert isinstance(await rig.answer(once_more, "done"), Rest)
    after = await rig.store.history(first.turn.session)
    assert after == (*before, told, Assistant("done"))


@pytest.mark.parametrize("order", [("E1", "E2"), ("E2", "E1")])
async def test_two_calls_go_on_in_whatever_order_they_are_answered(
    rig: Rig, order: tuple[str, str]
) -> None:
    first = await waiting(rig, "a", "b")
    by_id = {"E1": "a", "E2": "b"}
    for id_ in order:
        await between(rig)
        await approve(rig, id_)
        begun = await goes_on(rig, first)
        assert begun.call == asks(by_id[id_])
        await tell_work(rig, begun, by_id[id_])
        assert isinstance(await rig.answer(begun), Rest)
    assert await rests(rig)


async def test_two_answers_at_once_take_a_turn_that_waits_up_once(rig: Rig) -> None:
    first = await waiting(rig, "a", "b")
    await approve(rig, "E1")
    await approve(rig, "E2")
    again = await rig.turn()
    assert again.turn == replace(first.turn, attempt=2)
    await tell_work(rig, again, "a")
    await tell_work(rig, again, "b")
    await rig.store.record(ref(again), [Finished(0, result(asks(name))) for name in "ab"])
    assert isinstance(await rig.answer(again), Rest)


async def test_one_of_two_answers_lets_the_turn_wait_on(rig: Rig) -> None:
    first = await waiting(rig, "a", "b")
    await approve(rig, "E2")
    again = await rig.turn()
    assert again.asked == {"a", "b"}
    await tell_work(rig, again, "b")
    await rig.store.record(ref(again), [Finished(0, result(asks("b")))])
    assert isinstance(await park(rig, again), Rest)
    await approve(rig, "E1")
    last = await rig.turn()
    assert last.turn == replace(first.turn, attempt=3)
    assert last.asked == {"a", "b"}


async def test_what_was_answered_and_done_before_it_was_set_aside_is_not_gone_on_with(
    rig: Rig,
) -> None:
    first = await waiting(rig, "a", "b")
    await approve(rig, "E1")
    again = await rig.turn()
    await tell_work(rig, again, "a")
    await rig.store.record(ref(again), [Finished(0, result(asks("a")))])
    await park(rig, again)
    await between(rig)
    history = await rig.store.history(first.turn.session)
    assert history[2:4] == (Result("a", "fine"), Result("b", E2))
    await approve(rig, "E2")
    assert (await goes_on(rig, first)).call == asks("b")


async def test_a_turn_that_goes_on_may_wait_for_another_answer_and_be_set_aside(rig: Rig) -> None:
    first = await waiting(rig)
    await between(rig)
    await approve(rig)
    begun = await goes_on(rig, first)
    await tell_work(rig, begun, "a")
    told = User("what came of it")
    await rig.store.record(ref(begun), [Finished(0, result(asks("a"))), Injected(0, told)])
    await rig.store.record(ref(begun), [Replied(0, reply(asks("z"))), Started(0, "z")])
    await put(rig, begun, question("z"))
    assert isinstance(await park(rig, begun), Rest)
    await between(rig)
    history = await rig.store.history(first.turn.session)
    assert history[-5:-2] == (told, Assistant("", (asks("z"),)), Result("z", E2))
    await approve(rig, "E2")
    last = await goes_on(rig, begun)
    assert last.call == asks("z")
    await tell_work(rig, last, "z")
    assert isinstance(await rig.answer(last), Rest)
    assert await rests(rig)


async def test_a_turn_that_goes_on_and_waits_is_taken_up_like_any(rig: Rig) -> None:
    first = await waiting(rig)
    await between(rig)
    await approve(rig)
    begun = await goes_on(rig, first)
    await tell_work(rig, begun, "a")
    await rig.store.record(
        ref(begun),
        [
            Finished(0, result(asks("a"))),
            Injected(0, User("told")),
            Replied(0, reply(asks("z"))),
            Started(0, "z"),
        ],
    )
    await put(rig, begun, question("z"))
    await park(rig, begun)
    await approve(rig, "E2")
    again = await goes_on(rig, first)
    assert again.turn == replace(begun.turn, attempt=2)
    assert again.call == asks("a")
    assert again.asked == {"a", "z"}
    assert again.steps[0].results == {"a": result(asks("a"))}


async def test_a_call_that_goes_on_may_wait_for_a_second_answer_of_its_own(rig: Rig) -> None:
    first = await waiting(rig)
    await between(rig)
    await approve(rig)
    begun = await goes_on(rig, first)
    await tell_work(rig, begun, "a")
    await put(rig, begun, replace(question("a"), key="a!2"), call="a")
    assert isinstance(await park(rig, begun), Rest)
    before = await rig.store.history(first.turn.session)
    await between(rig)
    after = await rig.store.history(first.turn.session)
    assert after == (*before, User("and you?"), Assistant("an answer"))
    await approve(rig, "E2")
    last = await goes_on(rig, first)
    assert last.call == asks("a")
    assert last.asked == {"a", "a!2"}


async def test_children_of_a_call_that_waits_go_on_with_it_and_others_do_not(rig: Rig) -> None:
    await rig.say("deploy it")
    first = await rig.turn()
    children = children_of(rig.store)
    paths = ("a.0", "a.0/x.1", "b.0")
    for path in paths:
        await children.open_child(ChildRef(ref(first), path), "a brief")
        begins = (Replied(0, reply(asks("x"))), Started(0, "x"))
        await children.record_child(ChildRef(ref(first), path), begins)
    await wait(rig, first, "a", "b", done=["b"])
    await between(rig)
    await approve(rig)
    begun = await goes_on(rig, first)
    states = [await children.open_child(ChildRef(ref(begun), path), "a brief") for path in paths]
    assert [(len(state.steps), state.tries) for state in states] == [(1, 1), (1, 1), (0, 1)]


async def test_the_judge_sees_what_was_done_before_and_after_the_answer(rig: Rig) -> None:
    first = await rig.goal()
    await rig.step(first, 0)
    await wait(rig, first, "a", n=1)
    await between(rig)
    assert await rig.store.open_judgement(LANE) is None
    await approve(rig)
    begun = await goes_on(rig, first)
    assert begun.turn.goal == first.turn.goal
    await tell_work(rig, begun, "a")
    await rig.store.record(ref(begun), [Finished(0, result(asks("a"))), Injected(0, User("told"))])
    await rig.step(begun, 0)
    assert isinstance(await rig.answer(begun, "deployed"), Rest)
    assert rig.signals[-1].judge == {LANE}
    asked = await rig.asked()
    assert asked.answer == "deployed"
    assert [receipt.tool for receipt in asked.receipts] == ["terminal", "ask", "terminal"]
    assert asked.goal.turns == 1


async def test_the_receipts_of_a_turn_go_before_the_judge_once(rig: Rig) -> None:
    first = await rig.goal()
    await rig.step(first, 0)
    await wait(rig, first, "a", "b", n=1)
    await between(rig)
    for id_, name in (("E1", "a"), ("E2", "b")):
        await approve(rig, id_)
        begun = await goes_on(rig, first)
        await tell_work(rig, begun, name)
        await rig.answer(begun)
    assert [receipt.tool for receipt in (await rig.asked()).receipts] == ["terminal"]


async def test_a_goal_whose_turn_waits_is_at_rest_and_asks_no_judge(rig: Rig) -> None:
    first = await rig.goal()
    assert not await rig.store.at_rest(LANE)
    await wait(rig, first, "a")
    assert await rig.store.at_rest(LANE)
    assert await rig.store.open_judgement(LANE) is None
    await approve(rig)
    assert not await rig.store.at_rest(LANE)


async def test_a_judge_is_not_asked_about_a_turn_before_one_that_waits(rig: Rig) -> None:
    await rig.answer(await rig.goal())
    assert rig.signals[-1].judge == {LANE}
    await waiting(rig)
    assert await rig.store.open_judgement(LANE) is None
    await approve(rig)
    begun = await rig.turn()
    await tell_work(rig, begun, "a")
    assert isinstance(await rig.answer(begun), Rest)
    assert rig.signals[-1].judge == {LANE}
    await rig.judge(NOT_DONE)
    assert (await rig.turn()).turn.kind is RowKind.CONTINUATION


async def test_the_time_of_a_turn_counts_once_and_not_while_it_waits(rig: Rig) -> None:
    first = await rig.goal()
    await wait(rig, first, "a", seconds=5.0)
    rig.clock.wall += 3600
    await approve(rig)
    again = await rig.turn()
    await tell_work(rig, again, "a")
    await rig.store.record(ref(again), [Finished(0, result(asks("a")))])
    await wait(rig, again, "b", n=1, seconds=7.0)
    await approve(rig, "E2")
    last = await rig.turn()
    await rig.end(last, replace(answered(), seconds=11.0))
    assert (await rig.asked()).goal.seconds == 23.0
