"""The `Store` contract: no call is made that a goal's caps do not cover."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from core.agent.steps import Replied
from core.errors import Fenced
from core.goals.contract import Budget
from core.goals.events import Verdict
from core.ports import Usage
from core.sessions.lane import Outcome, Rest
from core.sessions.ports import Begun, CallUsage, CapReached, Ending, Estimate, Reserved, UsageOf
from tests.contracts.store_rig import LANE, MEMBER, NOT_DONE, NOW, OWNER, Rig, ref, reply, texts

TEN = Estimate(tokens=10, cost=0.01)


async def limited(rig: Rig, limits: str) -> Begun:
    """A goal's first turn under these limits."""
    begun = await rig.goal()
    await rig.tell(f"/goal budget {limits}")
    await rig.heard()
    return begun


async def reserve(
    rig: Rig,
    begun: Begun,
    estimate: Estimate = TEN,
    seconds: float = 0.0,
    purpose: str = "agent",
) -> Reserved | CapReached | None:
    """Ask for one more call."""
    return await rig.store.reserve(ref(begun), "main", estimate, seconds=seconds, purpose=purpose)


async def at_once(
    rig: Rig, begun: Begun, estimate: Estimate = TEN, purposes: tuple[str, ...] = ("child",) * 3
) -> list[Reserved | CapReached | None]:
    """Some agents of a turn ask for a call each at the same time."""
    async with asyncio.TaskGroup() as group:
        asking = [
            group.create_task(reserve(rig, begun, estimate, purpose=purpose))
            for purpose in purposes
        ]
    return [task.result() for task in asking]


async def test_without_caps_nothing_is_reserved(rig: Rig) -> None:
    assert await reserve(rig, await rig.goal()) is None


async def test_a_session_without_a_goal_has_no_caps(rig: Rig) -> None:
    await rig.say("x")
    assert await reserve(rig, await rig.turn()) is None


async def test_parallel_reservations_cannot_overshoot_a_token_cap(rig: Rig) -> None:
    begun = await limited(rig, "tokens=25")
    answers = [await reserve(rig, begun) for _ in range(3)]
    assert [type(answer) for answer in answers] == [Reserved, Reserved, CapReached]
    assert isinstance(answers[2], CapReached)
    assert "token budget" in answers[2].reason
    assert "/goal budget tokens=" in answers[2].reason


async def test_parallel_reservations_cannot_overshoot_a_cost_cap(rig: Rig) -> None:
    begun = await limited(rig, "cost=0.025")
    answers = [await reserve(rig, begun) for _ in range(3)]
    assert [type(answer) for answer in answers] == [Reserved, Reserved, CapReached]


@pytest.mark.parametrize("limits", ["tokens=25", "cost=0.025"])
async def test_of_three_children_that_ask_at_once_only_those_are_let_that_fit(
    rig: Rig, limits: str
) -> None:
    begun = await limited(rig, limits)
    for _ in range(2):
        answers = await at_once(rig, begun)
        assert Counter(map(type, answers)) == {Reserved: 2, CapReached: 1}
        for answer in answers:
            if isinstance(answer, Reserved):
                await rig.store.settle(answer.id, Usage())
    answers = await at_once(rig, begun, purposes=("agent", "child", "acceptance_judge"))
    assert Counter(map(type, answers)) == {Reserved: 2, CapReached: 1}


async def test_a_cost_cap_covers_no_call_whose_price_nobody_knows(rig: Rig) -> None:
    begun = await limited(rig, "cost=0.025 tokens=100")
    unknown, free = Estimate(tokens=10, cost=None), Estimate(tokens=10, cost=0.0)
    assert isinstance(await reserve(rig, begun, free), Reserved)
    reached = await reserve(rig, begun, unknown)
    assert isinstance(reached, CapReached)
    assert reached.reason.startswith("a cost budget cannot hold, as no price is known of main.")
    await rig.tell("/goal budget cost=none")
    assert isinstance(await reserve(rig, begun, unknown), Reserved)


async def test_a_judge_without_a_known_price_pauses_a_goal_under_a_cost_cap(rig: Rig) -> None:
    await rig.answer(await limited(rig, "cost=5"))
    asked = await rig.asked()
    await rig.heard()
    booked, _ = await rig.store.reserve_verdict(LANE, asked, Estimate(10, None), now=NOW)
    assert isinstance(booked, CapReached)
    [said] = await rig.heard()
    assert said == (
        "⏸ Goal paused: a cost budget cannot hold, as no price is known of the judge. An owner "
        "can set the model's price in the configuration, or cap tokens instead: "
        "/goal budget cost=none tokens=N, then /goal resume."
    )


async def test_a_settled_reservation_counts_what_was_used(rig: Rig) -> None:
    begun = await limited(rig, "tokens=25")
    first = await reserve(rig, begun)
    assert isinstance(first, Reserved)
    await rig.store.settle(first.id, reply(tokens=1).usage)
    await rig.store.record(ref(begun), [Replied(0, reply(tokens=1))])
    assert isinstance(await reserve(rig, begun), Reserved)
    assert isinstance(await reserve(rig, begun), Reserved)
    assert isinstance(await reserve(rig, begun), CapReached)


async def test_a_reservation_is_settled_once(rig: Rig) -> None:
    begun = await limited(rig, "tokens=100")
    first = await reserve(rig, begun)
    assert isinstance(first, Reserved)
    await rig.store.settle(first.id, Usage(5, 0, 5, 0.01))
    await rig.store.settle(first.id, Usage(50, 0, 50, 1.0))
    await rig.answer(begun)
    await rig.tell("/goal")
    assert "Used: 10 tokens" in (await rig.heard())[-1]


async def test_a_reservation_found_at_a_start_counts_as_spent(rig: Rig) -> None:
    begun = await limited(rig, "tokens=25")
    await reserve(rig, begun)
    await reserve(rig, begun)
    await rig.restart()
    assert isinstance(await reserve(rig, await rig.turn()), CapReached)


async def test_a_call_without_a_step_is_settled_by_the_turns_end(rig: Rig) -> None:
    begun = await rig.goal()
    ending = Ending(
        outcome=Outcome.ANSWERED,
        seconds=1.0,
        answer="x",
        spent=(CallUsage("main", Usage(3, 0, 1, 0.5)), CallUsage("small", Usage(5, 0, 1))),
    )
    await rig.end(begun, ending)
    await rig.tell("/goal")
    assert "Used: 10 tokens · $0.50" in (await rig.heard())[-1]


async def test_a_call_that_a_stop_cut_off_counts_with_its_input(rig: Rig) -> None:
    begun = await limited(rig, "tokens=100")
    await reserve(rig, begun, Estimate(tokens=40, cost=0.4, output=30))
    await rig.tell("/stop")
    await rig.end(begun, Ending(outcome=Outcome.STOPPED, seconds=1.0))
    await rig.tell("/goal")
    assert "Used: 10 tokens · $0.10" in (await rig.heard())[-1]


async def test_the_calls_of_children_that_a_stop_cut_off_count_each_with_its_input(
    rig: Rig,
) -> None:
    begun = await limited(rig, "tokens=1000")
    _, returned, _ = await at_once(rig, begun, Estimate(tokens=40, cost=0.4, output=30))
    assert isinstance(returned, Reserved)
    await rig.store.settle(returned.id, Usage(5, 0, 2, 0.05))
    await rig.tell("/stop")
    await rig.end(begun, Ending(outcome=Outcome.STOPPED, seconds=1.0))
    await rig.tell("/goal")
    assert "Used: 27 tokens · $0.25" in (await rig.heard())[-1]


async def test_the_calls_of_children_of_a_killed_attempt_count_in_full(rig: Rig) -> None:
    begun = await limited(rig, "tokens=1000")
    _, returned, _ = await at_once(rig, begun, Estimate(tokens=40, cost=0.4, output=30))
    assert isinstance(returned, Reserved)
    await rig.store.settle(returned.id, Usage(5, 0, 2, 0.05))
    await rig.restart()
    await rig.answer(await rig.turn())
    await rig.tell("/goal")
    assert "Used: 87 tokens · $0.85" in (await rig.heard())[-1]


async def test_a_call_of_a_killed_attempt_counts_in_full(rig: Rig) -> None:
    begun = await limited(rig, "tokens=100")
    await reserve(rig, begun, Estimate(tokens=40, cost=0.4, output=30))
    await rig.restart()
    await rig.answer(await rig.turn())
    await rig.tell("/goal")
    assert "Used: 40 tokens · $0.40" in (await rig.heard())[-1]


async def test_a_call_is_settled_after_its_turn_was_stopped(rig: Rig) -> None:
    begun = await limited(rig, "tokens=100")
    booked = await reserve(rig, begun)
    assert isinstance(booked, Reserved)
    await rig.tell("/stop")
    await rig.store.settle(booked.id, Usage(2, 0, 1))
    await rig.tell("/goal")
    assert "Used: 3 tokens" in (await rig.heard())[-1]


async def test_a_goal_that_is_paused_in_mid_turn_keeps_its_own_turn_under_its_caps(
    rig: Rig,
) -> None:
    begun = await limited(rig, "tokens=15")
    await rig.tell("/goal pause")
    assert isinstance(await reserve(rig, begun), Reserved)
    assert isinstance(await reserve(rig, begun), CapReached)


async def test_a_goal_that_is_resumed_in_mid_turn_holds_a_persons_turn_to_its_caps(
    rig: Rig,
) -> None:
    begun = await limited(rig, "tokens=15")
    await rig.tell("/goal pause")
    await rig.answer(begun)
    await rig.say("and?")
    begun = await rig.turn()
    assert begun.goal is None
    assert begun.bound
    assert await reserve(rig, begun) is None
    await rig.tell("/goal resume")
    assert isinstance(await reserve(rig, begun), Reserved)
    assert isinstance(await reserve(rig, begun), CapReached)


async def test_no_goal_and_one_that_is_over_bind_no_turn(rig: Rig) -> None:
    await rig.say("x")
    begun = await rig.turn()
    assert not begun.bound
    await rig.answer(begun)
    await rig.answer(await rig.goal())
    await rig.tell("/goal clear")
    await rig.say("y")
    assert not (await rig.turn()).bound


async def test_the_time_cap_counts_this_turn_and_the_earlier_ones(rig: Rig) -> None:
    begun = await limited(rig, "time=60s")
    assert await reserve(rig, begun, seconds=59) is None
    assert isinstance(await reserve(rig, begun, seconds=61), CapReached)
    await rig.end(begun, Ending(outcome=Outcome.ANSWERED, seconds=50.0, answer="x"))
    await rig.judge(NOT_DONE)
    begun = await rig.turn()
    assert await reserve(rig, begun, seconds=9) is None
    late = await reserve(rig, begun, seconds=11)
    assert isinstance(late, CapReached)
    assert "time budget" in late.reason


async def test_the_time_cap_counts_a_stopped_turn_and_the_judge(rig: Rig) -> None:
    begun = await limited(rig, "time=60s")
    await rig.tell("/stop")
    await rig.end(begun, Ending(outcome=Outcome.STOPPED, seconds=30.0))
    await rig.tell("/goal resume")
    await rig.answer(await rig.turn())
    asked = await rig.asked()
    spent = UsageOf(
        session=asked.session,
        goal=asked.goal.id,
        purpose="goal_judge",
        model="judge",
        usage=Usage(),
        seconds=20.0,
    )
    await rig.store.judged(LANE, asked, NOT_DONE, spent, now=NOW)
    begun = await rig.turn()
    assert await reserve(rig, begun, seconds=8) is None
    assert isinstance(await reserve(rig, begun, seconds=10), CapReached)


async def test_a_cap_that_ends_a_turn_pauses_the_goal_and_says_which(rig: Rig) -> None:
    begun = await limited(rig, "tokens=5")
    reached = await reserve(rig, begun)
    assert isinstance(reached, CapReached)
    await rig.fail(begun, reached.reason)
    (said,) = await rig.heard()
    assert said.startswith("⏸ Goal paused: its token budget does not cover")


async def capped(rig: Rig, begun: Begun) -> Begun | Rest:
    """A turn ends at its next call, which a cap does not cover."""
    reached = await reserve(rig, begun)
    assert isinstance(reached, CapReached)
    ending = Ending(outcome=Outcome.CAPPED, seconds=1.0, reason=reached.reason)
    return await rig.end(begun, ending)


async def test_a_person_is_answered_though_their_turn_reaches_the_goals_cap(rig: Rig) -> None:
    await rig.answer(await limited(rig, "tokens=45"))
    await rig.say("how far?")
    begun = await rig.turn()
    await rig.step(begun, 0, tokens=20)
    await rig.heard()
    again = await capped(rig, begun)
    assert isinstance(again, Begun)
    assert (again.turn.id, again.turn.attempt) == (begun.turn.id, 2)
    assert texts(again) == ["how far?"]
    assert [step.n for step in again.steps] == [0]
    [said] = await rig.heard()
    assert said.startswith("⏸ Goal paused: its token budget does not cover")
    assert await reserve(rig, again) is None
    with pytest.raises(Fenced):
        await rig.answer(begun, "late")
    assert isinstance(await rig.answer(again, "half way"), Rest)
    assert await rig.heard() == ["half way"]
    assert await rig.store.open_judgement(LANE) is None


async def test_a_turn_freed_of_its_caps_survives_a_restart_and_may_still_fail_in_words(
    rig: Rig,
) -> None:
    await rig.answer(await limited(rig, "tokens=15"))
    await rig.judge(NOT_DONE)
    await rig.say("how far?")
    again = await capped(rig, await rig.turn())
    assert isinstance(again, Begun)
    await rig.heard()
    await rig.restart()
    begun = await rig.turn()
    assert texts(begun) == ["how far?"]
    assert await reserve(rig, begun) is None
    await rig.fail(begun, "no route to the model")
    assert await rig.heard() == ["⚠ This turn failed: no route to the model"]


async def test_each_cap_that_a_persons_turn_reaches_is_told(rig: Rig) -> None:
    await rig.answer(await limited(rig, "tokens=15"))
    await rig.judge(NOT_DONE)
    await rig.heard()
    await rig.say("how far?")
    begun: Begun | Rest = await rig.turn()
    for _ in range(2):
        assert isinstance(begun, Begun)
        begun = await capped(rig, begun)
        assert len(await rig.heard()) == 1
        await rig.tell("/goal resume")
        assert len(await rig.heard()) == 1
    assert isinstance(begun, Begun)
    await rig.fail(begun)
    assert await rig.heard() == ["⏸ Goal paused: no route to the model"]


async def test_a_raised_cap_lets_the_goal_go_on_with_its_counters(rig: Rig) -> None:
    begun = await limited(rig, "tokens=25")
    await rig.step(begun, 0, tokens=12)
    assert isinstance(await reserve(rig, begun), CapReached)
    await rig.tell("/goal budget tokens=40")
    assert isinstance(await reserve(rig, begun), Reserved)
    assert isinstance(await reserve(rig, begun), CapReached)


async def test_resume_resets_the_turns_and_keeps_what_was_spent(rig: Rig) -> None:
    begun = await limited(rig, "tokens=30")
    await rig.step(begun, 0, tokens=12)
    await rig.tell("/goal pause")
    await rig.answer(begun)
    await rig.tell("/goal resume")
    assert isinstance(await reserve(rig, await rig.turn()), CapReached)


async def test_a_fenced_turn_may_reserve_nothing(rig: Rig) -> None:
    begun = await limited(rig, "tokens=30")
    await rig.tell("/stop")
    with pytest.raises(Fenced):
        await reserve(rig, begun)


async def test_the_judges_tokens_count_and_so_do_a_persons_turns(rig: Rig) -> None:
    await rig.answer(await rig.goal())
    await rig.judge(Verdict(done=False, reason="no"))
    await rig.say("and?")
    begun = await rig.turn()
    await rig.step(begun, 0, tokens=4)
    await rig.tell("/goal")
    assert "Used: 18 tokens · $0.01" in (await rig.heard())[-1]


async def test_usage_of_a_dropped_verdict_counts_all_the_same(rig: Rig) -> None:
    await rig.answer(await rig.goal())
    asked = await rig.asked()
    await rig.tell("/goal pause")
    await rig.judge(NOT_DONE, asked)
    await rig.tell("/goal")
    assert "Used: 10 tokens" in (await rig.heard())[-1]


async def test_new_goals_get_the_configured_limits(rig: Rig) -> None:
    rig.defaults = Budget(turns=3, tokens=1000, cost=2.0, seconds=60.0)
    await rig.reopen()
    await rig.tell("/goal Write a poem")
    await rig.tell("/goal show")
    said = await rig.heard()
    assert said[0] == "⊙ Goal set (3-turn budget): Write a poem"
    assert said[1].endswith("Budget: 3 turns, 1,000 tokens, $2, 1m.")


async def test_only_owners_change_a_budget(rig: Rig) -> None:
    await rig.goal()
    await rig.tell("/goal budget turns=99", MEMBER)
    await rig.tell("/goal budget turns=98", OWNER)
    said = await rig.heard()
    assert said[0] == "Only owners may change a goal's budget."
    assert said[1].startswith("Budget: 98 turns")


async def test_the_judges_call_is_reserved_and_settled_once(rig: Rig) -> None:
    await rig.answer(await limited(rig, "tokens=25"))
    asked = await rig.asked()
    booked, _ = await rig.store.reserve_verdict(LANE, asked, TEN, now=NOW)
    assert isinstance(booked, Reserved)
    await rig.tell("/goal")
    assert "Used: 10 tokens" in (await rig.heard())[-1]
    spent = UsageOf(
        session=asked.session,
        goal=asked.goal.id,
        purpose="goal_judge",
        model="judge",
        usage=Usage(2, 0, 1, 0.001),
        reservation=booked.id,
    )
    await rig.store.judged(LANE, asked, NOT_DONE, spent, now=NOW)
    await rig.tell("/goal")
    assert "Used: 3 tokens" in (await rig.heard())[-1]


async def test_a_judges_call_beyond_a_cap_pauses_the_goal_in_words(rig: Rig) -> None:
    await rig.answer(await limited(rig, "tokens=5"))
    asked = await rig.asked()
    await rig.heard()
    booked, signals = await rig.store.reserve_verdict(LANE, asked, TEN, now=NOW)
    assert isinstance(booked, CapReached)
    assert signals.deliver == {LANE}
    (said,) = await rig.heard()
    assert said.startswith("⏸ Goal paused: ")
    assert "token" in said
    assert await rig.store.open_judgement(LANE) is None


async def test_a_judges_call_without_caps_reserves_nothing(rig: Rig) -> None:
    await rig.answer(await rig.goal())
    booked, _ = await rig.store.reserve_verdict(LANE, await rig.asked(), TEN, now=NOW)
    assert booked is None


async def test_a_late_judges_call_pauses_no_newer_stretch_of_the_goal(rig: Rig) -> None:
    await rig.answer(await limited(rig, "tokens=5"))
    asked = await rig.asked()
    await rig.tell("/goal pause")
    await rig.tell("/goal budget tokens=500")
    await rig.tell("/goal resume")
    await rig.heard()
    await rig.store.reserve_verdict(LANE, asked, Estimate(10_000, 0.0), now=NOW)
    assert await rig.heard() == []
    assert isinstance(await rig.begin(), Begun)
