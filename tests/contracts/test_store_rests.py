"""The `Store` contract: a goal that rests goes on by its timer, and only by that."""

from __future__ import annotations

import pytest

from core.goals.events import Verdict
from core.sessions.lane import Rest, RowKind
from core.sessions.ports import Begun
from tests.contracts.store_rig import (
    DONE,
    LANE,
    NOT_DONE,
    Rig,
)


async def test_a_rest_after_the_last_turn_of_the_budget_buys_no_further_one(rig: Rig) -> None:
    begun = await rig.goal()
    await rig.tell("/goal budget turns=1")
    await rig.answer(begun)
    await rig.tell("/goal wait 1m")
    timer = await rig.store.next_timer()
    assert timer is not None
    await rig.store.fire(timer)
    await rig.judge(NOT_DONE)
    assert isinstance(await rig.begin(), Rest)
    assert (await rig.heard())[-1].startswith("⏸ Goal paused — 1/1 turns used.")


async def test_a_rest_ends_by_its_timer_even_after_a_restart(rig: Rig) -> None:
    await rig.answer(await rig.goal())
    await rig.judge(Verdict(done=False, reason="it builds", wait_s=600))
    assert rig.signals[-1].timers
    assert isinstance(await rig.begin(), Rest)
    await rig.restart()
    timer = await rig.store.next_timer()
    assert timer is not None
    assert timer.due == rig.clock.wall + 600
    assert isinstance(await rig.begin(), Rest)
    rig.clock.wall = timer.due
    signals = await rig.store.fire(timer)
    assert signals.wake == {LANE}
    assert (await rig.turn()).turn.kind is RowKind.CONTINUATION
    assert await rig.store.next_timer() is None
    assert not (await rig.store.fire(timer)).wake


async def test_a_rest_outlives_a_visit_to_another_session(rig: Rig) -> None:
    await rig.answer(await rig.goal())
    await rig.tell("/goal wait 10m")
    await rig.judge(NOT_DONE)
    before = await rig.store.next_timer()
    await rig.tell("/new")
    assert isinstance(await rig.begin(), Rest)
    await rig.tell("/resume")
    assert isinstance(await rig.begin(), Rest)
    timer = await rig.store.next_timer()
    assert timer == before
    assert timer is not None
    await rig.store.fire(timer)
    assert isinstance(await rig.begin(), Begun)


async def test_goal_wait_rests_and_goes_on_by_itself(rig: Rig) -> None:
    await rig.judged_goal()
    await rig.answer(await rig.turn())
    await rig.tell("/goal wait 10m")
    assert (await rig.heard())[-1] == "⏲ Goal waits 10m: as you asked"
    await rig.judge(NOT_DONE)
    assert await rig.heard() == ["⏲ Goal waits 10m: two are missing"]
    assert isinstance(await rig.begin(), Rest)
    timer = await rig.store.next_timer()
    assert timer is not None
    await rig.store.fire(timer)
    assert isinstance(await rig.begin(), Begun)


async def test_a_verdict_that_comes_during_a_rest_counts(rig: Rig) -> None:
    await rig.answer(await rig.goal())
    await rig.tell("/goal wait 10m")
    await rig.judge(DONE)
    assert (await rig.heard())[-1] == "✓ Goal achieved: all is there"
    assert await rig.store.next_timer() is None


async def test_an_older_timer_does_not_end_a_longer_rest(rig: Rig) -> None:
    await rig.answer(await rig.goal())
    await rig.tell("/goal wait 1m")
    older = await rig.store.next_timer()
    assert older is not None
    await rig.tell("/goal wait 20m")
    await rig.store.fire(older)
    assert isinstance(await rig.begin(), Rest)
    timer = await rig.store.next_timer()
    assert timer is not None
    assert timer.due == rig.clock.wall + 1200


async def test_goal_wait_is_at_most_half_an_hour(rig: Rig) -> None:
    await rig.answer(await rig.goal())
    await rig.tell("/goal wait 9h")
    timer = await rig.store.next_timer()
    assert timer is not None
    assert timer.due == rig.clock.wall + 1800


@pytest.mark.parametrize("line", ["/goal pause", "/goal clear", "/stop", "/goal Other", "/new"])
async def test_leaving_a_rest_takes_its_timer_away(rig: Rig, line: str) -> None:
    await rig.answer(await rig.goal())
    await rig.tell("/goal wait 10m")
    timer = await rig.store.next_timer()
    assert timer is not None
    await rig.tell(line)
    await rig.begin()
    assert await rig.store.next_timer() is None
    assert not (await rig.store.fire(timer)).wake


async def test_a_message_during_a_rest_is_answered_and_ends_it(rig: Rig) -> None:
    await rig.answer(await rig.goal())
    await rig.tell("/goal wait 10m")
    await rig.say("done waiting")
    await rig.answer(await rig.turn())
    assert await rig.store.next_timer() is None
    await rig.judge(NOT_DONE)
    assert isinstance(await rig.begin(), Begun)
