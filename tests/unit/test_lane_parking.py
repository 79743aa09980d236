"""Turns that wait for a person: how they leave their lane, go on, and end."""

from __future__ import annotations

from dataclasses import replace

from core.commands import Invocation
from core.escalations.events import Stopped
from core.escalations.machine import advance as advance_escalation
from core.goals.goal import GoalStatus
from core.messages import Address
from core.sessions.control import obey
from core.sessions.facts import Order
from core.sessions.lane import (
    Begin,
    Busy,
    CallJudge,
    Done,
    Finish,
    Idle,
    Outcome,
    Park,
    Post,
    Report,
    Rest,
    RowKind,
    SetAside,
    Spoke,
    Wake,
)
from core.sessions.machine import advance
from tests.fakes.escalated import NOW, escalation, shown
from tests.fakes.no_facts import KEY, NoFacts
from tests.unit.lane_shell import (
    ANNA,
    EMPTY,
    Shell,
    ended,
    message,
    ready,
    running,
)
from tests.unit.lane_story import (
    answer,
    begin,
    continuing,
    elsewhere,
    end,
    goal_of,
    kinds,
    park,
    rests,
    said,
    say,
    tell,
    waiting,
)


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


def test_stopping_tells_the_open_questions_of_the_lane_and_no_others() -> None:
    mine = [replace(shown(escalation(number=n)), address=Address.of(KEY)) for n in (1, 2)]
    decided, _ = advance_escalation(mine[0], Stopped(NOW))
    theirs = replace(escalation(number=3), address=replace(Address.of(KEY), user="9"))
    facts = NoFacts(waits=True, questions=(decided, *mine, theirs))
    given = Order(seq=1, by=ANNA, line=Invocation("stop", ""), now=NOW)
    _, effects = obey(EMPTY, given, facts)
    assert effects[-1] == Post("⏹ Stopped. 0 waiting messages dropped. E1 and E2 taken back.")


def test_an_older_attempts_wish_to_wait_is_ignored() -> None:
    shell, turn = waiting()
    answer(shell)
    begin(shell)
    before = shell.lane
    assert advance(before, ended(turn, Outcome.PARKED)) == (before, ())


def test_a_split_messages_first_part_holds_an_answer_back() -> None:
    shell, _ = waiting()
    answer(shell)
    row = replace(message(90), more=True, not_before=5.0)
    lane, _ = advance(shell.lane, Spoke(row, Busy.QUEUE))
    _, effects = advance(lane, ready(shell.turns + 1))
    assert effects == (Rest(5.0),)
