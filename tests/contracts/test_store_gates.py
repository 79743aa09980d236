"""What the store keeps of gates: passes that still hold, what they did, and goals' own."""

from __future__ import annotations

import pytest

from core.gates.chain import Blocked, Unverified
from core.gates.gate import Gate, GateEvent
from core.gates.ports import GateStore
from core.gates.wanted import ChatGates, Wanted
from core.goals.events import Verdict
from core.sessions.arrivals import Relocation
from core.sessions.facts import House
from core.sessions.lane import Outcome, Rest, RowKind
from core.sessions.ports import Begun, Ending
from tests.contracts.backends import gates_of
from tests.contracts.store_rig import (
    DONE,
    LANE,
    MEMBER,
    NOT_DONE,
    OTHER_LANE,
    Opening,
    OpenStore,
    Rig,
    answered,
)

HERE, CHECKS = "/srv/site", '["pytest -q"]'
FAILED = Unverified(Gate.VERIFY, "`pytest -q` ended with exit code 1", shown="1 failed")
DOWN = Unverified(Gate.CRITIC, "the critic failed", unavailable=True)


@pytest.fixture
def gates(rig: Rig) -> GateStore:
    return gates_of(rig.store)


def ended(text: str = "an answer", **how: object) -> Ending:
    """An answer, and what the gates said of it."""
    return Ending(
        **{  # type: ignore[arg-type]
            "outcome": Outcome.ANSWERED,
            "seconds": 1.0,
            "answer": text,
            "posts": answered(text).posts,
            **how,
        }
    )


def event(result: str) -> GateEvent:
    return GateEvent(gate=Gate.VERIFY, result=result, reason="x", bounce=0, budget=2, ms=3)


# What passed


async def test_a_pass_holds_for_its_folder_and_commands_until_it_is_forgotten(
    rig: Rig, gates: GateStore
) -> None:
    assert not await gates.unchanged(LANE, HERE, CHECKS)
    await gates.passed(LANE, HERE, CHECKS)
    await gates.passed(LANE, HERE, CHECKS)
    assert await gates.unchanged(LANE, HERE, CHECKS)
    assert await gates.unchanged(OTHER_LANE, HERE, CHECKS)
    assert not await gates.unchanged(LANE, "/srv/app", CHECKS)
    assert not await gates.unchanged(LANE, HERE, '["pytest"]')
    await rig.reopen()
    gates = gates_of(rig.store)
    assert await gates.unchanged(LANE, HERE, CHECKS)
    await gates.forget(HERE, CHECKS)
    assert not await gates.unchanged(LANE, HERE, CHECKS)


@pytest.mark.parametrize("folder", [HERE, f"{HERE}/src", "/srv"])
async def test_a_change_in_the_folder_below_or_above_it_ends_every_pass(
    gates: GateStore, folder: str
) -> None:
    await gates.passed(LANE, HERE, CHECKS)
    await gates.passed(LANE, HERE, '["ruff check"]')
    await gates.changing(folder)
    assert not await gates.unchanged(LANE, HERE, CHECKS)
    assert not await gates.unchanged(LANE, HERE, '["ruff check"]')


@pytest.mark.parametrize("folder", ["/srv/sit", "/srv/site2", "/srv/%"])
async def test_a_change_elsewhere_ends_none(gates: GateStore, folder: str) -> None:
    await gates.passed(LANE, HERE, CHECKS)
    await gates.changing(folder)
    assert await gates.unchanged(LANE, HERE, CHECKS)


async def test_while_a_turn_waits_for_a_person_nothing_counts_as_unchanged(
    rig: Rig, gates: GateStore
) -> None:
    await gates.passed(LANE, HERE, CHECKS)
    await rig.say("do it")
    begun = await rig.turn()
    await rig.end(begun, Ending(outcome=Outcome.PARKED, seconds=1.0))
    assert not await gates.unchanged(LANE, HERE, CHECKS)
    await gates.passed(LANE, "/srv/app", CHECKS)
    await rig.tell("/stop")
    assert await gates.unchanged(LANE, HERE, CHECKS)
    assert not await gates.unchanged(LANE, "/srv/app", CHECKS)


# What they did, and who waits


async def test_what_gates_did_is_told_of_the_newest_turn(rig: Rig, gates: GateStore) -> None:
    await rig.say("one")
    begun = await rig.turn()
    await gates.note(begun.turn.id, event("failed"))
    await gates.note(begun.turn.id, event("passed"))
    await rig.tell("/status")
    [told] = await rig.heard()
    assert told.split("\n")[1:] == [
        "Gates of the last turn:",
        "[verify] failed: x (0.0s)",
        "[verify] passed: x (0.0s)",
    ]
    await rig.answer(begun)
    await rig.say("two")
    await rig.turn()
    await rig.heard()
    await rig.tell("/status")
    assert "Gates" not in (await rig.heard())[0]


async def test_a_message_since_the_turn_began_is_one_that_waits(
    rig: Rig, gates: GateStore
) -> None:
    await rig.say("one")
    begun = await rig.turn()
    assert not await gates.spoken(begun.turn.id)
    await rig.tell("/status")
    assert not await gates.spoken(begun.turn.id)
    await rig.say("two")
    assert await gates.spoken(begun.turn.id)
    following = await rig.answer(begun)
    assert isinstance(following, Begun)
    assert not await gates.spoken(following.turn.id)


# Which there are


async def test_a_chats_gates_are_kept_for_it_and_moved_with_it(rig: Rig, gates: GateStore) -> None:
    await rig.tell("/verify add pytest -q")
    await rig.tell("/verify add ruff check")
    await rig.tell("/verify remove 1")
    await rig.tell("/critic on")
    await rig.say("hi")
    begun = await rig.turn()
    wanted = ChatGates(verify=("ruff check",), critic=True)
    assert await gates.wanted(LANE, begun.turn.id) == (wanted, ())
    assert (await gates.wanted(OTHER_LANE, begun.turn.id))[0] == ChatGates()
    await rig.accept(Relocation("tg:bot:moved", LANE, OTHER_LANE))
    assert (await gates.wanted(OTHER_LANE, begun.turn.id))[0] == wanted


async def test_a_goals_gates_join_while_it_is_active(rig: Rig, gates: GateStore) -> None:
    begun = await rig.goal()
    await rig.tell("/goal gate add pytest -q")
    await rig.tell("/goal gate add make lint")
    assert await gates.wanted(LANE, begun.turn.id) == (ChatGates(), ("pytest -q", "make lint"))
    await rig.tell("/goal gate remove 2")
    await rig.tell("/goal gate add no", by=MEMBER)
    assert (await rig.heard())[-1] == "Only owners may change a goal's gates."
    assert (await gates.wanted(LANE, begun.turn.id))[1] == ("pytest -q",)
    await rig.tell("/goal pause")
    assert (await gates.wanted(LANE, begun.turn.id))[1] == ()
    await rig.tell("/goal resume")
    assert (await gates.wanted(LANE, begun.turn.id))[1] == ("pytest -q",)


# What becomes of a goal


async def test_a_rejected_turn_is_its_own_verdict(rig: Rig) -> None:
    begun = await rig.goal()
    following = await rig.end(begun, ended(ruling=FAILED))
    assert isinstance(following, Begun)
    assert following.turn.kind is RowKind.CONTINUATION
    assert "1 failed" in following.inputs[0].text
    assert "the verify gate did not pass: `pytest -q`" in following.inputs[0].text
    assert await rig.heard() == [
        "an answer",
        "↻ Continuing toward goal (1/20): the verify gate did not pass: "
        "`pytest -q` ended with exit code 1",
    ]
    assert await rig.store.open_judgement(LANE) is None
    assert not any(signals.judge for signals in rig.signals)


async def test_a_person_comes_before_the_turn_after_a_rejected_one(rig: Rig) -> None:
    begun = await rig.goal()
    await rig.say("also this")
    following = await rig.end(begun, ended(ruling=FAILED))
    assert isinstance(following, Begun)
    assert following.turn.kind is RowKind.MESSAGE
    assert isinstance(await rig.end(following, ended()), Rest)
    await rig.judge(DONE)
    assert [line.split(":")[0] for line in await rig.heard()] == [
        "an answer",
        "an answer",
        "✓ Goal achieved",
    ]


async def test_a_rejected_turn_is_settled_after_a_restart_too(rig: Rig) -> None:
    begun = await rig.goal()
    await rig.say("also this")
    following = await rig.end(begun, ended(ruling=FAILED))
    assert isinstance(following, Begun)
    await rig.restart()
    again = await rig.turn()
    assert again.turn.id == following.turn.id
    after = await rig.end(again, ended(ruling=FAILED))
    assert isinstance(after, Begun)
    assert after.turn.kind is RowKind.CONTINUATION


async def test_a_turn_whose_gate_could_not_look_is_judged_and_never_the_last(rig: Rig) -> None:
    begun = await rig.goal()
    assert isinstance(await rig.end(begun, ended(ruling=DOWN)), Rest)
    await rig.judge(DONE)
    assert (await rig.heard())[-1] == (
        "↻ Continuing toward goal (1/20): it may be done, but the critic gate could not look: "
        "the critic failed"
    )


async def test_a_blocked_turn_blocks_its_goal(rig: Rig) -> None:
    begun = await rig.goal()
    blocked = Blocked(Gate.CRITIC, "there is no such server")
    assert isinstance(await rig.end(begun, ended(ruling=blocked)), Rest)
    assert (await rig.heard())[-1].startswith("⛔ Goal blocked: there is no such server.")


async def test_a_gate_that_was_added_in_mid_turn_has_to_have_run(rig: Rig) -> None:
    begun = await rig.goal()
    await rig.tell("/goal gate add pytest -q")
    await rig.end(begun, ended())
    await rig.judge(DONE)
    assert (await rig.heard())[-1].endswith("could not look: `pytest -q` has not been run")
    begun = await rig.turn()
    await rig.end(begun, ended(checked=Wanted(verify=("pytest -q",))))
    await rig.judge(DONE)
    assert (await rig.heard())[-1] == "✓ Goal achieved: all is there"


async def test_a_gate_that_was_added_while_the_judge_is_asked_has_to_have_run(rig: Rig) -> None:
    begun = await rig.goal()
    await rig.end(begun, ended())
    asked = await rig.asked()
    await rig.tell("/goal gate add pytest -q")
    await rig.judge(DONE, asked)
    assert "`pytest -q` has not been run" in (await rig.heard())[-1]


async def test_an_interrupted_turn_of_gated_work_never_ends_its_goal(
    open_store: OpenStore, rig: Rig
) -> None:
    await rig.store.close()
    house = House(gates=Wanted(critic=True))
    opening = Opening(rig.folder, rig.clock, "run-9", rig.defaults, house)
    rig.store = await open_store(opening)
    begun = await rig.goal()
    await rig.end(begun, ended(ruling=None))
    await rig.judge(Verdict(done=True, reason="it looks done"))
    assert "but the critic gate could not look" in (await rig.heard())[-1]


async def test_a_critic_that_was_switched_on_behind_an_answer_has_not_looked_at_it(
    rig: Rig,
) -> None:
    begun = await rig.goal()
    await rig.tell("/critic on")
    await rig.heard()
    await rig.end(begun, ended(checked=Wanted(verify=("pytest -q",))))
    await rig.judge(DONE)
    assert (await rig.heard())[-1].endswith(
        "the critic gate could not look: the turn was over before it had looked"
    )


async def test_a_goal_without_gates_is_judged_as_before(rig: Rig) -> None:
    begun = await rig.goal()
    await rig.end(begun, ended())
    await rig.judge(NOT_DONE)
    begun = await rig.turn()
    await rig.end(begun, ended())
    await rig.judge(DONE)
    assert (await rig.heard())[-1] == "✓ Goal achieved: all is there"
