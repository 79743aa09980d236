"""The `Store` contract: what is done with and old goes, and nothing goes that is needed."""

from __future__ import annotations

from core.messages import Duplicate, Queued
from core.sessions.lane import Rest
from core.transcript import User
from tests.contracts.store_rig import LANE, NOT_DONE, Rig, texts

DAY_S = 24 * 3600.0


async def prune(rig: Rig, days: float) -> bool:
    """So many days later the house is kept, to the end; whether anything went."""
    rig.clock.wall += days * DAY_S
    went = await rig.store.prune()
    while await rig.store.prune():
        pass
    return went


async def test_a_redelivery_is_known_for_three_days_at_least(rig: Rig) -> None:
    said = rig.message("hello")
    await rig.accept(said)
    await rig.answer(await rig.turn())
    await rig.heard()
    assert not await prune(rig, 3)
    await rig.reopen()
    assert await rig.accept(said) == (Duplicate(),)


async def test_what_is_done_with_and_old_goes(rig: Rig) -> None:
    said = rig.message("hello")
    await rig.accept(said)
    await rig.answer(await rig.turn())
    await rig.heard()
    assert await prune(rig, 8)
    assert not await rig.store.prune()
    assert await rig.accept(said) == (Queued(0),)


async def test_what_waits_is_kept_however_old_it_is(rig: Rig) -> None:
    await rig.say("first")
    begun = await rig.turn()
    await rig.say("second")
    await prune(rig, 30)
    next_ = await rig.answer(begun)
    assert texts(next_) == ["second"]
    await prune(rig, 30)
    assert await rig.heard() == ["an answer"]


async def test_transcripts_goals_spend_and_the_status_message_are_kept(rig: Rig) -> None:
    begun = await rig.goal()
    await rig.answer(begun)
    await rig.judge(NOT_DONE)
    before = await rig.store.card(LANE)
    assert before is not None
    await rig.heard()
    assert await prune(rig, 30)
    assert await rig.store.card(LANE) == before
    assert before.goal.reason == NOT_DONE.reason
    history = await rig.store.history(begun.turn.session)
    assert isinstance(history[0], User)
    await rig.tell("/goal pause")
    assert isinstance(await rig.begin(), Rest)
