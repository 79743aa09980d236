"""What `/goal` and `/subgoal` refuse, and that a refusal changes nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.commands import Invocation
from core.goals import texts
from core.goals.contract import MAX_BYTES, SetGoal
from core.goals.goal import Goal, GoalStatus
from core.messages import Principal, Role, SessionId, TurnId
from core.sessions.control import obey
from core.sessions.facts import House, Order
from core.sessions.lane import Change, Lane, Post, RowKind, Running, Turn
from tests.fakes.no_facts import KEY, NoFacts

ANNA = Principal("1", "Anna", Role.OWNER)
EMPTY = Lane(key=KEY, session=SessionId(1))
SMALL = NoFacts(House(judge_reads=100))


def order(
    lane: Lane, line: str, *, seq: int = 1, by: Principal = ANNA, facts: NoFacts = SMALL
) -> Change:
    """A command line is obeyed."""
    name, _, argument = line.partition(" ")
    return obey(lane, Order(seq=seq, by=by, line=Invocation(name, argument), now=0.0), facts)


def refusal(lane: Lane, line: str, *, facts: NoFacts = SMALL) -> str:
    """What a command that changes nothing is answered."""
    after, effects = order(lane, line, seq=2, facts=facts)
    assert after == lane
    [told] = effects
    assert isinstance(told, Post)
    return told.text


def goal_of(lane: Lane) -> Goal:
    """The lane's goal; there must be one."""
    assert lane.slot.goal is not None
    return lane.slot.goal


LONG_GOALS = ("goal " + "x" * 101, "goal " + "ü" * 51, "goal x\nverify: " + "x" * 90)


@pytest.mark.parametrize("line", LONG_GOALS)
def test_a_goal_that_the_judge_could_not_see_whole_is_refused(line: str) -> None:
    said = refusal(EMPTY, line)
    assert said.startswith("The goal has 1")
    assert said.endswith(
        " bytes; at most 100 are taken. Put the details into a file and name it in the goal."
    )
    assert order(EMPTY, line, facts=NoFacts())[0] != EMPTY


def test_a_goal_of_just_the_size_that_the_judge_reads_is_taken() -> None:
    lane, _ = order(EMPTY, "goal " + "x" * 100)
    assert goal_of(lane).text == "x" * 100


def test_a_draft_that_the_judge_could_not_see_whole_is_not_accepted() -> None:
    facts = NoFacts(House(judge_reads=100), SetGoal("x", (("verify", "x" * 90),)))
    assert refusal(EMPTY, "goal accept", facts=facts).startswith("The goal has 1")


def test_a_criterion_counts_with_the_goal_and_the_criteria_before_it() -> None:
    lane, _ = order(EMPTY, "goal " + "x" * 20)
    lane, _ = order(lane, "subgoal " + "a" * 20, seq=2)
    assert goal_of(lane).criteria == ("a" * 20,)
    said = refusal(lane, "subgoal " + "b" * 20)
    assert said.startswith("With this criterion the goal has 1")


def test_a_wish_that_is_too_long_to_draft_from_is_refused() -> None:
    assert refusal(EMPTY, "goal draft " + "x" * (MAX_BYTES + 1)).startswith("The text has 20,001")


HOUSE = House(models=("main", "own"), model="main", aides=("judge",))


@pytest.mark.parametrize(
    ("unpriced", "chosen", "named"),
    [
        ({"main"}, "", "main"),
        ({"own"}, "own", "own"),
        ({"judge"}, "", "judge"),
        ({"main", "judge"}, "", "judge and main"),
        ({"main"}, "gone", "main"),
    ],
)
def test_a_cost_cap_is_not_set_where_no_price_is_known(
    unpriced: set[str], chosen: str, named: str
) -> None:
    house = replace(HOUSE, priced=lambda name: name not in unpriced)
    facts = NoFacts(house, chosen=chosen)
    lane, _ = order(EMPTY, "goal Write", facts=facts)
    assert refusal(lane, "goal budget turns=5 cost=2", facts=facts) == (
        f"The budget stays as it was: a cost budget cannot hold, as no price is known of {named}. "
        "Set its price in the configuration, or cap tokens instead: /goal budget tokens=N."
    )
    lane, _ = order(lane, "goal budget turns=5 cost=none", facts=facts)
    assert goal_of(lane).budget.turns == 5


def test_a_cost_cap_is_set_where_every_model_at_work_has_a_price() -> None:
    facts = NoFacts(replace(HOUSE, priced=lambda name: name != "own"))
    lane, _ = order(EMPTY, "goal Write", facts=facts)
    lane, _ = order(lane, "goal budget cost=2", facts=facts)
    assert goal_of(lane).budget.cost == 2.0


def test_the_next_step_of_a_running_goal_names_its_gates() -> None:
    lane, _ = order(EMPTY, "goal Write")
    turn = Turn(
        id=TurnId(1), session=lane.session, kind=RowKind.KICKOFF, principal=ANNA, rows=(1,)
    )
    running = replace(lane, phase=Running(turn))
    plain = "Next: the running turn ends, then the judge is asked"
    gated = "Next: the running turn ends and the goal's gates are run, then the judge is asked"
    assert refusal(running, "goal").endswith(plain)
    assert refusal(standing(running, gates=("make",)), "goal").endswith(gated)


def standing(lane: Lane, **how: object) -> Lane:
    """The lane with its goal changed so."""
    goal = replace(goal_of(lane), **how)  # type: ignore[arg-type]
    return replace(lane, slot=replace(lane.slot, goal=goal))


@pytest.mark.parametrize(
    "line",
    [
        "goal pause",
        "goal resume",
        "goal wait 5m",
        "goal budget turns=5",
        "goal gate add true",
        "goal gate remove 1",
    ],
)
def test_a_goal_that_is_done_is_not_changed_any_more(line: str) -> None:
    lane, _ = order(EMPTY, "goal Write")
    done = standing(lane, status=GoalStatus.DONE, criteria=("short",), gates=("make",))
    assert refusal(done, line) == texts.DONE


def test_the_criteria_and_gates_of_a_goal_that_is_done_are_told_all_the_same() -> None:
    lane, _ = order(EMPTY, "goal Write")
    done = standing(lane, status=GoalStatus.DONE, criteria=("short",), gates=("make",))
    assert "1. short" in refusal(done, "subgoal")
    assert "1. make" in refusal(done, "goal gate list")
