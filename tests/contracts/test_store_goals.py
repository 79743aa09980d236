"""The `Store` contract: a goal goes on by itself, is judged, rests, and survives restarts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.agent.steps import Finished, Replied
from core.errors import Fenced
from core.goals.contract import SetGoal
from core.goals.events import Unavailable, Verdict
from core.goals.goal import GoalStatus
from core.messages import Role
from core.sessions.lane import Busy, Outcome, Rest, RowKind
from core.sessions.ports import Begun, Ending, OpenJudgement, ReceiptOf
from core.transcript import Receipt
from tests.contracts.store_rig import (
    BLOCKED,
    DONE,
    LANE,
    MEMBER,
    NOT_DONE,
    OWNER,
    SECOND_OWNER,
    Rig,
    call,
    ref,
    reply,
    result,
    texts,
)


def receipt(number: int) -> ReceiptOf:
    """The receipt of a call, as an ending carries it."""
    done = result(call(number))
    return ReceiptOf(done.call.name, done.call.arguments, done.receipt, done.text)


def with_receipts(*numbers: int, answer: str = "an answer") -> Ending:
    """An answer after these calls."""
    return Ending(
        outcome=Outcome.ANSWERED,
        seconds=1.0,
        answer=answer,
        receipts=tuple(receipt(number) for number in numbers),
    )


async def test_a_goals_dialogue_word_for_word(rig: Rig) -> None:
    await rig.tell("/goal Write four files")
    begun: Begun | Rest = await rig.turn()
    for word in (NOT_DONE, NOT_DONE, DONE):
        assert isinstance(begun, Begun)
        assert isinstance(await rig.answer(begun), Rest)
        await rig.judge(word)
        begun = await rig.begin()
    assert isinstance(begun, Rest)
    assert await rig.heard() == [
        "⊙ Goal set (20-turn budget): Write four files",
        "an answer",
        "↻ Continuing toward goal (1/20): two are missing",
        "an answer",
        "↻ Continuing toward goal (2/20): two are missing",
        "an answer",
        "✓ Goal achieved: all is there",
    ]


async def test_a_persons_message_goes_before_a_continuation(rig: Rig) -> None:
    await rig.answer(await rig.goal())
    await rig.judge(NOT_DONE)
    await rig.say("how far?")
    begun = await rig.turn()
    assert texts(begun) == ["how far?"]
    assert isinstance(await rig.answer(begun), Rest)
    assert (await rig.asked()).goal.turns == 1


async def test_a_persons_turn_that_completes_the_goal_ends_it(rig: Rig) -> None:
    await rig.answer(await rig.goal())
    await rig.judge(NOT_DONE)
    await rig.say("write the last file")
    await rig.answer(await rig.turn())
    await rig.judge(DONE)
    assert isinstance(await rig.begin(), Rest)
    assert (await rig.heard())[-1] == "✓ Goal achieved: all is there"


async def test_no_continuation_begins_while_a_judgement_is_open(rig: Rig) -> None:
    await rig.answer(await rig.goal())
    assert isinstance(await rig.begin(), Rest)
    assert rig.signals[-1].judge == {LANE}


async def test_a_newer_turn_replaces_the_open_judgement_with_the_receipts_of_both(
    rig: Rig,
) -> None:
    await rig.end(await rig.goal(), with_receipts(1, answer="first"))
    older = await rig.asked()
    assert older.receipts == (receipt(1),)
    await rig.say("and?")
    await rig.end(await rig.turn(), with_receipts(2, answer="second"))
    newer = await rig.asked()
    assert newer.id > older.id
    assert newer.answer == "second"
    assert newer.receipts == (receipt(1), receipt(2))
    await rig.judge(DONE, older)
    assert (await rig.asked()).id == newer.id
    await rig.judge(NOT_DONE, newer)
    await rig.judge(NOT_DONE, newer)
    begun = await rig.turn()
    assert begun.goal is not None
    assert begun.goal.turns == 1
    assert await rig.heard() == [
        "↻ Continuing toward goal (1/20): two are missing",
    ]


async def test_a_verdict_while_a_later_turn_is_begun_leaves_the_question_open(rig: Rig) -> None:
    await rig.answer(await rig.goal())
    asked = await rig.asked()
    await rig.say("wait")
    begun = await rig.turn()
    assert await rig.store.open_judgement(LANE) is None
    await rig.judge(DONE, asked)
    await rig.answer(begun)
    later = await rig.asked()
    assert later.goal.status is GoalStatus.ACTIVE
    assert later.id == begun.turn.id


@pytest.mark.parametrize("line", ["/goal pause", "/goal clear", "/stop", "/goal Another one"])
async def test_a_verdict_after_it_is_over_is_dropped(rig: Rig, line: str) -> None:
    await rig.answer(await rig.goal())
    asked = await rig.asked()
    await rig.tell(line)
    await rig.heard()
    await rig.judge(DONE, asked)
    assert await rig.heard() == []
    assert await _turns(rig) == (1 if line == "/goal Another one" else 0)


async def _turns(rig: Rig) -> int:
    """How many turns can be begun now without another word."""
    return int(isinstance(await rig.begin(), Begun))


@pytest.mark.parametrize("line", ["/goal pause", "/goal clear", "/stop"])
async def test_nothing_of_a_goal_runs_once_it_was_left(rig: Rig, line: str) -> None:
    await rig.answer(await rig.goal())
    await rig.judge(NOT_DONE)
    await rig.tell(line)
    await rig.restart()
    assert isinstance(await rig.begin(), Rest)


async def test_a_verdict_is_asked_again_after_a_restart(rig: Rig) -> None:
    await rig.answer(await rig.goal())
    await rig.heard()
    await rig.restart()
    assert await rig.heard() == ["▶ Going on with the goal (1/20 turns): Write four files"]
    assert isinstance(await rig.begin(), Rest)
    assert rig.signals[-1].judge == {LANE}
    await rig.judge(DONE)


async def test_an_active_goal_goes_on_after_a_restart_with_one_line(rig: Rig) -> None:
    await rig.answer(await rig.goal())
    await rig.judge(NOT_DONE)
    await rig.heard()
    await rig.restart()
    await rig.restart()
    said = await rig.heard()
    assert said == ["▶ Going on with the goal (1/20 turns): Write four files"] * 2
    begun = await rig.turn()
    assert begun.turn.kind is RowKind.CONTINUATION
    await rig.answer(begun)
    assert isinstance(await rig.begin(), Rest)


@pytest.mark.parametrize(
    ("word", "status"), [(DONE, GoalStatus.DONE), (BLOCKED, GoalStatus.BLOCKED)]
)
async def test_a_goal_that_has_ended_stands_as_it_was_after_a_restart(
    rig: Rig, word: Verdict, status: GoalStatus
) -> None:
    await rig.judged_goal(word)
    await rig.heard()
    await rig.restart()
    assert await rig.heard() == []
    assert isinstance(await rig.begin(), Rest)
    await rig.tell("/goal")
    (said,) = await rig.heard()
    assert said.startswith(f"⊙ Goal ({status.value}, 1/20 turns): Write four files")


async def test_a_failed_turn_pauses_its_goal_and_is_never_judged(rig: Rig) -> None:
    await rig.fail(await rig.goal(), "the key was refused")
    assert await rig.store.open_judgement(LANE) is None
    assert await rig.heard() == ["⏸ Goal paused: the key was refused"]
    assert isinstance(await rig.begin(), Rest)


async def test_a_judge_that_cannot_be_asked_counts_as_continue(rig: Rig) -> None:
    await rig.judged_goal(Unavailable("timed out"))
    assert (await rig.heard())[-1] == "↻ Continuing toward goal (1/20): timed out"


async def test_a_message_reactivates_a_blocked_goal_with_its_counter(rig: Rig) -> None:
    await rig.judged_goal(NOT_DONE, BLOCKED)
    assert (await rig.heard())[-1] == (
        "⛔ Goal blocked: no key. Answer here, or /goal resume after you have changed something."
    )
    await rig.say("here is the key")
    begun = await rig.turn()
    assert begun.goal is not None
    await rig.answer(begun)
    await rig.judge(NOT_DONE)
    assert (await rig.heard())[-1] == "↻ Continuing toward goal (2/20): two are missing"


async def test_resume_goes_on_with_a_fresh_turn_counter(rig: Rig) -> None:
    await rig.judged_goal(NOT_DONE, NOT_DONE)
    await rig.tell("/goal pause")
    await rig.heard()
    await rig.tell("/goal resume")
    assert await rig.heard() == ["▶ Goal resumed (20-turn budget): Write four files"]


async def test_resume_in_mid_run_only_unpauses(rig: Rig) -> None:
    begun = await rig.goal()
    await rig.tell("/goal pause")
    await rig.tell("/goal resume")
    assert isinstance(await rig.answer(begun), Rest)
    await rig.judge(NOT_DONE)
    assert isinstance(await rig.answer(await rig.turn()), Rest)


async def test_a_goal_resumed_while_its_stopped_turn_still_ends_goes_on(rig: Rig) -> None:
    begun = await rig.goal()
    await rig.tell("/stop")
    await rig.tell("/goal resume")
    next_ = await rig.answer(begun)
    assert isinstance(next_, Begun)
    assert next_.turn.kind is RowKind.CONTINUATION


async def test_a_goal_resumed_during_a_draft_goes_on(rig: Rig) -> None:
    await rig.judged_goal()
    await rig.answer(await rig.turn())
    await rig.tell("/goal pause")
    await rig.tell("/goal draft something else")
    begun = await rig.turn()
    await rig.tell("/goal resume")
    next_ = await rig.answer(begun)
    assert isinstance(next_, Begun)
    assert next_.turn.kind is RowKind.CONTINUATION


async def test_a_goal_whose_turn_was_stopped_by_a_lost_stop_is_paused(rig: Rig) -> None:
    begun = await rig.goal()
    await rig.end(begun, Ending(outcome=Outcome.STOPPED, seconds=1.0))
    assert await rig.heard() == ["⏸ Goal paused: its turn was stopped."]
    await rig.tell("/goal resume")
    assert isinstance(await rig.begin(), Begun)


async def test_without_a_goal_there_is_none_to_resume(rig: Rig) -> None:
    await rig.tell("/goal resume")
    assert await rig.heard() == ["No goal to resume. Set one with /goal <text>."]
    await rig.goal()
    await rig.tell("/goal clear")
    await rig.tell("/goal resume")
    assert await rig.heard() == [
        "✗ Goal cleared.",
        "No goal to resume. Set one with /goal <text>.",
    ]


async def test_a_pause_lets_the_running_turn_finish_and_asks_nobody(rig: Rig) -> None:
    begun = await rig.goal()
    await rig.tell("/goal pause")
    assert isinstance(await rig.answer(begun), Rest)
    assert await rig.store.open_judgement(LANE) is None
    assert await rig.heard() == [
        "⏸ Goal paused: as you asked. The running turn finishes.",
        "an answer",
    ]


async def test_the_turn_budget_pauses_the_goal(rig: Rig) -> None:
    begun = await rig.goal()
    await rig.tell("/goal budget turns=1")
    await rig.answer(begun)
    await rig.judge(NOT_DONE)
    assert isinstance(await rig.begin(), Rest)
    assert (await rig.heard())[-1].startswith("⏸ Goal paused — 1/1 turns used.")


async def test_a_turn_budget_lowered_below_what_is_used_lets_no_turn_begin(rig: Rig) -> None:
    await rig.judged_goal(NOT_DONE)
    begun = await rig.turn()
    await rig.answer(begun)
    await rig.judge(NOT_DONE)
    await rig.tell("/goal budget turns=1")
    assert isinstance(await rig.begin(), Rest)
    assert (await rig.heard())[-1].startswith("⏸ Goal paused — 2/1 turns used.")
    await rig.tell("/goal resume")
    assert isinstance(await rig.begin(), Begun)


async def test_the_goals_turns_have_the_lowest_role_heard(rig: Rig) -> None:
    await rig.answer(await rig.goal())
    await rig.judge(NOT_DONE)
    await rig.say("may I?", MEMBER)
    await rig.answer(await rig.turn())
    await rig.judge(NOT_DONE)
    begun = await rig.turn()
    assert begun.turn.kind is RowKind.CONTINUATION
    assert (begun.turn.principal.id, begun.turn.principal.role) == (OWNER.id, Role.MEMBER)
    await rig.tell("/goal pause")
    await rig.answer(begun)
    await rig.tell("/goal resume")
    assert (await rig.turn()).turn.principal == OWNER


async def test_a_member_heard_before_a_resume_but_read_after_it_counts(rig: Rig) -> None:
    begun = await rig.goal()
    await rig.say("run this for me", MEMBER)
    await rig.tell("/goal pause")
    await rig.tell("/goal resume")
    next_ = await rig.answer(begun)
    assert isinstance(next_, Begun)
    await rig.answer(next_)
    await rig.judge(NOT_DONE)
    assert (await rig.turn()).turn.principal.role is Role.MEMBER


async def test_a_goal_that_another_owner_resumes_stays_its_setters(rig: Rig) -> None:
    await rig.judged_goal(NOT_DONE)
    await rig.tell("/goal pause")
    await rig.tell("/goal resume", SECOND_OWNER)
    assert (await rig.turn()).turn.principal == OWNER


async def test_an_owner_takes_up_the_goal_of_someone_who_was_let_out(rig: Rig) -> None:
    await rig.judged_goal(NOT_DONE)
    await rig.end(await rig.turn(), Ending(outcome=Outcome.REVOKED, seconds=0.0))
    await rig.restart()
    await rig.heard()
    await rig.tell("/goal resume", MEMBER)
    await rig.tell("/goal resume", SECOND_OWNER)
    assert await rig.heard() == [
        "Only an owner can take up this goal: Anna, who set it, may no longer use this bot here. "
        "Set a goal of your own with /goal <text>.",
        "▶ Goal resumed (20-turn budget): Write four files",
        "Bela answers for this goal from now on, in place of Anna, "
        "who may no longer use this bot here.",
    ]
    await rig.restart()
    assert (await rig.turn()).turn.principal == SECOND_OWNER


async def test_a_members_criterion_lowers_the_goals_rights(rig: Rig) -> None:
    await rig.answer(await rig.goal())
    await rig.judge(NOT_DONE)
    await rig.tell("/subgoal and delete the backups", MEMBER)
    assert (await rig.turn()).turn.principal.role is Role.MEMBER


async def test_a_message_behind_a_switch_is_heard_by_the_other_sessions_goal(rig: Rig) -> None:
    await rig.judged_goal(BLOCKED)
    await rig.say("busy")
    begun = await rig.turn()
    await rig.tell("/goal pause")
    await rig.answer(begun)
    await rig.tell("/goal resume")
    begun = await rig.turn()
    await rig.accept(rig.order("/new"), rig.message("for the new session", MEMBER))
    next_ = await rig.answer(begun)
    assert texts(next_) == ["for the new session"]
    assert isinstance(next_, Begun)
    await rig.answer(next_)
    await rig.tell("/resume")
    await rig.begin()
    await rig.judge(NOT_DONE)
    assert (await rig.turn()).turn.principal == OWNER


async def test_a_message_behind_a_switch_wakes_the_blocked_goal_it_reaches(rig: Rig) -> None:
    await rig.judged_goal(BLOCKED)
    await rig.accept(rig.order("/new"), rig.message("elsewhere"))
    elsewhere = await rig.turn()
    await rig.accept(rig.order("/resume"), rig.message("here is the key"))
    next_ = await rig.answer(elsewhere)
    assert texts(next_) == ["here is the key"]
    assert isinstance(next_, Begun)
    assert next_.goal is not None


async def test_criteria_are_added_while_it_runs_and_reach_the_judge(rig: Rig) -> None:
    begun = await rig.goal()
    await rig.tell("/subgoal no tabs")
    await rig.tell("/subgoal short lines")
    await rig.tell("/subgoal remove 1")
    await rig.answer(begun)
    assert (await rig.asked()).goal.criteria == ("short lines",)
    await rig.judge(NOT_DONE)
    assert "short lines" in texts(await rig.turn())[0]


async def test_a_draft_is_a_turn_outside_the_transcript_and_is_accepted(rig: Rig) -> None:
    from_draft = (await _drafted(rig)).turn
    await rig.reopen()
    await rig.tell("/goal accept")
    begun = await rig.turn()
    assert begun.goal is not None
    assert begun.goal.text == "Write a fine poem"
    assert begun.goal.contract == (("outcome", "poem.txt exists"),)
    assert await rig.store.history(from_draft.session) == ()


async def _drafted(rig: Rig) -> Begun:

    await rig.tell("/goal draft a poem")
    begun = await rig.turn()
    assert begun.turn.kind is RowKind.DRAFT
    draft = SetGoal("Write a fine poem", (("outcome", "poem.txt exists"),))
    ending = Ending(outcome=Outcome.ANSWERED, seconds=1.0, answer="Proposed", draft=draft)
    assert isinstance(await rig.end(begun, ending), Rest)
    return begun


async def test_without_a_draft_there_is_none_to_accept(rig: Rig) -> None:
    await rig.tell("/goal accept")
    assert await rig.heard() == [
        "There is no draft to accept. Use /goal draft <text> first.",
    ]


async def test_the_judges_question_keeps_a_failure_that_nothing_made_good(rig: Rig) -> None:
    failed = ReceiptOf("terminal", '{"command": "pytest"}', Receipt(ok=False, summary="pytest"))
    first = replace(with_receipts(*range(9)), receipts=(failed, *map(receipt, range(9))))
    await rig.end(await rig.goal(), first)
    await rig.say("also make it big")
    await rig.end(await rig.turn(), with_receipts(*range(9, 18)))
    assert (await rig.asked()).receipts == (failed, *(receipt(n) for n in range(7, 18)))


async def test_the_judges_question_shows_the_last_words_and_the_last_receipts(rig: Rig) -> None:
    await rig.end(await rig.goal(), with_receipts(*range(9), answer="first"))
    await rig.say("go on")
    await rig.end(await rig.turn(), with_receipts(*range(9, 18), answer="second"))
    asked = await rig.asked()
    assert asked.receipts == tuple(receipt(n) for n in range(6, 18))
    assert asked.answer == "second"


async def test_an_interrupted_goal_turn_is_judged_with_the_turn_that_interrupted_it(
    rig: Rig,
) -> None:

    begun = await rig.goal()
    await rig.say("look", busy=Busy.INTERRUPT)
    next_ = await rig.end(begun, with_receipts(1))
    assert isinstance(next_, Begun)
    await rig.end(next_, with_receipts(2, answer="seen"))
    asked: OpenJudgement = await rig.asked()
    assert asked.receipts == (receipt(1), receipt(2))
    assert asked.goal.turns == 1


@pytest.mark.parametrize("dies", [False, True])
async def test_what_a_turn_did_before_it_was_cut_reaches_the_judge(rig: Rig, dies: bool) -> None:
    begun = await rig.goal()
    await rig.step(begun, 1)
    thought = call(2, "think")
    await rig.store.record(ref(begun), [Replied(2, reply(thought)), Finished(2, result(thought))])
    await rig.say("look", busy=Busy.INTERRUPT)
    if dies:
        await rig.restart()
        next_ = await rig.begin()
    else:
        next_ = await rig.end(begun, Ending(outcome=Outcome.STOPPED, seconds=1.0))
    assert isinstance(next_, Begun)
    await rig.answer(next_, "seen")
    asked = await rig.asked()
    assert asked.receipts == (receipt(1),)
    assert asked.goal.judgement is not None
    assert not asked.goal.judgement.idle


async def test_turns_that_were_cut_after_some_work_are_no_stall(rig: Rig) -> None:
    begun = await rig.goal()
    for n in range(4):
        await rig.step(begun, n)
        await rig.end(begun, Ending(outcome=Outcome.ANSWERED, seconds=1.0, answer="same"))
        await rig.judge(NOT_DONE)
        begun = await rig.turn()


async def test_long_answers_that_differ_at_their_end_are_no_stall(rig: Rig) -> None:
    begun = await rig.goal()
    for n in range(4):
        await rig.answer(begun, f"{'so far ' * 100}{n}")
        await rig.judge(NOT_DONE)
        begun = await rig.turn()
    for _ in range(3):
        await rig.answer(begun, "the same")
        await rig.judge(NOT_DONE)
        begun = next_ if isinstance(next_ := await rig.begin(), Begun) else begun
    assert "3 turns in a row gave the same answer" in (await rig.heard())[-1]


async def test_a_goals_card_shows_where_it_stands(rig: Rig) -> None:
    assert await rig.store.card(LANE) is None
    await rig.tell("/goal Write four files")
    assert await rig.store.card(LANE) is None
    assert rig.signals[-1].cards == {LANE}
    await rig.heard()
    begun = await rig.turn()
    await rig.step(begun, 0)
    await rig.answer(begun)
    await rig.judge(NOT_DONE)
    card = await rig.store.card(LANE)
    assert card is not None
    assert card.first_line == "⊙ Goal set (20-turn budget): Write four files"
    assert (card.goal.turns, card.goal.reason) == (1, "two are missing")
    assert card.spent.tokens == 20 + 10


async def test_a_stopped_goal_turns_answer_is_never_posted_nor_judged(rig: Rig) -> None:
    begun = await rig.goal()
    await rig.tell("/stop")
    await rig.answer(begun, "too late")
    assert await rig.heard() == ["⏹ Stopped. Goal paused; 0 waiting messages dropped."]
    assert await rig.store.open_judgement(LANE) is None
    with pytest.raises(Fenced):
        await rig.answer(begun)
