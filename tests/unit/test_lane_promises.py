"""One lane as a pure function, held to its table and to what it promises by whatever happens."""

from __future__ import annotations

from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.goals.goal import GoalStatus
from core.sessions.lane import Busy, Idle, Outcome, Rest, RowKind
from tests.unit.lane_shell import ANNA, BELA, CORA, Shell

PEOPLE = st.sampled_from([ANNA, BELA, CORA])
ORDERS = st.sampled_from(
    [
        ("goal", "Write"),
        ("goal", "pause"),
        ("goal", "resume"),
        ("goal", "clear"),
        ("goal", "wait 5m"),
        ("goal", "budget turns=1"),
        ("goal", "draft a poem"),
        ("subgoal", "no tabs"),
        ("stop", ""),
        ("new", ""),
        ("resume", ""),
        ("status", ""),
    ]
)
NOTHING = st.none()
OUTCOMES = st.sampled_from([*Outcome, *[Outcome.PARKED] * 3])
ANY = st.lists(
    st.one_of(
        st.tuples(st.just("say"), PEOPLE, st.sampled_from(Busy), st.booleans()),
        st.tuples(st.just("order"), PEOPLE, ORDERS, NOTHING),
        st.tuples(st.just("ready"), NOTHING, st.booleans(), st.integers(0, 9)),
        st.tuples(st.just("end"), NOTHING, OUTCOMES, st.integers(0, 3)),
        st.tuples(st.just("judge"), st.booleans(), st.booleans(), st.sampled_from([0.0, 60.0])),
        st.tuples(st.just("round"), NOTHING, NOTHING, NOTHING),
        st.tuples(st.just("park"), NOTHING, NOTHING, NOTHING),
        st.tuples(st.just("ask"), NOTHING, NOTHING, NOTHING),
        st.tuples(st.just("answer"), NOTHING, NOTHING, st.integers(0, 3)),
        st.tuples(st.just("timer"), NOTHING, NOTHING, NOTHING),
        st.tuples(st.just("enter"), NOTHING, NOTHING, NOTHING),
    ),
    max_size=40,
)
Happening: TypeAlias = tuple[str, object, object, object]
SAY: Happening = ("say", ANNA, Busy.QUEUE, False)
GOAL: Happening = ("order", ANNA, ("goal", "Write"), None)
PAUSE: Happening = ("order", ANNA, ("goal", "pause"), None)
NEW: Happening = ("order", ANNA, ("new", ""), None)
READY: Happening = ("ready", None, False, 9)
END: Happening = ("end", None, Outcome.ANSWERED, 0)
ASK: Happening = ("ask", None, None, None)
PARK: Happening = ("park", None, None, None)
ANSWER: Happening = ("answer", None, None, 0)
BEGINNINGS: tuple[list[Happening], ...] = (
    [],
    [GOAL, PARK],
    [GOAL, READY, ASK, ASK, PARK],
    [SAY, PARK, GOAL],
    [SAY, PARK, SAY, READY, END],
    [GOAL, PARK, SAY, PARK],
    [GOAL, PARK, NEW, READY],
    [GOAL, PARK, NEW, READY, GOAL, PARK],
    [GOAL, PARK, PAUSE, ANSWER],
    [GOAL, PARK, PAUSE, ANSWER, NEW, READY, GOAL, PARK],
    [GOAL, READY, SAY, PARK, READY],
)
"""Stories that many others begin with; most of what may go wrong begins with a question."""
HAPPENINGS = st.builds(lambda start, more: [*start, *more], st.sampled_from(BEGINNINGS), ANY)


@given(HAPPENINGS)
def test_a_lane_keeps_its_promises(drawn: list[Happening]) -> None:
    shell = Shell()
    for one in drawn:
        shell.happen(one)
    messages = [seq for seq in shell.begun if seq in shell.asked]
    assert messages == sorted(set(messages)), "L1: answered in another order, or twice"
    waiting = {row.seq for row in shell.lane.people}
    assert set(shell.asked) <= {*shell.begun, *shell.dropped, *waiting}, "a message is lost"


def settle(shell: Shell, rounds: int) -> None:
    """Let the lane work, its judge say done, and people answer, until nothing is left to do."""
    for _ in range(rounds):
        goal = shell.lane.slot.active
        if not isinstance(shell.lane.phase, Idle):
            shell.happen(("end", None, Outcome.ANSWERED, 0))
            continue
        shell.happen(("ready", None, False, 9))
        if not any(isinstance(effect, Rest) for effect in shell.effects):
            continue
        if goal and goal.judgement and not shell.lane.asking:
            shell.happen(("judge", True, False, 0.0))
        elif goal and goal.wait_until is not None:
            shell.happen(("timer", None, None, None))
        elif any(one.open for one in shell.questions):
            shell.happen(("answer", None, None, 0))
        else:
            return


@given(HAPPENINGS)
def test_a_lane_left_alone_comes_to_rest(
    drawn: list[Happening],
) -> None:
    shell = Shell()
    for one in drawn:
        shell.happen(one)
    settle(shell, 6 * len(drawn) + 20)
    lane = shell.lane
    assert isinstance(lane.phase, Idle)
    final = lane.slot.goal
    assert final is None or final.status is not GoalStatus.ACTIVE, "G5: the goal stalls"
    held = {row.of for row in lane.waiting}
    assert all(row.kind is RowKind.ANSWER and row.goal for row in lane.waiting), "L5: it hangs"
    for row in lane.waiting:
        goal = shell.slots[row.target or lane.session].goal
        assert goal is not None
        assert goal.id == row.goal
        assert goal.status in {GoalStatus.PAUSED, GoalStatus.BLOCKED}, "L5: it waits for nothing"
    assert shell.parked | shell.aside <= held, "a parked turn never ends"
    assert all(one.over or one.of in held for one in shell.questions)
    assert all(one.told <= 1 for one in shell.questions), "an answer counts twice"


@pytest.mark.soak
@pytest.mark.timeout(3600)
@settings(max_examples=20_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(HAPPENINGS)
def test_a_lane_keeps_its_promises_for_a_long_time(
    drawn: list[Happening],
) -> None:
    test_a_lane_keeps_its_promises.hypothesis.inner_test(drawn)  # type: ignore[attr-defined]
    test_a_lane_left_alone_comes_to_rest.hypothesis.inner_test(drawn)  # type: ignore[attr-defined]
