"""Turns that wait for a person: how they leave their lane, go on, and end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.goals import texts
from core.goals.goal import Goal, GoalStatus
from core.messages import SessionId
from core.sessions.lane import (
    Begin,
    Busy,
    CallJudge,
    CancelTurn,
    Done,
    Drop,
    Finish,
    Idle,
    Lane,
    Outcome,
    Park,
    Post,
    Report,
    Rest,
    RowKind,
    SetAside,
    Spoke,
    Turn,
    Wake,
    Withdraw,
)
from core.sessions.machine import advance
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
)


def kinds(shell: Shell) -> list[str]:
    """What the last event ordered, by name."""
    return [type(effect).__name__ for effect in shell.effects]


def said(shell: Shell) -> list[str]:
    """What the chat was told by the last event."""
    return [effect.text for effect in shell.effects if isinstance(effect, Post)]


def tell(shell: Shell, name: str, argument: str = "") -> None:
    """Anna gives a command."""
    shell.happen(("order", ANNA, (name, argument), None))


def say(shell: Shell) -> None:
    """Anna writes."""
    shell.happen(("say", ANNA, Busy.QUEUE, False))


def begin(shell: Shell) -> Turn:
    """The lane's next turn; there must be one."""
    shell.happen(("ready", None, False, 9))
    return running(shell.lane)


def rests(shell: Shell) -> bool:
    """Whether the lane finds nothing to begin."""
    shell.happen(("ready", None, False, 9))
    return any(isinstance(effect, Rest) for effect in shell.effects)


def end(shell: Shell, outcome: Outcome = Outcome.ANSWERED) -> None:
    """The begun turn ends."""
    shell.happen(("end", None, outcome, 0))


def answer(shell: Shell, which: int = 0) -> None:
    """Somebody answers an open question."""
    shell.happen(("answer", None, None, which))


def park(shell: Shell) -> Turn:
    """The next turn asks, and waits."""
    turn = begin(shell)
    end(shell, Outcome.PARKED)
    return turn


def waiting(*, goal: bool = False) -> tuple[Shell, Turn]:
    """A lane whose first turn waits for a person: a goal's, or one of Anna's."""
    shell = Shell()
    if goal:
        tell(shell, "goal", "Write")
    else:
        say(shell)
    return shell, park(shell)


def goal_of(lane: Lane) -> Goal:
    """The lane's goal; there must be one."""
    assert lane.slot.goal is not None
    return lane.slot.goal


def test_a_turn_that_waits_leaves_its_lane_free_and_its_goal_hears_nothing() -> None:
    shell, turn = waiting(goal=True)
    assert shell.effects == (Park(turn), Wake())
    assert isinstance(shell.lane.phase, Idle)
    assert shell.lane.parked == turn
    assert goal_of(shell.lane).judgement is None
    assert goal_of(shell.lane).turns == 0
    assert goal_of(shell.lane).seconds == 0.0
    assert rests(shell)


def test_an_answer_takes_the_turn_up_again() -> None:
    shell, turn = waiting()
    answer(shell)
    (row,) = shell.lane.waiting
    again = begin(shell)
    assert again == replace(turn, attempt=2, tries=1)
    assert shell.effects == (Done((row.seq,)), Begin(again))
    assert shell.lane.parked is None
    end(shell)
    assert "Finish" in kinds(shell)


def test_a_turn_that_was_cut_twice_has_all_its_tries_again_once_it_was_answered() -> None:
    shell = Shell()
    say(shell)
    begin(shell)
    assert begin(shell).tries == 2
    park(shell)
    answer(shell)
    turn = begin(shell)
    assert (turn.attempt, turn.tries) == (4, 1)


def test_a_turn_may_wait_more_than_once() -> None:
    shell, turn = waiting()
    for attempt in (2, 3, 4):
        answer(shell)
        assert begin(shell) == replace(turn, attempt=attempt, tries=1)
        end(shell, Outcome.PARKED)
        assert shell.lane.parked == replace(turn, attempt=attempt, tries=1)


def test_an_answer_of_before_the_turn_left_takes_it_up_right_after() -> None:
    shell = Shell()
    say(shell)
    turn = begin(shell)
    shell.happen(("ask", None, None, None))
    answer(shell)
    end(shell, Outcome.PARKED)
    assert begin(shell) == replace(turn, attempt=2, tries=1)


def test_a_message_sets_the_turn_aside_and_the_answer_begins_one_of_its_own() -> None:
    shell, turn = waiting(goal=True)
    say(shell)
    persons = begin(shell)
    assert shell.effects[-2:] == (SetAside(turn), Begin(persons))
    assert shell.lane.parked is None
    answer(shell)
    (row,) = [row for row in shell.lane.waiting if row.kind is RowKind.ANSWER]
    end(shell)
    after = begin(shell)
    assert (after.kind, after.rows, after.attempt) == (RowKind.ANSWER, (row.seq,), 1)
    assert (after.principal, after.goal) == (turn.principal, turn.goal)
    assert after.session == turn.session
    end(shell)
    assert goal_of(shell.lane).turns == 1
    judged = goal_of(shell.lane).judgement
    assert judged is not None
    assert judged.turns == (persons.id, after.id)


def test_a_turn_that_goes_on_with_an_answer_may_wait_and_be_set_aside_as_any() -> None:
    shell, _ = waiting()
    say(shell)
    begin(shell)
    answer(shell)
    end(shell)
    first = park(shell)
    assert first.kind is RowKind.ANSWER
    say(shell)
    begin(shell)
    assert SetAside(first) in shell.effects
    answer(shell)
    end(shell)
    second = begin(shell)
    assert (second.kind, second.principal) == (RowKind.ANSWER, first.principal)
    assert second.id > first.id


def test_a_person_goes_before_an_answer() -> None:
    shell, _ = waiting()
    answer(shell)
    say(shell)
    assert begin(shell).kind is RowKind.MESSAGE
    end(shell)
    assert begin(shell).kind is RowKind.ANSWER


def test_an_answer_goes_before_a_continuation() -> None:
    shell = continuing()
    turn = park(shell)
    answer(shell)
    assert [row.kind for row in shell.lane.waiting] == [RowKind.ANSWER, RowKind.CONTINUATION]
    assert begin(shell).id == turn.id


def continuing() -> Shell:
    """A goal whose next turn stands ready when a person's turn begins to wait."""
    shell = Shell()
    tell(shell, "goal", "Write")
    shell.happen(("round", None, None, None))
    assert [row.kind for row in shell.lane.waiting] == [RowKind.CONTINUATION]
    say(shell)
    return shell


def test_no_continuation_begins_and_no_judge_is_asked_while_a_question_is_open() -> None:
    shell = continuing()
    park(shell)
    assert rests(shell)
    say(shell)
    begin(shell)
    end(shell)
    assert goal_of(shell.lane).judgement is not None
    assert rests(shell)
    assert CallJudge() not in shell.effects
    answer(shell)
    assert begin(shell).kind is RowKind.ANSWER
    end(shell)
    assert rests(shell)
    assert CallJudge() in shell.effects


def test_a_question_of_a_turn_that_runs_on_holds_its_goal_too() -> None:
    shell = continuing()
    begin(shell)
    shell.happen(("ask", None, None, None))
    end(shell, Outcome.PARKED)
    assert [row.kind for row in shell.lane.waiting] == [RowKind.CONTINUATION]
    assert rests(shell)


def test_drafting_leaves_a_turn_that_waits_alone() -> None:
    shell, turn = waiting()
    tell(shell, "goal", "draft a poem")
    assert begin(shell).kind is RowKind.DRAFT
    assert shell.lane.parked == turn
    assert "SetAside" not in kinds(shell)
    answer(shell)
    end(shell)
    assert begin(shell) == replace(turn, attempt=2, tries=1)


def elsewhere() -> tuple[Shell, Turn]:
    """A new session, with the turn of the old one that waits."""
    shell, turn = waiting(goal=True)
    tell(shell, "new")
    shell.happen(("ready", None, False, 9))
    assert SetAside(turn) in shell.effects
    return shell, turn


def test_an_answer_for_a_session_that_was_left_goes_on_there() -> None:
    shell, turn = elsewhere()
    tell(shell, "goal", "Sing")
    second = park(shell)
    here = shell.lane.session
    answer(shell)
    goes_on = begin(shell)
    assert (goes_on.session, goes_on.kind) == (turn.session, RowKind.ANSWER)
    assert shell.lane.parked == second
    assert shell.lane.session == here != turn.session
    slot = shell.lane.slot
    end(shell)
    assert shell.lane.slot == slot
    assert shell.lane.parked == second


def test_a_turn_of_another_session_that_waits_again_is_set_aside_at_once() -> None:
    shell, _ = elsewhere()
    answer(shell)
    turn = begin(shell)
    end(shell, Outcome.PARKED)
    assert shell.effects == (Park(turn), SetAside(turn), Wake())
    assert shell.lane.parked is None
    answer(shell)
    after = begin(shell)
    assert (after.session, after.id) == (turn.session, turn.id + 1)


def test_the_work_of_another_session_tells_nothing_to_the_goal_here() -> None:
    shell, _ = elsewhere()
    tell(shell, "goal", "Sing")
    tell(shell, "goal", "pause")
    answer(shell)
    begin(shell)
    tell(shell, "goal", "resume")
    end(shell)
    assert begin(shell).goal == goal_of(shell.lane).id, "the goal here stalls"


def test_the_goal_of_a_session_that_was_left_hears_of_its_turns_end() -> None:
    shell, turn = elsewhere()
    answer(shell)
    goes_on = begin(shell)
    end(shell)
    (told,) = [effect for effect in shell.effects if isinstance(effect, Report)]
    assert told.session == turn.session
    tell(shell, "resume", "2")
    shell.happen(("ready", None, False, 9))
    assert shell.lane.session == turn.session
    judged = goal_of(shell.lane).judgement
    assert judged is not None
    assert (judged.id, goal_of(shell.lane).turns) == (goes_on.id, 1)
    assert rests(shell)
    assert CallJudge() in shell.effects


def test_a_judges_late_word_is_dropped_while_a_question_is_open_and_asked_for_again() -> None:
    shell = Shell()
    tell(shell, "goal", "Write")
    begin(shell)
    end(shell)
    assert rests(shell)
    assert CallJudge() in shell.effects
    say(shell)
    park(shell)
    shell.happen(("judge", True, False, 0.0))
    assert goal_of(shell.lane).status is GoalStatus.ACTIVE
    answer(shell)
    begin(shell)
    end(shell)
    judged = goal_of(shell.lane).judgement
    assert judged is not None
    assert judged.turns == (1, 2)
    assert rests(shell)
    assert CallJudge() in shell.effects


def test_a_start_tells_a_goal_nothing_while_its_question_is_open() -> None:
    shell, _ = waiting(goal=True)
    shell.happen(("enter", None, None, None))
    assert shell.effects == ()


def test_a_cap_of_another_sessions_goal_ends_its_turn() -> None:
    shell, _ = waiting()
    tell(shell, "new")
    shell.happen(("ready", None, False, 9))
    answer(shell)
    turn = begin(shell)
    end(shell, Outcome.CAPPED)
    assert Finish(turn, Outcome.CAPPED) in shell.effects
    assert said(shell) == ["⚠ This turn failed: why"]


def test_a_cap_does_not_end_what_a_person_waits_for() -> None:
    shell = continuing()
    park(shell)
    say(shell)
    begin(shell)
    answer(shell)
    end(shell)
    turn = begin(shell)
    assert turn.kind is RowKind.ANSWER
    end(shell, Outcome.CAPPED)
    assert running(shell.lane) == replace(turn, attempt=2)
    assert said(shell) == ["⏸ Goal paused: why"]


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


def test_an_older_attempts_wish_to_wait_is_ignored() -> None:
    shell, turn = waiting()
    answer(shell)
    begin(shell)
    before = shell.lane
    assert advance(before, ended(turn, Outcome.PARKED)) == (before, ())


def test_a_member_cannot_resume_what_an_owner_let_wait() -> None:
    shell, _ = waiting(goal=True)
    tell(shell, "goal", "pause")
    answer(shell)
    shell.happen(("order", CORA, ("goal", "resume"), None))
    assert goal_of(shell.lane).status is GoalStatus.ACTIVE
    assert goal_of(shell.lane).rights.role is CORA.role


def test_a_split_messages_first_part_holds_an_answer_back() -> None:
    shell, _ = waiting()
    answer(shell)
    row = replace(message(90), more=True, not_before=5.0)
    lane, _ = advance(shell.lane, Spoke(row, Busy.QUEUE))
    _, effects = advance(lane, ready(shell.turns + 1))
    assert effects == (Rest(5.0),)
