"""The `Store` contract: a chat gets a new id, and its lane follows it whole."""

from __future__ import annotations

import pytest

from core.errors import Fenced
from core.messages import Address, Duplicate, Handled, PlatformName
from core.sessions.arrivals import Relocation
from core.sessions.lane import Rest
from core.sessions.ports import Estimate, Signals
from tests.contracts.store_rig import (
    DONE,
    LANE,
    OTHER_LANE,
    Rig,
    answered,
    texts,
)

MOVED = Address(PlatformName.TELEGRAM, "bot", "-100777").key


async def test_what_waits_follows_a_lane_to_its_new_key(rig: Rig) -> None:
    await rig.judged_goal()
    begun = await rig.turn()
    await rig.say("waiting")
    await rig.answer(begun, "said before the move")
    await rig.accept(Relocation("tg:bot:moved", LANE, MOVED))
    assert (await rig.store.unfinished()).lanes == {MOVED}
    assert await rig.heard(LANE) == []
    assert await rig.heard(MOVED) == ["said before the move"]
    next_ = await rig.turn(MOVED)
    assert texts(next_) == ["waiting"]
    assert next_.turn.session == begun.turn.session
    assert next_.goal is not None


async def test_a_turn_that_runs_while_its_lane_moves_is_taken_up_under_the_new_key(
    rig: Rig,
) -> None:
    await rig.say("work")
    begun = await rig.turn()
    await rig.step(begun, 0)
    await rig.accept(Relocation("tg:bot:moved", LANE, MOVED))
    assert rig.signals[-1].cancel == ((LANE, begun.turn.id),)
    with pytest.raises(Fenced):
        await rig.step(begun, 1)
    with pytest.raises(Fenced):
        await rig.answer(begun)
    again = await rig.turn(MOVED)
    assert (texts(again), len(again.steps)) == (["work"], 1)
    await rig.accept(rig.message("next", lane=MOVED))
    assert texts(await rig.end(again, answered(), MOVED)) == ["next"]
    assert await rig.heard(MOVED) == ["an answer"]


async def test_a_redelivered_move_moves_once(rig: Rig) -> None:
    move = Relocation("tg:bot:moved", LANE, MOVED)
    await rig.say("before")
    assert await rig.accept(move) == (Handled(""),)
    await rig.say("in a chat that got the old id")
    assert await rig.accept(move) == (Duplicate(),)
    assert texts(await rig.turn()) == ["in a chat that got the old id"]
    assert texts(await rig.turn(MOVED)) == ["before"]


async def test_a_lane_that_moves_into_a_lane_in_use_joins_it(rig: Rig) -> None:
    await rig.accept(rig.message("old"), rig.message("new", lane=OTHER_LANE))
    await rig.accept(Relocation("tg:bot:moved", LANE, OTHER_LANE))
    first = await rig.turn(OTHER_LANE)
    assert texts(first) == ["old"]
    assert texts(await rig.end(first, answered(), OTHER_LANE)) == ["new"]


async def test_a_turn_that_cannot_follow_its_lane_is_cut_off_in_words(rig: Rig) -> None:
    await rig.say("old")
    begun = await rig.turn()
    await rig.accept(rig.message("new", lane=OTHER_LANE))
    running = await rig.turn(OTHER_LANE)
    await rig.accept(Relocation("tg:bot:moved", LANE, OTHER_LANE))
    assert rig.signals[-1].cancel == ((LANE, begun.turn.id),)
    with pytest.raises(Fenced):
        await rig.answer(begun)
    (said,) = await rig.heard(OTHER_LANE)
    assert said.startswith("⚠ This chat got a new id while a turn was running")
    assert isinstance(await rig.end(running, answered(), OTHER_LANE), Rest)


async def test_a_resting_goal_keeps_its_timer_when_another_lane_joins_its_own(rig: Rig) -> None:
    await rig.answer(await rig.goal("stays behind"))
    await rig.tell("/goal wait 1m")
    await rig.accept(rig.order("/goal Write a poem", lane=OTHER_LANE))
    await rig.end(await rig.turn(OTHER_LANE), answered(), OTHER_LANE)
    await rig.accept(rig.order("/goal wait 10m", lane=OTHER_LANE))
    await rig.accept(Relocation("tg:bot:moved", LANE, OTHER_LANE))
    timer = await rig.store.next_timer()
    assert timer is not None
    assert timer.due == rig.clock.wall + 600
    await rig.store.fire(timer)
    assert (await rig.asked(OTHER_LANE)).goal.wait_until is None


async def test_what_comes_late_for_a_lane_that_moved_makes_no_new_one(rig: Rig) -> None:
    await rig.answer(await rig.goal())
    asked = await rig.asked()
    await rig.tell("/goal wait 10m")
    timer = await rig.store.next_timer()
    assert timer is not None
    await rig.accept(Relocation("tg:bot:moved", LANE, MOVED))
    await rig.judge(DONE, asked)
    reserved, _ = await rig.store.reserve_verdict(
        LANE, asked, Estimate(10, 0.1), now=rig.clock.now()
    )
    assert reserved is None
    assert await rig.store.fire(timer) == Signals()
    assert await rig.store.enter_session(LANE) == Signals()
    assert await rig.begin(LANE) == Rest(None)
    await rig.accept(Relocation("tg:bot:back", MOVED, LANE))  # would find a lane in its place
    assert (await rig.asked()).id == asked.id
