"""One lane as a pure function, example by example; `test_lane_parking` has the turns that wait."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.goals.goal import GoalStatus
from core.messages import Role
from core.sessions.lane import (
    MAX_WAITING,
    Begin,
    Busy,
    CancelTurn,
    Cut,
    Drop,
    Enqueue,
    Finish,
    Idle,
    Outcome,
    Post,
    Prio,
    RowKind,
    Spoke,
    Stopping,
    Wake,
    WakeAt,
)
from core.sessions.machine import MAX_TRIES, QUEUE_FULL, advance
from tests.unit.lane_shell import (
    ANNA,
    BELA,
    CORA,
    EMPTY,
    Shell,
    ended,
    message,
    order,
    ready,
    running,
    spoke,
)


def test_a_begun_turn_is_taken_up_again_under_a_new_attempt() -> None:
    lane, _ = advance(spoke(EMPTY, 1), ready(1))
    lane, effects = advance(spoke(lane, 2), ready(9))
    turn = running(lane)
    assert effects == (Begin(turn),)
    assert (turn.id, turn.attempt, turn.tries) == (1, 2, 2)


def test_a_turn_that_is_cut_again_and_again_fails() -> None:
    lane, _ = advance(spoke(EMPTY, 1), ready(1))
    for _ in range(MAX_TRIES - 1):
        lane, _ = advance(lane, ready(9))
    lane, effects = advance(lane, ready(9))
    assert isinstance(lane.phase, Idle)
    assert any(isinstance(e, Post) and e.text.startswith("⚠ This turn failed") for e in effects)


def test_an_old_attempts_last_word_is_ignored() -> None:
    lane, _ = advance(spoke(EMPTY, 1), ready(1))
    old = running(lane)
    lane, _ = advance(lane, ready(9))
    assert advance(lane, ended(old)) == (lane, ())
    assert advance(EMPTY, ended(old)) == (EMPTY, ())


def test_a_stop_turns_every_ending_into_stopped() -> None:
    lane, _ = advance(spoke(EMPTY, 1), ready(1))
    turn = running(lane)
    lane, effects = order(spoke(lane, 2), 3, "stop")
    assert CancelTurn(turn.id) in effects
    assert Drop((2,)) in effects
    assert lane.phase == Stopping(turn, Cut.STOPPED)
    lane, effects = advance(lane, ended(turn))
    assert Finish(turn, Outcome.STOPPED) in effects


def test_a_full_lane_refuses_in_words_and_keeps_what_waits() -> None:
    lane = EMPTY
    for seq in range(MAX_WAITING):
        lane = spoke(lane, seq)
    after, effects = advance(lane, Spoke(message(500), Busy.QUEUE))
    assert after == lane
    assert effects == (Drop((500,)), Post(QUEUE_FULL))


def test_an_interrupting_message_cuts_a_running_turn_only_once() -> None:
    lane, _ = advance(spoke(EMPTY, 1), ready(1))
    turn = running(lane)
    lane, effects = advance(lane, Spoke(message(2), Busy.INTERRUPT))
    assert CancelTurn(turn.id) in effects
    lane, effects = advance(lane, Spoke(message(3), Busy.INTERRUPT))
    assert effects == (Wake(),)
    lane, effects = advance(lane, ended(turn))
    assert Finish(turn, Outcome.INTERRUPTED) in effects


def test_a_stop_overrules_an_interruption_along_the_table() -> None:
    shell = Shell()
    shell.happen(("say", ANNA, Busy.QUEUE, False))
    shell.happen(("ready", None, False, 0))
    shell.happen(("say", ANNA, Busy.INTERRUPT, False))
    shell.happen(("order", ANNA, ("stop", ""), None))
    assert isinstance(shell.lane.phase, Stopping)
    assert shell.lane.phase.why is Cut.STOPPED


def test_a_cap_that_is_reached_in_a_persons_turn_pauses_the_goal_and_lets_the_turn_go_on() -> None:
    lane, _ = order(EMPTY, 1, "goal", "Write")
    lane, _ = advance(spoke(lane, 2), ready(1))
    turn = running(lane)
    lane, effects = advance(lane, ended(turn, Outcome.CAPPED))
    again = replace(turn, attempt=2)
    assert effects[0] == Begin(again)
    assert [e.text for e in effects if isinstance(e, Post)] == ["⏸ Goal paused: why"]
    assert not [e for e in effects if isinstance(e, Finish)]
    assert running(lane) == again
    lane, effects = advance(lane, ended(again))
    assert Finish(again, Outcome.ANSWERED) in effects
    assert lane.slot.goal is not None
    assert lane.slot.goal.status is GoalStatus.PAUSED


def test_a_cap_that_is_reached_in_the_goals_own_turn_ends_it() -> None:
    shell = Shell()
    shell.happen(("order", ANNA, ("goal", "Write"), None))
    shell.happen(("ready", None, False, 0))
    turn = running(shell.lane)
    lane, effects = advance(shell.lane, ended(turn, Outcome.CAPPED))
    assert isinstance(lane.phase, Idle)
    assert Finish(turn, Outcome.CAPPED) in effects
    assert [e.text for e in effects if isinstance(e, Post)] == ["⏸ Goal paused: why"]


def test_a_switch_waits_behind_the_messages_before_it() -> None:
    lane, effects = order(spoke(EMPTY, 1), 2, "new")
    (row,) = [e for e in effects if isinstance(e, Enqueue)]
    assert (row.kind, row.prio, row.target) == (RowKind.SWITCH, Prio.PERSON, None)
    lane, effects = order(lane, 3, "resume")
    (row,) = [e for e in effects if isinstance(e, Enqueue)]
    assert row.target == 2


@pytest.mark.parametrize("name", ["status", "whoami", "help", "sessions", "queue", "gaol"])
def test_a_command_that_only_tells_changes_nothing(name: str) -> None:
    lane, _ = advance(spoke(EMPTY, 1), ready(1))
    after, effects = order(lane, 2, name)
    assert after == lane
    assert [type(effect) for effect in effects] == [Post]


def test_a_member_may_not_change_a_budget() -> None:
    lane, _ = order(EMPTY, 1, "goal", "Write")
    after, effects = order(lane, 2, "goal", "budget turns=99", CORA)
    assert after == lane
    [told] = effects
    assert isinstance(told, Post)
    assert told.text == "Only owners may change a goal's budget."


def test_a_gate_does_not_replace_the_goal() -> None:
    shell = Shell()
    shell.happen(("order", ANNA, ("goal", "Write"), None))
    shell.happen(("round", None, None, None))
    shell.happen(("order", ANNA, ("goal", "pause"), None))
    after, effects = order(shell.lane, 9, "goal", "gate add pytest -q")
    assert shell.lane.slot.goal is not None
    changed = replace(shell.lane.slot.goal, gates=("pytest -q",))
    assert after.slot.goal == changed
    assert [type(effect) for effect in effects] == [Post]


@pytest.mark.parametrize("argument", ["no tabs", "remove 1", "clear"])
def test_whoever_changes_the_criteria_lowers_the_goals_rights(argument: str) -> None:
    lane, _ = order(EMPTY, 1, "goal", "Write")
    lane, _ = order(lane, 2, "subgoal", "short lines")
    assert lane.slot.goal is not None
    assert lane.slot.goal.floor is Role.OWNER
    lane, _ = order(lane, 3, "subgoal", argument, CORA)
    assert lane.slot.goal is not None
    assert lane.slot.goal.floor is Role.MEMBER


def test_a_criterion_lowers_the_rights_of_a_kickoff_that_waits() -> None:
    shell = Shell()
    shell.happen(("order", ANNA, ("goal", "Write"), None))
    shell.happen(("order", CORA, ("subgoal", "no tabs"), None))
    shell.happen(("ready", None, False, 0))
    assert running(shell.lane).principal == replace(ANNA, role=Role.MEMBER)


def let_out(shell: Shell) -> None:
    """The goal's turn ends unworked, as who set the goal may no longer use the bot."""
    shell.happen(("order", ANNA, ("goal", "Write"), None))
    shell.happen(("ready", None, False, 0))
    shell.happen(("end", None, Outcome.REVOKED, 0))


def test_a_member_cannot_take_up_the_goal_of_someone_who_was_let_out() -> None:
    shell = Shell()
    let_out(shell)
    after, effects = order(shell.lane, 9, "goal", "resume", CORA)
    assert after == shell.lane
    [told] = effects
    assert isinstance(told, Post)
    assert told.text.startswith("Only an owner can take up this goal: Anna, who set it,")


def test_an_owner_takes_up_the_goal_of_someone_who_was_let_out() -> None:
    shell = Shell()
    let_out(shell)
    shell.happen(("order", BELA, ("goal", "resume"), None))
    shell.happen(("ready", None, False, 0))
    assert running(shell.lane).principal == BELA


def test_only_messages_are_counted_as_waiting_messages() -> None:
    shell = Shell()
    shell.happen(("order", ANNA, ("goal", "Write"), None))
    shell.happen(("order", ANNA, ("new", ""), None))
    shell.happen(("say", ANNA, Busy.QUEUE, False))
    _, effects = order(shell.lane, 9, "status")
    (told,) = effects
    assert isinstance(told, Post)
    assert told.text.startswith("No turn is running; 1 message waits.")
    _, effects = order(shell.lane, 10, "stop")
    assert effects[-1] == Post("⏹ Stopped. Goal paused; 1 waiting messages dropped.")


def test_resuming_in_a_rest_takes_its_timer_away() -> None:
    shell = Shell()
    shell.happen(("order", ANNA, ("goal", "Write"), None))
    shell.happen(("ready", None, False, 0))
    shell.happen(("end", None, Outcome.ANSWERED, 0))
    shell.happen(("order", ANNA, ("goal", "wait 5m"), None))
    _, effects = order(shell.lane, 9, "goal", "resume")
    assert WakeAt(None) in effects
