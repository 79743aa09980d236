"""The `ChildStore` contract: a turn's children are stored as it is, under its fence, while it
lasts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from core.agent.steps import Finished, Folded, Injected, Replied, Started, Step
from core.delegation.ports import ChildRef, ChildState, ChildStore
from core.errors import Fenced
from core.messages import Address, LaneKey, PlatformName
from core.ports import Usage
from core.sessions.arrivals import Relocation
from core.sessions.lane import Outcome, Rest
from core.sessions.ports import Begun, CallUsage, CapReached, Ending, Estimate, Reserved
from core.transcript import User
from tests.contracts.backends import children_of
from tests.contracts.store_rig import (
    LANE,
    NOT_DONE,
    NOW,
    OTHER_LANE,
    Rig,
    answered,
    call,
    ref,
    reply,
    result,
)

MOVED = Address(PlatformName.TELEGRAM, "bot", "-100777").key
PATH = "call_1.0"


def child(begun: Begun, path: str = PATH, lane: LaneKey = LANE) -> ChildRef:
    return ChildRef(ref(begun, lane), path)


async def opened(rig: Rig, of: ChildRef, brief: str = "write the tests") -> ChildState:
    """All that is stored of it but its id, which is the store's own."""
    return replace(await children_of(rig.store).open_child(of, brief), id=0)


async def turn(rig: Rig) -> Begun:
    await rig.say("delegate it")
    return await rig.turn()


async def step(rig: Rig, of: ChildRef, n: int, *, used: bool = True) -> None:
    """A whole step of the child with one call."""
    children, asked = children_of(rig.store), call(n)
    said = reply(asked)
    await children.record_child(
        of, [Replied(n, said), Started(n, asked.id)], used=[said.usage] if used else []
    )
    await children.record_child(of, [Finished(n, result(asked))])


def whole(n: int) -> Step:
    """What `step` leaves."""
    asked = call(n)
    return Step(
        n=n,
        reply=reply(asked),
        started=frozenset({asked.id}),
        results={asked.id: result(asked)},
    )


async def test_a_child_begins_with_nothing(rig: Rig) -> None:
    assert await opened(rig, child(await turn(rig))) == ChildState(tries=1, began=NOW)


async def test_a_child_goes_on_after_a_restart_with_all_that_was_stored(rig: Rig) -> None:
    of = child(await turn(rig))
    await opened(rig, of)
    await step(rig, of, 0)
    await step(rig, of, 1)
    await children_of(rig.store).keep_child(of, "half way", used=[Usage(5, 1, 2, 0.5)])
    await rig.restart()
    assert await opened(rig, child(await rig.turn())) == ChildState(
        began=NOW,
        tries=1,
        steps=(whole(0), whole(1)),
        kept="half way",
        used=Usage(25, 1, 22, 0.52),
        calls=3,
    )


async def test_every_kind_of_write_comes_back_as_it_was(rig: Rig) -> None:
    of = child(await turn(rig))
    await opened(rig, of)
    one, two = call(1), call(2)
    await children_of(rig.store).record_child(
        of,
        [
            Folded(3, "what came before"),
            Injected(3, User("first")),
            Injected(3, User("second", ("an image",))),
            Replied(3, reply(one, two, text="let me see")),
            Started(3, one.id),
            Finished(3, result(one, "naïve 🙂")),
            Started(3, two.id),
        ],
    )
    [stored] = (await opened(rig, of)).steps
    assert stored == Step(
        n=3,
        reply=reply(one, two, text="let me see"),
        injected=(User("first"), User("second", ("an image",))),
        started=frozenset({one.id, two.id}),
        results={one.id: result(one, "naïve 🙂")},
        folded="what came before",
    )


async def test_the_first_result_of_a_call_stands(rig: Rig) -> None:
    of = child(await turn(rig))
    await opened(rig, of)
    await step(rig, of, 0)
    await children_of(rig.store).record_child(of, [Finished(0, result(call(0), "another"))])
    assert (await opened(rig, of)).steps == (whole(0),)


async def test_tries_count_the_openings_since_the_last_step(rig: Rig) -> None:
    of = child(await turn(rig))
    assert [(await opened(rig, of)).tries for _ in range(3)] == [1, 2, 3]
    await children_of(rig.store).record_child(of, [Injected(0, User("x")), Folded(0, "y")])
    assert (await opened(rig, of)).tries == 4
    await step(rig, of, 0)
    assert [(await opened(rig, of)).tries for _ in range(2)] == [1, 2]
    await children_of(rig.store).keep_child(of, "x")
    assert (await opened(rig, of)).tries == 3


async def test_what_is_kept_replaces_what_was_kept_before(rig: Rig) -> None:
    of = child(await turn(rig))
    await opened(rig, of)
    for kept in ("one", "two", '{"three": "\ud83d"}'):
        await children_of(rig.store).keep_child(of, kept)
    assert (await opened(rig, of)).kept == '{"three": "\ufffd"}'
    await children_of(rig.store).keep_child(of, "")
    assert (await opened(rig, of)).kept == ""


async def test_children_are_told_apart_by_their_paths_and_from_their_turn(rig: Rig) -> None:
    begun = await turn(rig)
    paths = ("call_1.0", "call_1.1", "call_1.0~2", "call_1.0/call_1.0", "c'all\n%_.0")
    await rig.step(begun, 0)
    for n, path in enumerate(paths):
        await opened(rig, child(begun, path))
        await step(rig, child(begun, path), n)
        await children_of(rig.store).keep_child(child(begun, path), path)
    await rig.restart()
    again = await rig.turn()
    assert [stored.n for stored in again.steps] == [0]
    for n, path in enumerate(paths):
        state = await opened(rig, child(again, path))
        assert (state.steps, state.kept, state.calls) == ((whole(n),), path, 1)


async def test_the_same_path_in_a_later_turn_is_another_child(rig: Rig) -> None:
    begun = await turn(rig)
    await opened(rig, child(begun))
    await step(rig, child(begun), 0)
    await rig.answer(begun)
    assert await opened(rig, child(await turn(rig))) == ChildState(tries=1, began=NOW)


async def test_a_step_of_a_child_gives_its_turn_the_three_tries_again(rig: Rig) -> None:
    begun = await turn(rig)
    await opened(rig, child(begun))
    for n in range(5):
        await rig.restart()
        begun = await rig.turn()
        if n % 2:
            await step(rig, child(begun), n)
    assert begun.turn.attempt == 6


async def test_a_turn_whose_children_get_nowhere_ends_after_three_tries(rig: Rig) -> None:
    await rig.say("delegate it")
    for _ in range(3):
        begun = await rig.turn()
        await opened(rig, child(begun))
        await children_of(rig.store).record_child(child(begun), [Injected(0, User("x"))])
        await children_of(rig.store).keep_child(child(begun), "began")
        await rig.restart()
    assert isinstance(await rig.begin(), Rest)
    [said] = await rig.heard()
    assert "begun 3 times" in said


async def test_what_is_kept_of_a_child_can_be_read_without_beginning_it(rig: Rig) -> None:
    begun = await turn(rig)
    children, of = children_of(rig.store), child(begun)
    assert await children.kept_child(of) == ""
    assert await opened(rig, of) == ChildState(began=NOW)
    assert await children.kept_child(of) == ""
    await children.keep_child(of, "half done")
    await rig.restart()
    again = child(await rig.turn())
    assert await children_of(rig.store).kept_child(again) == "half done"
    with pytest.raises(Fenced):
        await children_of(rig.store).kept_child(of)


WRITES: dict[str, Callable[[ChildStore, ChildRef], Awaitable[object]]] = {
    "open": lambda children, of: children.open_child(of, "late"),
    "record": lambda children, of: children.record_child(
        of, [Replied(0, reply(call(0)))], used=[Usage(9)], spent=[CallUsage("m", Usage(9))]
    ),
    "keep": lambda children, of: children.keep_child(
        of, "late", used=[Usage(9)], spent=[CallUsage("m", Usage(9))]
    ),
}


@pytest.mark.parametrize("write", WRITES)
async def test_an_older_attempt_writes_nothing_to_a_child(rig: Rig, write: str) -> None:
    old = await rig.goal()
    await opened(rig, child(old))
    await rig.restart()
    new = await rig.turn()
    with pytest.raises(Fenced):
        await WRITES[write](children_of(rig.store), child(old))
    assert await opened(rig, child(new)) == ChildState(tries=2, began=NOW)
    await rig.tell("/goal")
    assert "Used: 0 tokens" in (await rig.heard())[-1]


@pytest.mark.parametrize("write", WRITES)
async def test_a_stopped_turn_and_one_that_has_ended_have_no_children(
    rig: Rig, write: str
) -> None:
    begun = await turn(rig)
    await opened(rig, child(begun))
    await rig.tell("/stop")
    with pytest.raises(Fenced):
        await WRITES[write](children_of(rig.store), child(begun))
    await rig.end(begun, Ending(outcome=Outcome.STOPPED, seconds=1.0))
    with pytest.raises(Fenced):
        await WRITES[write](children_of(rig.store), child(begun))


@pytest.mark.parametrize("write", ["record", "keep"])
async def test_a_child_that_was_never_opened_is_a_fault_of_the_caller(
    rig: Rig, write: str
) -> None:
    begun = await turn(rig)
    with pytest.raises(LookupError, match=r"call_1\.0 of turn \d+ was never opened"):
        await WRITES[write](children_of(rig.store), child(begun))


async def test_a_brief_of_any_length_and_spelling_is_taken(rig: Rig) -> None:
    begun = await turn(rig)
    for n, brief in enumerate(("", "x" * 2_000_000, "half a \ud83d pair", "nul \0 and 🙂")):
        of = child(begun, f"call.{n}")
        assert await opened(rig, of, brief) == ChildState(tries=1, began=NOW)


async def test_children_follow_a_turn_whose_chat_gets_a_new_id(rig: Rig) -> None:
    begun = await turn(rig)
    await opened(rig, child(begun))
    await step(rig, child(begun), 0)
    await rig.accept(Relocation("tg:bot:moved", LANE, MOVED))
    with pytest.raises(Fenced):
        await step(rig, child(begun), 1)
    again = await rig.turn(MOVED)
    state = await opened(rig, child(again, lane=MOVED))
    assert state.steps == (whole(0),)
    await step(rig, child(again, lane=MOVED), 1)
    await rig.end(again, answered(), MOVED)


async def test_children_of_a_turn_that_cannot_follow_its_chat_are_cut_off(rig: Rig) -> None:
    begun = await turn(rig)
    await opened(rig, child(begun))
    await rig.accept(rig.message("new", lane=OTHER_LANE))
    running = await rig.turn(OTHER_LANE)
    await opened(rig, child(running, lane=OTHER_LANE))
    await rig.accept(Relocation("tg:bot:moved", LANE, OTHER_LANE))
    with pytest.raises(Fenced):
        await step(rig, child(begun), 0)
    await step(rig, child(running, lane=OTHER_LANE), 0)


async def test_children_outlive_a_cap_that_a_persons_turn_is_freed_of(rig: Rig) -> None:
    await rig.answer(await rig.goal())
    await rig.judge(NOT_DONE)
    await rig.tell("/goal budget tokens=1")
    await rig.say("how far?")
    begun = await rig.turn()
    await opened(rig, child(begun))
    await step(rig, child(begun), 0)
    reached = await rig.store.reserve(ref(begun), "main", Estimate(10, 0.0), seconds=0.0)
    assert isinstance(reached, CapReached)
    ending = Ending(outcome=Outcome.CAPPED, seconds=1.0, reason=reached.reason)
    again = await rig.end(begun, ending)
    assert isinstance(again, Begun)
    assert again.turn.id == begun.turn.id
    assert (await opened(rig, child(again))).steps == (whole(0),)


async def reserve(rig: Rig, begun: Begun, tokens: int) -> Reserved | CapReached | None:
    return await rig.store.reserve(
        ref(begun), "small", Estimate(tokens, 0.0), seconds=0.0, purpose="child"
    )


async def test_what_children_and_their_judges_spend_counts_for_the_goal(rig: Rig) -> None:
    begun = await rig.goal()
    await opened(rig, child(begun))
    children = children_of(rig.store)
    await children.record_child(
        child(begun),
        [Replied(0, reply(call(0)))],
        used=[Usage(10, 0, 10)],
        spent=[CallUsage("small", Usage(10, 4, 10, 0.25), "child")],
    )
    await children.keep_child(
        child(begun),
        "done",
        spent=[
            CallUsage("small", Usage(3, 0, 1, 0.25), "child"),
            CallUsage("judge", Usage(6, 0, 2, 0.5), "acceptance_judge"),
        ],
    )
    await rig.tell("/goal budget tokens=40")
    await rig.tell("/goal")
    assert "Used: 32 tokens · $1.00" in (await rig.heard())[-1]
    await rig.tell("/usage")
    usage = (await rig.heard())[-1]
    assert "· small: 13 in (4 cached), 11 out · $0.50" in usage
    assert "· judge: 6 in, 2 out · $0.50" in usage
    assert isinstance(await reserve(rig, begun, 9), CapReached)
    assert isinstance(await reserve(rig, begun, 8), Reserved)


async def test_a_childs_usage_in_a_persons_turn_counts_for_the_active_goal(rig: Rig) -> None:
    await rig.answer(await rig.goal())
    begun = await turn(rig)
    await opened(rig, child(begun))
    spent = [CallUsage("small", Usage(10, 0, 10), "child")]
    await children_of(rig.store).record_child(child(begun), [], spent=spent)
    await rig.tell("/goal")
    assert "Used: 20 tokens" in (await rig.heard())[-1]
