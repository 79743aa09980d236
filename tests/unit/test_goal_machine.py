"""The life of a goal, held to its table and its invariants by whatever may happen to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.goals import codec, texts
from core.goals.contract import Budget
from core.goals.events import (
    Announce,
    BudgetChanged,
    CancelContinuation,
    Continue,
    CriteriaChanged,
    GoalCleared,
    GoalEffect,
    GoalEvent,
    GoalPaused,
    GoalResumed,
    GoalSet,
    GoalWoken,
    Judged,
    PersonSpoke,
    SetTimer,
    TimerFired,
    TurnFailed,
    TurnFinished,
    TurnStopped,
    Unavailable,
    Unreadable,
    Verdict,
    WaitAsked,
    Word,
)
from core.goals.goal import Goal, GoalStatus, Slot
from core.goals.machine import (
    EDGES,
    FAILED_LIMIT,
    MAX_WAIT_S,
    STALL_LIMIT,
    UNREADABLE_LIMIT,
    IllegalTransition,
    advance,
)
from core.messages import Principal, Role, TurnId, lowest

ANNA = Principal("1", "Anna", Role.OWNER)
BELA = Principal("2", "Bela", Role.MEMBER)
DORA = Principal("4", "Dora", Role.OWNER)
NOT_DONE = Verdict(done=False, reason="two are missing")


def was_set(*, turns: int = 20, id_: int = 1) -> Slot:
    """A slot whose goal was set just now."""
    slot, _ = advance(Slot(), GoalSet(id=id_, text="Write", by=ANNA, budget=Budget(turns=turns)))
    return slot


def finished(
    turn: int, *, of_goal: int | None = 1, idle: bool = False, answer: str = ""
) -> GoalEvent:
    """A turn that ended with an answer."""
    return TurnFinished(
        turn=TurnId(turn), of_goal=of_goal, seconds=1.0, idle=idle, answer=answer or f"a{turn}"
    )


def judged(slot: Slot, word: Word, now: float = 0.0) -> Judged:
    """The judge's word on what is open."""
    goal = slot.goal
    assert goal is not None
    assert goal.judgement is not None
    return Judged(goal.id, slot.generation, goal.judgement.id, word, now)


def after(slot: Slot, *events: GoalEvent) -> tuple[Slot, tuple[GoalEffect, ...]]:
    """The slot after all of these, and the last one's orders."""
    effects: tuple[GoalEffect, ...] = ()
    for event in events:
        slot, effects = advance(slot, event)
    return slot, effects


def goal_of(slot: Slot) -> Goal:
    """The slot's goal; there must be one."""
    assert slot.goal is not None
    return slot.goal


def said(effects: Sequence[GoalEffect]) -> list[str]:
    """What the person reads."""
    return [effect.text for effect in effects if isinstance(effect, Announce)]


def test_setting_a_goal_cancels_what_an_older_one_had_queued() -> None:
    _, effects = advance(was_set(), GoalSet(id=2, text="Sing", by=ANNA))
    assert effects == (
        CancelContinuation(),
        SetTimer(None),
        Announce("⊙ Goal set (20-turn budget): Sing", card=True),
    )


def test_a_finished_turn_is_judged_and_a_not_done_verdict_continues() -> None:
    slot, _ = after(was_set(), finished(1))
    assert goal_of(slot).judgement is not None
    slot, effects = advance(slot, judged(slot, NOT_DONE))
    assert effects == (
        Announce("↻ Continuing toward goal (1/20): two are missing"),
        Continue(1, "two are missing"),
    )
    assert goal_of(slot).judgement is None


def test_a_failed_turn_is_never_judged_and_pauses_the_goal() -> None:
    slot, effects = after(was_set(), TurnFailed(of_goal=1, seconds=1.0, reason="no key"))
    assert said(effects) == ["⏸ Goal paused: no key"]
    assert goal_of(slot).judgement is None
    assert goal_of(slot).turns == 1


def test_blocked_wins_over_done() -> None:
    slot, _ = after(was_set(), finished(1))
    slot, effects = advance(slot, judged(slot, Verdict(done=True, blocked=True, reason="no key.")))
    assert goal_of(slot).status is GoalStatus.BLOCKED
    assert said(effects) == [texts.blocked("no key")]


@pytest.mark.parametrize(
    ("word", "limit", "naming"),
    [
        (Unreadable("not JSON"), UNREADABLE_LIMIT, "could not be read 3 times"),
        (Unavailable("timed out"), FAILED_LIMIT, "could not be asked 5 times"),
    ],
)
def test_a_judge_that_never_works_pauses_the_goal_and_names_the_key(
    word: Word, limit: int, naming: str
) -> None:
    slot, effects = after(was_set())
    for turn in range(1, limit + 1):
        assert goal_of(slot).status is GoalStatus.ACTIVE
        slot, _ = advance(slot, finished(turn))
        slot, effects = advance(slot, judged(slot, word))
    assert goal_of(slot).status is GoalStatus.PAUSED
    (line,) = said(effects)
    assert naming in line
    assert "auxiliary.goal_judge" in line


def test_one_readable_verdict_starts_the_count_of_unreadable_ones_anew() -> None:
    slot = was_set()
    for turn in range(1, 12):
        slot, _ = advance(slot, finished(turn))
        word: Word = NOT_DONE if turn % UNREADABLE_LIMIT == 0 else Unreadable("?")
        slot, _ = advance(slot, judged(slot, word))
    assert goal_of(slot).status is GoalStatus.ACTIVE


def test_failed_and_unreadable_calls_are_each_counted_in_a_row() -> None:
    slot = was_set(turns=50)
    words: list[Word] = [Unreadable("?"), Unreadable("?"), Unavailable("timed out")] * 6
    for turn, word in enumerate(words, 1):
        slot, _ = after(slot, finished(turn))
        slot, _ = advance(slot, judged(slot, word))
    assert goal_of(slot).status is GoalStatus.ACTIVE
    assert (goal_of(slot).unreadable, goal_of(slot).failed) == (0, 1)


def test_turns_that_end_alike_without_a_tool_pause_the_goal() -> None:
    slot, effects = after(was_set())
    for turn in range(1, STALL_LIMIT + 1):
        assert goal_of(slot).status is GoalStatus.ACTIVE
        slot, _ = advance(slot, finished(turn, idle=True, answer="same"))
        slot, effects = advance(slot, judged(slot, NOT_DONE))
    assert goal_of(slot).status is GoalStatus.PAUSED
    assert "without using any tool" in said(effects)[0]


@pytest.mark.parametrize("change", ["tool", "answer", "reason", "person"])
def test_any_change_starts_the_stall_guard_anew(change: str) -> None:
    slot = was_set(turns=50)
    for turn in range(1, 10):
        odd = turn % 2 == 0
        event = finished(
            turn,
            idle=not (odd and change == "tool"),
            answer="other" if odd and change == "answer" else "same",
            of_goal=None if odd and change == "person" else 1,
        )
        slot, _ = advance(slot, event)
        reason = "other" if odd and change == "reason" else "same"
        slot, _ = advance(slot, judged(slot, Verdict(done=False, reason=reason)))
    assert goal_of(slot).status is GoalStatus.ACTIVE


def test_a_judge_may_let_the_goal_rest_but_not_for_long() -> None:
    slot, _ = after(was_set(), finished(1))
    word = Verdict(done=False, reason="it builds", wait_s=9e9)
    slot, effects = advance(slot, judged(slot, word, now=100.0))
    assert SetTimer(100.0 + MAX_WAIT_S) in effects
    assert not any(isinstance(effect, Continue) for effect in effects)
    slot, effects = advance(slot, TimerFired(1, slot.generation))
    assert effects == (Continue(1, "the wait is over"),)


def test_a_rest_is_taken_up_again_after_a_restart() -> None:
    slot, _ = after(was_set(), finished(1), WaitAsked(500.0))
    again, effects = advance(slot, GoalWoken(idle=True))
    assert again == slot
    assert SetTimer(500.0) in effects
    assert goal_of(again).judgement is not None
    assert not any(isinstance(effect, Continue) for effect in effects)


@pytest.mark.parametrize(
    ("word", "status"),
    [
        (Verdict(done=True, reason="r"), GoalStatus.DONE),
        (Verdict(done=False, blocked=True, reason="r"), GoalStatus.BLOCKED),
    ],
)
def test_a_rest_does_not_keep_an_open_verdict_from_ending_the_goal(
    word: Word, status: GoalStatus
) -> None:
    slot, _ = after(was_set(), finished(1), WaitAsked(500.0))
    slot, effects = advance(slot, judged(slot, word))
    assert goal_of(slot).status is status
    assert SetTimer(None) in effects


def test_a_verdict_to_continue_leaves_a_rest_as_it_is() -> None:
    slot, _ = after(was_set(), finished(1), WaitAsked(500.0))
    word = replace(NOT_DONE, wait_s=60.0)
    slot, effects = advance(slot, judged(slot, word, now=440.0))
    assert effects == (Announce("⏲ Goal waits 1m: two are missing"),)
    assert (goal_of(slot).wait_until, goal_of(slot).judgement) == (500.0, None)
    slot, effects = advance(slot, TimerFired(1, slot.generation))
    assert effects == (Continue(1, "the wait is over"),)


def test_a_rest_that_ends_before_the_verdict_leaves_the_question_open() -> None:
    slot, _ = after(was_set(), finished(1), WaitAsked(500.0))
    slot, effects = advance(slot, TimerFired(1, slot.generation))
    assert (effects, goal_of(slot).wait_until) == ((), None)
    slot, effects = advance(slot, judged(slot, NOT_DONE))
    assert Continue(1, "two are missing") in effects


def test_an_open_question_gathers_the_turns_since_the_last_verdict() -> None:
    slot, _ = after(was_set(), finished(1, idle=True), finished(2, of_goal=None))
    judgement = goal_of(slot).judgement
    assert judgement is not None
    assert judgement.turns == (TurnId(1), TurnId(2))
    assert (judgement.id, judgement.of_goal, judgement.idle) == (TurnId(2), True, False)
    assert goal_of(slot).turns == 1


def test_a_goals_time_counts_its_judge_and_the_turns_that_were_stopped() -> None:
    slot, _ = after(was_set(), finished(1))
    slot, _ = advance(slot, replace(judged(slot, NOT_DONE), seconds=4.0))
    slot, _ = after(slot, GoalPaused(""))
    slot, effects = advance(slot, TurnStopped(2.0))
    assert effects == ()
    assert goal_of(slot).seconds == 7.0
    assert goal_of(slot).turns == 1


def test_a_verdict_that_comes_too_late_has_taken_its_time_all_the_same() -> None:
    slot, _ = after(was_set(), finished(1))
    late = replace(judged(slot, NOT_DONE), seconds=4.0)
    slot, _ = after(slot, GoalPaused(""))
    after_, effects = advance(slot, late)
    assert effects == ()
    assert goal_of(after_) == replace(goal_of(slot), seconds=5.0)


def test_resume_starts_the_turn_counter_and_the_guards_anew() -> None:
    slot = was_set()
    for turn in (1, 2):
        slot, _ = advance(slot, finished(turn, idle=True, answer="same"))
        slot, _ = advance(slot, judged(slot, Unreadable("?")))
    slot, _ = advance(slot, GoalPaused(""))
    slot, effects = advance(slot, GoalResumed(ANNA, idle=True))
    goal = goal_of(slot)
    assert (goal.turns, goal.unreadable, goal.stall.count) == (0, 0, 0)
    assert goal.seconds == 2.0
    assert said(effects) == ["▶ Goal resumed (20-turn budget): Write"]


@pytest.mark.parametrize(
    ("setter", "resumer", "role"),
    [
        (ANNA, DORA, Role.OWNER),
        (ANNA, BELA, Role.MEMBER),
        (BELA, ANNA, Role.MEMBER),
        (BELA, BELA, Role.MEMBER),
    ],
)
def test_a_resumed_goal_acts_for_its_setter_with_the_lower_rights_of_the_two(
    setter: Principal, resumer: Principal, role: Role
) -> None:
    slot, _ = after(Slot(), GoalSet(id=1, text="Write", by=setter), GoalPaused(""))
    slot, effects = advance(slot, GoalResumed(resumer, idle=True))
    assert goal_of(slot).setter == setter
    assert goal_of(slot).rights == replace(setter, role=role)
    assert said(effects) == ["▶ Goal resumed (20-turn budget): Write"]


def test_an_owners_resume_forgets_who_was_heard_before_it() -> None:
    slot, _ = after(was_set(), PersonSpoke(Role.MEMBER))
    assert goal_of(slot).rights.role is Role.MEMBER
    slot, _ = after(slot, GoalPaused(""), GoalResumed(ANNA, idle=True))
    assert goal_of(slot).rights == ANNA


def let_out(setter: Principal) -> Slot:
    """A goal that was paused because its setter may no longer use the bot."""
    failed = TurnFailed(of_goal=1, seconds=0.0, reason="", revoked=True)
    slot, effects = after(Slot(), GoalSet(id=1, text="Write", by=setter), failed)
    assert said(effects) == [
        f"⏸ Goal paused: {setter.name}, who set it, may no longer use this bot here. "
        "An owner can take it up with /goal resume."
    ]
    return slot


def test_an_owner_takes_up_a_goal_whose_setter_was_let_out_and_the_chat_is_told() -> None:
    slot, effects = advance(let_out(ANNA), GoalResumed(DORA, idle=True))
    assert goal_of(slot).setter == goal_of(slot).rights == DORA
    assert said(effects) == [
        "▶ Goal resumed (20-turn budget): Write",
        "Dora answers for this goal from now on, in place of Anna, "
        "who may no longer use this bot here.",
    ]
    slot, effects = after(slot, GoalPaused(""), GoalResumed(ANNA, idle=True))
    assert goal_of(slot).setter == DORA


def test_a_members_goal_that_an_owner_takes_up_keeps_a_members_rights() -> None:
    slot, effects = advance(let_out(BELA), GoalResumed(ANNA, idle=True))
    assert goal_of(slot).rights == replace(ANNA, role=Role.MEMBER)
    assert said(effects)[1].endswith(
        "It keeps a member's rights: set it again to give it an owner's."
    )
    slot, _ = after(slot, GoalPaused(""), GoalResumed(ANNA, idle=True))
    assert goal_of(slot).rights.role is Role.MEMBER


def test_no_member_takes_up_the_goal_of_someone_who_was_let_out() -> None:
    slot = let_out(ANNA)
    with pytest.raises(IllegalTransition):
        advance(slot, GoalResumed(BELA, idle=True))
    again, effects = advance(let_out(BELA), GoalResumed(BELA, idle=True))
    assert goal_of(again).setter == BELA  # who was let in again meanwhile
    assert len(said(effects)) == 1


@pytest.mark.parametrize(
    ("earlier", "event"),
    [
        ([], GoalPaused("")),
        ([], GoalCleared()),
        ([], GoalResumed(ANNA, idle=True)),
        ([], BudgetChanged(Budget())),
        ([GoalSet(id=1, text="x", by=ANNA)], GoalResumed(ANNA, idle=True)),
        ([GoalSet(id=1, text="x", by=ANNA), GoalPaused("")], GoalPaused("")),
        ([GoalSet(id=1, text="x", by=ANNA), GoalPaused("")], WaitAsked(1.0)),
        ([GoalSet(id=1, text="x", by=ANNA), GoalCleared()], GoalCleared()),
        ([GoalSet(id=1, text="x", by=ANNA), GoalCleared()], CriteriaChanged((), Role.OWNER)),
        ([GoalSet(id=1, text="x", by=ANNA), GoalCleared()], WaitAsked(1.0)),
    ],
)
def test_an_order_that_makes_no_sense_raises(earlier: list[GoalEvent], event: GoalEvent) -> None:
    slot, _ = after(Slot(), *earlier)
    with pytest.raises(IllegalTransition):
        advance(slot, event)


ROLES = st.sampled_from(Role)
PEOPLE = st.sampled_from([ANNA, BELA, DORA])
TURNS = st.integers(1, 8).map(TurnId)
GOALS = st.integers(1, 3)
REASONS = st.sampled_from(["missing", "same", ""])
WORDS = st.one_of(
    st.builds(
        Verdict,
        done=st.booleans(),
        reason=REASONS,
        blocked=st.sampled_from([False, False, True]),
        wait_s=st.sampled_from([0.0, 0.0, 60.0, 9e9]),
    ),
    st.builds(Unreadable, REASONS),
    st.builds(Unavailable, REASONS),
)
EVENTS = st.one_of(
    st.builds(
        GoalSet,
        id=GOALS,
        text=st.just("Write"),
        by=PEOPLE,
        budget=st.builds(Budget, turns=st.integers(1, 3)),
    ),
    st.builds(GoalPaused, st.sampled_from(["", "⏸ paused"])),
    st.builds(GoalResumed, PEOPLE, st.booleans()),
    st.just(GoalCleared()),
    st.builds(BudgetChanged, st.builds(Budget, turns=st.integers(1, 4))),
    st.builds(CriteriaChanged, st.just(("a",)), ROLES),
    st.builds(PersonSpoke, ROLES),
    st.builds(
        TurnFinished,
        turn=TURNS,
        of_goal=st.none() | GOALS,
        seconds=st.just(1.0),
        answer=st.sampled_from(["a", "b"]),
        idle=st.booleans(),
    ),
    st.builds(
        TurnFailed,
        of_goal=st.none() | GOALS,
        seconds=st.just(1.0),
        reason=st.just("key"),
        revoked=st.sampled_from([False, False, True]),
    ),
    st.builds(TurnStopped, st.just(1.0)),
    st.builds(Judged, GOALS, st.integers(0, 9), TURNS, WORDS, st.just(10.0)),
    WORDS,
    st.builds(WaitAsked, st.just(99.0)),
    st.builds(TimerFired, GOALS, st.integers(0, 9)),
    st.just("timer"),
    st.builds(GoalWoken, st.booleans()),
)


def concrete(slot: Slot, drawn: object) -> GoalEvent | None:
    """A drawn word becomes the verdict on what is open, "timer" the timer that is set; a new
    goal gets an id that was never used."""
    goal = slot.goal
    match drawn:
        case Verdict() | Unreadable() | Unavailable():
            return judged(slot, drawn) if goal and goal.judgement else None
        case "timer":
            return TimerFired(goal.id, slot.generation) if goal else None
        case GoalSet():
            return replace(drawn, id=slot.generation * 10 + drawn.id)
        case TurnFinished(of_goal=int()) | TurnFailed(of_goal=int()):
            return replace(drawn, of_goal=goal.id) if goal else drawn
        case _:
            return drawn  # type: ignore[return-value]


def story(drawn: list[object]) -> list[tuple[Slot, GoalEvent, Slot, tuple[GoalEffect, ...]]]:
    """What the events do to a fresh slot, one after the other; illegal ones change nothing."""
    told = []
    slot = Slot()
    for one in drawn:
        event = concrete(slot, one)
        if event is None:
            continue
        before = codec.dump(slot)
        try:
            next_, effects = advance(slot, event)
        except IllegalTransition:
            assert codec.dump(slot) == before
            continue
        assert codec.dump(slot) == before
        told.append((slot, event, next_, effects))
        slot = next_
    return told


LISTS = st.lists(EVENTS, max_size=30)


@given(LISTS)
def test_a_status_changes_only_along_the_table(drawn: list[object]) -> None:
    for slot, event, next_, _ in story(drawn):
        old, new = slot.goal, next_.goal
        if old is None or new is None or isinstance(event, GoalSet):
            assert new is None or new.status is GoalStatus.ACTIVE
            continue
        assert new.id == old.id
        assert new.status is old.status or new.status in EDGES[old.status]


@given(LISTS)
def test_the_generation_never_goes_back_and_every_exit_and_every_set_raises_it(
    drawn: list[object],
) -> None:
    for slot, event, next_, effects in story(drawn):
        assert next_.generation >= slot.generation
        left = slot.active is not None and next_.active is None
        if left or isinstance(event, GoalSet):
            assert next_.generation > slot.generation
            assert CancelContinuation() in effects
            assert SetTimer(None) in effects


@given(LISTS)
def test_a_goal_that_is_not_active_has_nothing_open_and_orders_nothing(
    drawn: list[object],
) -> None:
    for _, _, next_, effects in story(drawn):
        goal = next_.goal
        if goal is None or goal.status is GoalStatus.ACTIVE:
            continue
        assert goal.judgement is None
        assert goal.wait_until is None
        orders = [type(e) for e in effects if isinstance(e, Continue)]
        assert orders == []
        assert all(e.due is None for e in effects if isinstance(e, SetTimer))


@given(LISTS)
def test_a_cleared_goal_never_returns(drawn: list[object]) -> None:
    cleared: set[int] = set()
    for _, _, next_, effects in story(drawn):
        goal = next_.goal
        if goal is not None and goal.id in cleared:
            assert goal.status is GoalStatus.CLEARED
            assert not any(isinstance(e, Continue) for e in effects)
        if goal is not None and goal.status is GoalStatus.CLEARED:
            cleared.add(goal.id)


@given(LISTS)
def test_only_goal_turns_cost_the_budget_and_no_verdict_continues_beyond_it(
    drawn: list[object],
) -> None:
    for slot, event, next_, effects in story(drawn):
        old, new = slot.goal, next_.goal
        if old is None or new is None or old.id != new.id:
            continue
        own = isinstance(event, TurnFinished | TurnFailed) and event.of_goal == old.id
        if isinstance(event, GoalResumed):
            assert new.turns == 0
        else:
            assert new.turns == old.turns + (
                1 if own and old.status is not GoalStatus.CLEARED else 0
            )
        if isinstance(event, Judged) and any(isinstance(e, Continue) for e in effects):
            assert new.turns < new.budget.turns


@given(LISTS)
def test_a_verdict_is_applied_once_and_only_to_the_open_question(drawn: list[object]) -> None:
    for slot, event, next_, effects in story(drawn):
        if not isinstance(event, Judged):
            continue
        goal = slot.active
        current = (
            goal is not None
            and goal.judgement is not None
            and (event.goal, event.generation) == (goal.id, slot.generation)
            and event.judgement == goal.judgement.id
        )
        if not current:
            assert (next_, effects) == (slot, ())
            continue
        assert goal_of(next_).judgement is None
        assert advance(next_, event) == (next_, ())


@given(LISTS)
def test_an_active_goal_that_is_told_anything_has_a_next_cause(drawn: list[object]) -> None:
    """G5: a verdict, a timer, a resume or a wake leaves an active goal with a continuation, an
    open question or a rest, unless a turn that is on its way will tell it more."""
    for _, event, next_, effects in story(drawn):
        goal = next_.active
        if goal is None:
            continue
        moved = any(isinstance(e, Continue) for e in effects)
        open_ = goal.judgement is not None or goal.wait_until is not None
        match event:
            case TurnFinished() | WaitAsked():
                assert open_
            case GoalResumed(idle=True) | GoalWoken(idle=True):
                assert moved or open_
            case Judged() | TimerFired() if effects:
                assert moved or open_
        if moved:
            assert not open_


@given(LISTS)
def test_continuations_are_never_numbered_alike(drawn: list[object]) -> None:
    seen: set[tuple[int, int, int]] = set()
    for _, _, next_, effects in story(drawn):
        for effect in effects:
            if isinstance(effect, Continue):
                key = (goal_of(next_).id, next_.generation, effect.number)
                assert key not in seen
                seen.add(key)


@given(LISTS)
def test_the_floor_only_sinks_until_a_resume(drawn: list[object]) -> None:
    for slot, event, next_, _ in story(drawn):
        old, new = slot.goal, next_.goal
        if old is None or new is None or old.id != new.id or isinstance(event, GoalResumed):
            continue
        assert not (old.floor is Role.MEMBER and new.floor is Role.OWNER)


@given(LISTS)
def test_a_goals_rights_are_never_above_those_it_was_set_with_nor_its_resumers(
    drawn: list[object],
) -> None:
    first: dict[int, Role] = {}
    for slot, event, next_, _ in story(drawn):
        goal = next_.goal
        if goal is None:
            continue
        if isinstance(event, GoalSet):
            first[goal.id] = event.by.role
        assert lowest(goal.rights.role, first[goal.id]) is goal.rights.role
        if isinstance(event, GoalResumed):
            assert lowest(goal.rights.role, event.by.role) is goal.rights.role
            old = goal_of(slot).setter
            assert goal.setter == old or (event.by.role is Role.OWNER and goal_of(slot).orphaned)


@given(LISTS)
def test_a_slot_survives_its_stored_form(drawn: list[object]) -> None:
    for _, _, slot, _ in story(drawn):
        text = codec.dump(slot)
        assert codec.load(text) == slot
        assert codec.dump(codec.load(text)) == text


TEXT = st.text(max_size=40)


@given(
    TEXT,
    st.lists(st.tuples(TEXT, TEXT)).map(tuple),
    st.lists(TEXT).map(tuple),
    st.builds(
        Budget,
        turns=st.integers(1, 10**6),
        tokens=st.none() | st.integers(1, 10**12),
        cost=st.none() | st.floats(0.01, 1e9),
        seconds=st.none() | st.floats(0.01, 1e9),
    ),
)
def test_any_text_and_budget_survive_the_stored_form(
    text: str,
    contract: tuple[tuple[str, str], ...],
    criteria: tuple[str, ...],
    budget: Budget,
) -> None:
    by = Principal("1", text, Role.MEMBER)
    event = GoalSet(id=1, text=text, by=by, contract=contract, budget=budget)
    slot, _ = after(Slot(), event, CriteriaChanged(criteria, Role.OWNER), finished(1))
    assert codec.load(codec.dump(slot)) == slot


def test_a_goal_stored_before_setters_could_be_let_out_is_read() -> None:
    slot = was_set()
    text = codec.dump(slot)
    older = text.replace(', "orphaned": false', "")
    assert older != text
    assert codec.load(older) == slot


def test_a_form_of_a_newer_version_is_refused() -> None:
    with pytest.raises(ValueError, match="form 2"):
        codec.load('{"form": 2, "generation": 0, "goal": null}')


@pytest.mark.soak
@settings(max_examples=5_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(EVENTS, max_size=80))
def test_all_of_it_again_and_longer(drawn: list[object]) -> None:
    for check in (
        test_a_status_changes_only_along_the_table,
        test_the_generation_never_goes_back_and_every_exit_and_every_set_raises_it,
        test_a_goal_that_is_not_active_has_nothing_open_and_orders_nothing,
        test_a_cleared_goal_never_returns,
        test_only_goal_turns_cost_the_budget_and_no_verdict_continues_beyond_it,
        test_a_verdict_is_applied_once_and_only_to_the_open_question,
        test_an_active_goal_that_is_told_anything_has_a_next_cause,
        test_a_slot_survives_its_stored_form,
    ):
        check.hypothesis.inner_test(drawn)  # type: ignore[attr-defined]
