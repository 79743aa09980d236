"""The life of an escalation, held to its table and its invariants by whatever may happen to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.escalations import texts
from core.escalations.events import (
    Answered,
    Applied,
    Audit,
    CardAdopted,
    CardSent,
    Confirm,
    EditCards,
    EscalationEffect,
    EscalationEvent,
    LaterPressed,
    Reject,
    Remind,
    ReminderSent,
    Restarted,
    Resume,
    SendCard,
    SendFailed,
    SetTimer,
    Stopped,
    TimeCame,
    Trail,
)
from core.escalations.machine import (
    DRIFT_S,
    EDGES,
    HOLD_S,
    IllegalTransition,
    advance,
    due,
)
from core.escalations.outcome import Outcome, outcome, told
from core.escalations.record import (
    GRACE_S,
    REMINDERS_S,
    SETTLED,
    Answer,
    Approved,
    Chose,
    Denied,
    Escalation,
    Kind,
    OnTimeout,
    Purpose,
    State,
    Wrote,
)
from core.messages import RemoteId
from tests.fakes.escalated import ANNA, BELA, CARL, NOW, command, escalation, shorter, shown

CARD, COPY = RemoteId("card-7"), RemoteId("card-7b")
DAY = 86_400.0
YES = Answered(ANNA, Approved(), NOW + 60)


def effects_of(one: Escalation, event: EscalationEvent) -> tuple[EscalationEffect, ...]:
    return advance(one, event)[1]


def after(one: Escalation, *events: EscalationEvent) -> Escalation:
    for event in events:
        one, _ = advance(one, event)
    return one


def test_an_answer_edits_every_card_ends_the_timer_and_resumes_the_work() -> None:
    opened = after(shown(escalation()), CardAdopted(COPY, NOW + 5))
    done, effects = advance(opened, YES)
    assert (done.state, done.decider, done.answer) == (State.ANSWERED, ANNA, Approved())
    line = "✓ E7 approved by Anna, 2023-11-14 22:14 UTC"
    assert effects == (
        Audit(Trail.ANSWERED, ANNA),
        SetTimer(None),
        EditCards((CARD, COPY), line),
        Resume(),
        Confirm(line, ANNA),
    )


def test_of_forty_presses_the_first_wins_and_the_others_are_told_who_decided() -> None:
    one, _ = advance(shown(escalation()), YES)
    for number in range(39):
        late = Answered(BELA, Denied(), NOW + 61 + number)
        again, effects = advance(one, late)
        assert again == one
        assert effects == (Audit(Trail.LATE, BELA), Reject(texts.late(one), BELA))
    assert "approved by Anna" in texts.late(one)


def test_who_may_not_answer_is_refused_in_private_and_the_card_stays() -> None:
    opened = shown(command())
    for event in (Answered(BELA, Approved(), NOW), LaterPressed(BELA, NOW)):
        same, effects = advance(opened, event)
        assert same == opened
        assert effects == (Audit(Trail.REFUSED, BELA), Reject(texts.not_yours(opened), BELA))


def test_the_requester_answers_a_question_and_another_member_does_not() -> None:
    opened = shown(escalation())
    assert after(opened, Answered(BELA, Approved(), NOW)).decider == BELA
    assert after(opened, Answered(CARL, Approved(), NOW)).state is State.OPEN


def test_nobody_approves_what_was_not_shown_yet() -> None:
    same, effects = advance(escalation(), YES)
    assert same == escalation()
    assert Reject(texts.not_shown_yet(same), ANNA) in effects


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        (Kind.APPROVE, Wrote("yes")),
        (Kind.APPROVE, Chose(0, "Red")),
        (Kind.CHOOSE, Approved()),
        (Kind.CHOOSE, Chose(3, "Black")),
        (Kind.CHOOSE, Chose(0, "Blue")),
        (Kind.CHOOSE, Chose(-1, "Blue")),
        (Kind.TEXT, Approved()),
        (Kind.TEXT, Wrote("  ")),
    ],
)
def test_an_answer_of_another_kind_is_a_fault_and_changes_nothing(
    kind: Kind, answer: Answer
) -> None:
    with pytest.raises(IllegalTransition, match="Answered of E7 while open"):
        advance(shown(escalation(kind)), Answered(ANNA, answer, NOW))


def test_an_applied_one_cannot_be_applied_again() -> None:
    applied = after(shown(escalation()), YES, Applied(NOW + 61))
    assert applied.state is State.APPLIED
    for one in (applied, escalation(), shown(escalation())):
        with pytest.raises(IllegalTransition):
            advance(one, Applied(NOW + 62))


def test_a_card_whose_sending_was_in_doubt_is_adopted_by_a_press_and_then_answered() -> None:
    adopted, effects = advance(escalation(), CardAdopted(COPY, NOW + 9))
    assert adopted.state is State.OPEN
    assert Audit(Trail.ADOPTED, detail=COPY) in effects
    assert EditCards((COPY,), texts.decision(after(adopted, YES))) in effects_of(adopted, YES)


def test_the_decision_stands_in_the_reminders_too() -> None:
    again = RemoteId("reminder-2")
    opened = after(shown(escalation()), ReminderSent(COPY), ReminderSent(again))
    done, effects = advance(opened, YES)
    assert EditCards((CARD, COPY, again), texts.decision(done)) in effects
    late = RemoteId("reminder-3")
    told_late, effects = advance(done, ReminderSent(late))
    assert effects == (EditCards((late,), texts.decision(done)),)
    assert told_late.shown_in(late)


def test_a_copy_that_arrives_after_the_decision_is_given_the_decision() -> None:
    for done in (after(shown(escalation()), YES), after(shown(escalation()), YES, Applied(NOW))):
        late, effects = advance(done, CardSent(COPY, NOW + 90))
        assert EditCards((COPY,), texts.decision(done)) in effects
        assert late.state is done.state


def test_a_card_sent_after_a_stop_shows_that_it_was_stopped() -> None:
    stopped = after(escalation(), Stopped(NOW, ANNA))
    assert EditCards((CARD,), texts.decision(stopped)) in effects_of(stopped, CardSent(CARD, NOW))


def test_the_same_message_told_twice_changes_nothing() -> None:
    opened = after(shown(escalation()), ReminderSent(COPY))
    for event in (CardSent(CARD, NOW), CardAdopted(CARD, NOW), ReminderSent(COPY)):
        assert advance(opened, event) == (opened, ())


def test_reminders_come_after_15_minutes_and_2_hours_and_then_the_expiry() -> None:
    one, effects = advance(escalation(), CardSent(CARD, NOW))
    assert SetTimer(NOW + 900) in effects
    one, effects = advance(one, TimeCame(NOW + 900))
    assert effects[0] == Remind(1)
    assert SetTimer(NOW + 7200) in effects
    one, effects = advance(one, TimeCame(NOW + 7200))
    assert effects[0] == Remind(2)
    assert SetTimer(NOW + DAY) in effects
    one, effects = advance(one, TimeCame(NOW + DAY))
    assert one.state is State.EXPIRED
    assert Resume() in effects


def test_later_quiets_the_reminders_and_not_the_expiry() -> None:
    quiet, effects = advance(shown(escalation()), LaterPressed(BELA, NOW + 1))
    assert SetTimer(NOW + DAY) in effects
    assert Confirm(texts.quieted(quiet), BELA) in effects
    for when in REMINDERS_S:
        quiet, effects = advance(quiet, TimeCame(NOW + when))
        assert effects == (SetTimer(NOW + DAY),)
    assert effects_of(quiet, LaterPressed(BELA, NOW)) == (Confirm(texts.quieted(quiet), BELA),)
    assert after(quiet, TimeCame(NOW + DAY)).state is State.EXPIRED


def test_of_two_reminders_missed_while_the_bot_was_down_only_one_is_sent() -> None:
    one, effects = advance(shown(escalation()), TimeCame(NOW + 8000))
    assert [e for e in effects if isinstance(e, Remind)] == [Remind(2)]
    assert effects_of(one, TimeCame(NOW + 8001)) == (SetTimer(NOW + DAY),)


def test_no_reminder_is_repeated_when_the_clock_goes_back() -> None:
    one = after(shown(escalation()), TimeCame(NOW + 8000))
    assert effects_of(one, TimeCame(NOW + 1000)) == (SetTimer(NOW + DAY),)


def test_a_timer_that_comes_too_early_is_set_again() -> None:
    opened = shown(escalation())
    assert advance(opened, TimeCame(NOW + 899)) == (opened, (SetTimer(NOW + 900),))


@pytest.mark.parametrize("seconds", [1, 60, GRACE_S - 1])
def test_a_card_never_expires_within_15_minutes_of_being_sent(seconds: float) -> None:
    opened = shown(shorter(escalation(), seconds), at=NOW + 5000)
    assert after(opened, TimeCame(NOW + 5000 + GRACE_S - 1)).state is State.OPEN
    assert after(opened, TimeCame(NOW + 5000 + GRACE_S)).state is State.EXPIRED


def test_a_second_copy_gives_the_grace_anew() -> None:
    opened = after(shown(shorter(escalation(), 60)), CardSent(COPY, NOW + 800))
    assert after(opened, TimeCame(NOW + GRACE_S)).state is State.OPEN
    assert due(opened) == NOW + 900


def test_what_expired_while_the_bot_was_down_stays_open_for_15_minutes_after_start_up() -> None:
    up = NOW + 2 * DAY
    one, effects = advance(shown(escalation()), Restarted(up))
    assert isinstance(effects[0], SetTimer)
    assert after(one, TimeCame(up + GRACE_S - 1)).state is State.OPEN
    assert after(one, TimeCame(up + GRACE_S)).state is State.EXPIRED


def test_an_expiry_waits_5_minutes_for_drifting_clocks_and_once_for_each_drift() -> None:
    reminded = after(shown(escalation()), TimeCame(NOW + 7200))
    one, effects = advance(reminded, TimeCame(NOW + DAY, drift_s=DRIFT_S + 1))
    assert one.state is State.OPEN
    assert SetTimer(NOW + DAY + HOLD_S) in effects
    assert Audit(Trail.HELD, detail="the clocks differ by 61 s") in effects
    last = NOW + DAY + HOLD_S
    assert after(one, TimeCame(last - 1, drift_s=61)).state is State.OPEN
    assert after(one, TimeCame(last, drift_s=61)).state is State.EXPIRED
    jumped = after(one, TimeCame(last, drift_s=-DAY))
    assert jumped.state is State.OPEN


def test_a_drift_of_a_minute_is_none() -> None:
    assert after(shown(escalation()), TimeCame(NOW + DAY, drift_s=60.0)).state is State.EXPIRED


def test_an_answer_that_comes_before_the_sweep_of_an_expired_one_still_counts() -> None:
    late = Answered(ANNA, Approved(), NOW + 3 * DAY)
    assert after(shown(escalation()), late).state is State.ANSWERED


@pytest.mark.parametrize("on_timeout", list(OnTimeout))
def test_expiry_is_never_a_yes(on_timeout: OnTimeout) -> None:
    one = after(shown(escalation(on_timeout=on_timeout)), TimeCame(NOW + DAY))
    assert (one.answer, outcome(one)) == (None, Outcome.UNANSWERED)
    assert "That is no consent" in told(one)


def test_a_stop_cancels_what_was_answered_and_not_applied_and_wakes_nobody() -> None:
    one, effects = advance(after(shown(escalation()), YES), Stopped(NOW + 61, ANNA))
    assert (one.state, outcome(one)) == (State.CANCELLED, Outcome.CANCELLED)
    assert Resume(wake=False) in effects
    line = texts.decision(one)
    assert EditCards((CARD,), line) in effects
    assert "approved by Anna before, nothing of it was done" in line
    assert advance(one, Stopped(NOW + 62)) == (one, ())


def test_a_stop_after_it_was_applied_changes_nothing() -> None:
    applied = after(shown(escalation()), YES, Applied(NOW + 61))
    assert advance(applied, Stopped(NOW + 62)) == (applied, ())


def test_what_cannot_be_sent_is_undeliverable_and_the_work_is_told() -> None:
    one, effects = advance(escalation(), SendFailed(NOW + 9, "the chat is gone"))
    assert outcome(one) is Outcome.UNDELIVERABLE
    assert Resume() in effects
    assert not any(isinstance(effect, EditCards) for effect in effects)
    opened = shown(escalation())
    assert advance(opened, SendFailed(NOW, "a copy failed")) == (opened, ())


def test_after_a_restart_the_unsent_is_sent_and_the_decided_is_told_again() -> None:
    assert effects_of(escalation(), Restarted(NOW)) == (SendCard(),)
    answered = after(shown(escalation()), YES)
    assert advance(answered, Restarted(NOW + 90)) == (answered, (Resume(),))
    stopped = after(escalation(), Stopped(NOW))
    assert effects_of(stopped, Restarted(NOW)) == (Resume(wake=False),)
    applied = after(answered, Applied(NOW + 91))
    assert effects_of(applied, Restarted(NOW + 92)) == ()


# What holds whatever happens.

PEOPLE = st.sampled_from([ANNA, BELA, CARL])
TIMES = st.floats(NOW, NOW + 3 * DAY)
REMOTES = st.sampled_from([CARD, COPY, RemoteId("card-7c")])
ANSWERS: st.SearchStrategy[Answer] = st.one_of(
    st.just(Approved()),
    st.builds(Denied, st.sampled_from(["", "no"])),
    st.builds(Chose, st.integers(-1, 3), st.sampled_from(["Red", "Green", "Blue"])),
    st.builds(Wrote, st.sampled_from(["", "words"])),
)
EVENTS: st.SearchStrategy[EscalationEvent] = st.one_of(
    st.builds(CardSent, REMOTES, TIMES),
    st.builds(CardAdopted, REMOTES, TIMES),
    st.builds(ReminderSent, REMOTES),
    st.builds(Answered, PEOPLE, ANSWERS, TIMES),
    st.builds(LaterPressed, PEOPLE, TIMES),
    st.builds(TimeCame, TIMES, st.sampled_from([0.0, 61.0, -4000.0])),
    st.builds(Stopped, TIMES, st.none() | PEOPLE),
    st.builds(SendFailed, TIMES, st.just("gone")),
    st.builds(Restarted, TIMES),
    st.builds(Applied, TIMES),
)
ESCALATIONS = st.builds(
    escalation,
    st.sampled_from(Kind),
    st.sampled_from(Purpose),
    on_timeout=st.sampled_from(OnTimeout),
)
LISTS = st.lists(EVENTS, max_size=25)
Told = list[tuple[Escalation, EscalationEvent, Escalation, tuple[EscalationEffect, ...]]]


def story(one: Escalation, events: Sequence[EscalationEvent]) -> Told:
    """What the events do one after the other; illegal ones change nothing."""
    told_so_far: Told = []
    for event in events:
        try:
            next_, effects = advance(one, event)
        except IllegalTransition:
            continue
        told_so_far.append((one, event, next_, effects))
        one = next_
    return told_so_far


@given(ESCALATIONS, LISTS)
def test_a_state_changes_only_along_the_table(
    first: Escalation, events: list[EscalationEvent]
) -> None:
    for old, _, new, _ in story(first, events):
        assert new.state is old.state or new.state in EDGES[old.state]


@given(ESCALATIONS, LISTS)
def test_it_is_answered_at_most_once_and_only_by_who_may_while_it_is_open(
    first: Escalation, events: list[EscalationEvent]
) -> None:
    answers = 0
    for old, event, new, effects in story(first, events):
        if new.answer != old.answer or new.decider != old.decider:
            answers += 1
            assert old.state is State.OPEN
            assert isinstance(event, Answered)
            assert (new.answer, new.decider) == (event.answer, event.by)
            assert old.admits(event.by)
            assert old.fits(event.answer)
            assert any(isinstance(effect, Confirm) for effect in effects)
        elif isinstance(event, Answered):
            assert new == old
            assert any(isinstance(e, Reject) and e.to == event.by for e in effects)
    assert answers <= 1


@given(ESCALATIONS, LISTS)
def test_without_a_persons_own_yes_nothing_is_approved(
    first: Escalation, events: list[EscalationEvent]
) -> None:
    silent = [event for event in events if not isinstance(event, Answered)]
    for _, _, new, _ in story(first, silent):
        assert new.answer is None
        assert outcome(new) in {
            None,
            Outcome.UNANSWERED,
            Outcome.UNDELIVERABLE,
            Outcome.CANCELLED,
        }


@given(ESCALATIONS, LISTS)
def test_a_decision_reaches_every_card_the_timer_and_the_work(
    first: Escalation, events: list[EscalationEvent]
) -> None:
    for old, _, new, effects in story(first, events):
        if new.state is old.state or new.state not in SETTLED:
            continue
        assert SetTimer(None) in effects
        assert Resume(wake=new.ending is not State.CANCELLED) in effects
        edited = [effect.remotes for effect in effects if isinstance(effect, EditCards)]
        assert edited == ([new.messages] if new.messages else [])


@given(ESCALATIONS, LISTS)
def test_an_open_one_always_has_a_timer_that_is_due(
    first: Escalation, events: list[EscalationEvent]
) -> None:
    timer: float | None = None
    for _, _, new, effects in story(first, events):
        for effect in effects:
            if isinstance(effect, SetTimer):
                timer = effect.due
        assert timer == due(new)


@given(ESCALATIONS, LISTS)
def test_no_card_expires_within_the_grace_after_it_was_sent_or_the_start(
    first: Escalation, events: list[EscalationEvent]
) -> None:
    up = 0.0
    for old, event, new, _ in story(first, events):
        if isinstance(event, Restarted) and old.state is State.OPEN:
            up = max(up, event.now)
        if new.state is State.EXPIRED and old.state is State.OPEN:
            assert isinstance(event, TimeCame)
            assert all(event.now >= copy.at + GRACE_S for copy in old.copies)
            assert event.now >= up + GRACE_S


@given(ESCALATIONS, LISTS, st.booleans())
def test_every_escalation_ends(
    first: Escalation, events: list[EscalationEvent], sent: bool
) -> None:
    """Once the outbox has told of the card, only the timer is needed."""
    told_so_far = story(first, events)
    one = told_so_far[-1][2] if told_so_far else first
    end = NOW + 4 * DAY
    if one.state is State.PENDING_SEND:
        event = CardSent(CARD, end) if sent else SendFailed(end, "gone")
        one, _ = advance(one, event)
    for _ in range(6):
        when = due(one)
        if when is not None:
            one, _ = advance(one, TimeCame(when, drift_s=90.0))
    assert one.state in SETTLED | {State.APPLIED}
    if one.state is not State.APPLIED:
        assert after(one, Applied(end)).state is State.APPLIED


@given(ESCALATIONS, LISTS)
def test_an_illegal_event_changes_nothing(
    first: Escalation, events: list[EscalationEvent]
) -> None:
    before = replace(first)
    story(first, events)
    assert first == before
