"""The `Store` contract: turns that wait for a person, when they are stopped or left behind."""

from __future__ import annotations

from dataclasses import replace

from core.agent.steps import Finished, Injected, Replied, Started
from core.messages import Address, PlatformName
from core.sessions.arrivals import Relocation
from core.sessions.lane import Outcome, Rest, RowKind
from core.sessions.ports import Ending, TurnRef
from core.transcript import Assistant, Result, User
from tests.contracts.asking_rig import put
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
    OTHER_LANE,
    Rig,
    answered,
    ref,
    reply,
    result,
)

MOVED = Address(PlatformName.TELEGRAM, "bot", "-100777").key
E1, E2 = WAITS.format(id="E1"), WAITS.format(id="E2")


async def test_stopping_ends_what_waits_for_good(rig: Rig) -> None:
    first = await rig.goal()
    await wait(rig, first, "a")
    await rig.tell("/stop")
    assert rig.signals[-1].ended == {TurnRef(LANE, first.turn.id, 1)}
    assert isinstance(await rig.begin(), Rest)
    assert (await rig.store.history(first.turn.session))[-1] == Result(
        "a", "stopped before a person had answered what this call asked; nothing of it was done"
    )
    await rig.restart()
    assert isinstance(await rig.begin(), Rest)
    await rig.tell("/goal resume")
    assert (await rig.turn()).turn.kind is RowKind.CONTINUATION


async def test_stopping_ends_what_was_set_aside_in_any_session(rig: Rig) -> None:
    first = await waiting(rig)
    await between(rig)
    await rig.tell("/new")
    assert isinstance(await rig.begin(), Rest)
    await approve(rig)
    await rig.tell("/stop")
    assert rig.signals[-1].ended == {TurnRef(LANE, first.turn.id, 1)}
    assert isinstance(await rig.begin(), Rest)
    assert await rests(rig)


async def test_clearing_a_goal_ends_its_turn_and_leaves_the_persons(rig: Rig) -> None:
    goal = await rig.goal()
    await wait(rig, goal, "a")
    persons = await waiting(rig, "b")
    await rig.tell("/goal clear")
    assert rig.signals[-1].ended == {TurnRef(LANE, goal.turn.id, 1)}
    assert isinstance(await rig.begin(), Rest)
    await approve(rig, "E2")
    assert (await rig.turn()).turn.id == persons.turn.id


async def test_a_turn_whose_goal_is_cleared_while_it_runs_asks_and_ends(rig: Rig) -> None:
    begun = await rig.goal()
    await rig.store.record(ref(begun), [Replied(0, reply(asks("a"))), Started(0, "a")])
    await put(rig, begun, question("a"))
    await rig.tell("/goal clear")
    assert isinstance(await park(rig, begun), Rest)
    assert await rests(rig)
    await between(rig)


async def test_the_answer_goes_on_in_the_session_that_was_left(rig: Rig) -> None:
    first = await rig.goal()
    await wait(rig, first, "a")
    await rig.tell("/new")
    assert isinstance(await rig.begin(), Rest)
    second = await waiting(rig, "b", text="something else")
    await approve(rig, "E1")
    begun = await goes_on(rig, first)
    await tell_work(rig, begun, "a")
    await rig.store.record(ref(begun), [Finished(0, result(asks("a"))), Injected(0, User("told"))])
    assert isinstance(await rig.answer(begun, "deployed"), Rest)
    assert (await rig.store.history(first.turn.session))[-2:] == (
        User("told"),
        Assistant("deployed"),
    )
    assert await rig.store.history(second.turn.session) == ()
    await approve(rig, "E2")
    assert (await rig.turn()).turn == replace(second.turn, attempt=2)


async def test_a_turn_of_a_session_that_was_left_waits_again_there(rig: Rig) -> None:
    first = await waiting(rig)
    await rig.tell("/new")
    assert isinstance(await rig.begin(), Rest)
    await approve(rig)
    begun = await goes_on(rig, first)
    await tell_work(rig, begun, "a")
    await rig.store.record(ref(begun), [Finished(0, result(asks("a"))), Injected(0, User("told"))])
    await rig.store.record(ref(begun), [Replied(0, reply(asks("z"))), Started(0, "z")])
    await put(rig, begun, question("z"))
    assert isinstance(await park(rig, begun), Rest)
    assert (await rig.store.history(first.turn.session))[-1] == Result("z", E2)
    await approve(rig, "E2")
    assert (await goes_on(rig, first)).call == asks("z")


async def test_the_answer_of_a_paused_goal_is_held_in_the_session_that_was_left(rig: Rig) -> None:
    first = await rig.goal()
    await wait(rig, first, "a")
    await rig.tell("/goal pause")
    await rig.tell("/new")
    assert isinstance(await rig.begin(), Rest)
    await approve(rig)
    assert isinstance(await rig.begin(), Rest)
    await rig.tell("/resume")
    assert isinstance(await rig.begin(), Rest)
    await rig.tell("/goal resume")
    assert (await goes_on(rig, first)).call == asks("a")


async def fetched(rig: Rig, number: int) -> bool:
    """Whether the other lane gets a session."""
    await rig.accept(rig.order(f"/resume #{number}", lane=OTHER_LANE))
    await rig.begin(OTHER_LANE)
    (said,) = await rig.heard(OTHER_LANE)
    return not said.startswith("⚠")


async def test_a_session_that_waits_for_a_person_is_fetched_by_nobody_before_it_is_stopped(
    rig: Rig,
) -> None:
    first = await waiting(rig)
    session = first.turn.session
    assert not await fetched(rig, session)
    await rig.tell("/new")
    await rig.begin()
    assert not await fetched(rig, session)
    await approve(rig)
    assert not await fetched(rig, session)
    begun = await goes_on(rig, first)
    assert not await fetched(rig, session)
    await tell_work(rig, begun, "a")
    assert not await fetched(rig, session), "a turn works in it"
    await put(rig, begun, question("b"))
    await park(rig, begun)
    assert not await fetched(rig, session)
    await rig.tell("/stop")
    assert await fetched(rig, session)


async def test_a_turn_that_waits_follows_its_chat(rig: Rig) -> None:
    first = await waiting(rig)
    await rig.accept(Relocation("tg:bot:moved", LANE, MOVED))
    assert isinstance(await rig.begin(MOVED), Rest)
    await rig.heard(MOVED)
    await approve(rig, "E1", MOVED)
    again = await rig.turn(MOVED)
    assert again.turn == replace(first.turn, attempt=2)
    assert again.asked == {"a"}


async def test_a_turn_that_waits_is_set_aside_where_its_chat_joins_another(rig: Rig) -> None:
    first = await waiting(rig)
    await rig.accept(rig.message("hello", lane=OTHER_LANE))
    await rig.end(await rig.turn(OTHER_LANE), answered(), OTHER_LANE)
    await rig.accept(Relocation("tg:bot:moved", LANE, OTHER_LANE))
    assert isinstance(await rig.begin(OTHER_LANE), Rest)
    assert (await rig.store.history(first.turn.session))[-1] == Result("a", E1)
    await rig.heard(OTHER_LANE)
    await approve(rig, "E1", OTHER_LANE)
    assert (await goes_on(rig, first, OTHER_LANE)).call == asks("a")


async def test_a_turn_that_fails_when_it_was_taken_up_leaves_nothing_that_waits(rig: Rig) -> None:
    await waiting(rig, "a", "b")
    await approve(rig)
    assert isinstance(await rig.fail(await rig.turn()), Rest)
    assert "⚠ This turn failed: no route to the model" in await rig.heard()
    assert await rests(rig)


async def test_a_turn_that_goes_on_and_fails_leaves_the_other_call_to_its_answer(rig: Rig) -> None:
    first = await waiting(rig, "a", "b")
    await between(rig)
    await approve(rig)
    assert isinstance(await rig.fail(await goes_on(rig, first)), Rest)
    await approve(rig, "E2")
    assert (await goes_on(rig, first)).call == asks("b")


async def test_a_stop_that_comes_while_a_turn_leaves_to_wait_ends_it(rig: Rig) -> None:
    await rig.say("deploy it")
    begun = await rig.turn()
    await rig.store.record(ref(begun), [Replied(0, reply(asks("a"))), Started(0, "a")])
    await put(rig, begun, question("a"))
    await rig.tell("/stop")
    ending = Ending(outcome=Outcome.PARKED, seconds=1.0)
    assert isinstance(await rig.end(begun, ending), Rest)
    assert await rests(rig)
