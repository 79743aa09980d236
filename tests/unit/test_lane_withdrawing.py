"""Turns that wait for a person, when they are stopped, and when their goal is paused, cleared or
replaced."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.goals import texts
from core.goals.goal import GoalStatus
from core.messages import SessionId
from core.sessions.lane import (
    Busy,
    CancelTurn,
    Drop,
    Finish,
    Outcome,
    Post,
    RowKind,
    SetAside,
    Wake,
    Withdraw,
)
from tests.unit.lane_shell import (
    ANNA,
    BELA,
    CORA,
    EMPTY,
    Shell,
    order,
)
from tests.unit.lane_story import (
    answer,
    begin,
    continuing,
    end,
    goal_of,
    park,
    rests,
    said,
    say,
    tell,
    waiting,
)


def test_the_answer_of_a_paused_goal_is_held_until_it_is_resumed() -> None:
    shell, turn = waiting(goal=True)
    tell(shell, "goal", "pause")
    answer(shell)
    assert rests(shell)
    assert [row.kind for row in shell.lane.waiting] == [RowKind.ANSWER]
    tell(shell, "goal", "resume")
    assert Wake() in shell.effects
    assert begin(shell) == replace(turn, attempt=2, tries=1)


def test_a_goal_that_is_resumed_while_its_question_is_open_waits_on_for_the_answer() -> None:
    shell, turn = waiting(goal=True)
    tell(shell, "goal", "pause")
    tell(shell, "goal", "resume")
    assert rests(shell)
    assert not shell.lane.waiting
    answer(shell)
    assert begin(shell).id == turn.id


def test_the_answer_of_a_goal_that_was_paused_is_held_in_a_session_that_was_left() -> None:
    shell, turn = waiting(goal=True)
    tell(shell, "goal", "pause")
    answer(shell)
    tell(shell, "new")
    shell.happen(("ready", None, False, 9))
    assert rests(shell)
    tell(shell, "resume", "2")
    shell.happen(("ready", None, False, 9))
    assert shell.lane.session == SessionId(1)
    assert rests(shell)
    tell(shell, "goal", "resume")
    after = begin(shell)
    assert (after.kind, after.goal) == (RowKind.ANSWER, turn.goal)


def test_stopping_withdraws_what_waits() -> None:
    shell, _ = waiting(goal=True)
    tell(shell, "stop")
    assert Withdraw("it was stopped", ANNA) in shell.effects
    assert said(shell) == ["⏹ Stopped. Goal paused; 0 waiting messages dropped."]
    assert shell.lane.parked is None
    assert not shell.parked
    assert rests(shell)


def test_stopping_works_with_nothing_but_a_question_open() -> None:
    shell, _ = waiting()
    say(shell)
    begin(shell)
    end(shell)
    assert rests(shell)
    assert shell.lane.parked is None
    tell(shell, "stop")
    assert [type(effect) for effect in shell.effects] == [Withdraw, Post]
    assert said(shell) == ["⏹ Stopped. 0 waiting messages dropped."]
    assert not shell.aside


def test_stopping_drops_an_answer_that_was_not_read_yet() -> None:
    shell, _ = waiting()
    answer(shell)
    (row,) = shell.lane.waiting
    tell(shell, "stop")
    assert Drop((row.seq,)) in shell.effects
    assert rests(shell)


def test_nothing_is_stopped_where_nothing_runs_or_waits() -> None:
    after, effects = order(EMPTY, 1, "stop")
    assert effects == (Post("Nothing is running here."),)
    assert after.stop_seq == 1


def test_clearing_the_goal_withdraws_what_its_turn_asked() -> None:
    shell, turn = waiting(goal=True)
    answer(shell)
    (row,) = shell.lane.waiting
    tell(shell, "goal", "clear")
    assert shell.effects[:2] == (
        Drop((row.seq,)),
        Withdraw("its goal was cleared", goal=turn.goal),
    )
    assert shell.lane.parked is None
    assert rests(shell)


def test_clearing_the_goal_leaves_what_a_person_waits_for() -> None:
    shell = continuing()
    turn = park(shell)
    tell(shell, "goal", "clear")
    assert shell.lane.parked == turn
    answer(shell)
    assert begin(shell) == replace(turn, attempt=2, tries=1)


def test_a_new_goal_withdraws_what_the_old_one_asked() -> None:
    shell, turn = waiting(goal=True)
    tell(shell, "goal", "pause")
    tell(shell, "goal", "Sing")
    assert Withdraw("its goal was replaced", goal=turn.goal) in shell.effects
    assert shell.lane.parked is None
    assert begin(shell).goal == goal_of(shell.lane).id != turn.goal


@pytest.mark.parametrize("aside", [False, True])
def test_no_goal_is_set_while_the_active_one_waits_for_a_person(aside: bool) -> None:
    shell, _ = waiting(goal=True)
    if aside:
        say(shell)
        begin(shell)
        end(shell)
    before = shell.lane
    tell(shell, "goal", "Sing")
    assert said(shell) == [texts.TURN_WAITING]
    assert shell.lane.slot == before.slot
    assert shell.lane.parked == before.parked


def test_a_goal_may_be_set_while_only_a_person_waits() -> None:
    shell, turn = waiting()
    tell(shell, "goal", "Write")
    begin(shell)
    assert SetAside(turn) in shell.effects


@pytest.mark.parametrize(
    ("how", "outcome"), [("stop", Outcome.STOPPED), ("interrupt", Outcome.INTERRUPTED)]
)
def test_a_turn_that_was_told_to_end_before_it_could_wait_ends_so(
    how: str, outcome: Outcome
) -> None:
    shell = Shell()
    say(shell)
    turn = begin(shell)
    if how == "stop":
        tell(shell, "stop")
    else:
        shell.happen(("say", BELA, Busy.INTERRUPT, False))
    assert CancelTurn(turn.id) in shell.effects
    end(shell, Outcome.PARKED)
    assert shell.effects[0] == Finish(turn, outcome)
    assert shell.lane.parked is None


def test_a_turn_whose_goal_was_cleared_meanwhile_does_not_begin_to_wait() -> None:
    shell = Shell()
    tell(shell, "goal", "Write")
    turn = begin(shell)
    tell(shell, "goal", "clear")
    end(shell, Outcome.PARKED)
    assert shell.effects[0] == Finish(turn, Outcome.STOPPED)
    assert shell.lane.parked is None
    assert rests(shell)


def test_a_member_cannot_resume_what_an_owner_let_wait() -> None:
    shell, _ = waiting(goal=True)
    tell(shell, "goal", "pause")
    answer(shell)
    shell.happen(("order", CORA, ("goal", "resume"), None))
    assert goal_of(shell.lane).status is GoalStatus.ACTIVE
    assert goal_of(shell.lane).rights.role is CORA.role
