"""How often a chat may be written to."""

from __future__ import annotations

from adapters.telegram.pacing import Pacing
from tests.fakes.telegram_rig import HeldClock

GROUP = -100
PERSON = 7


def made() -> tuple[Pacing, HeldClock]:
    clock = HeldClock()
    return Pacing(clock, group_per_minute=20, progress_gap_s=1.0), clock


def test_a_cool_down_ends_by_itself_and_touches_one_chat() -> None:
    pacing, clock = made()
    pacing.cool(PERSON, 5.0)
    assert pacing.wait_s(PERSON) == 5.0
    assert pacing.wait_s(GROUP) == 0.0
    clock.at += 5.0
    assert pacing.wait_s(PERSON) == 0.0


def test_the_twenty_first_message_of_a_group_waits_for_the_first_to_be_a_minute_old() -> None:
    pacing, clock = made()
    for _ in range(20):
        assert pacing.wait_s(GROUP) == 0.0
        pacing.spend(GROUP)
        clock.at += 1.0
    assert pacing.wait_s(GROUP) == 40.0
    clock.at += 40.0
    assert pacing.wait_s(GROUP) == 0.0


def test_a_person_has_no_such_limit() -> None:
    pacing, _ = made()
    for _ in range(100):
        pacing.spend(PERSON)
    assert pacing.wait_s(PERSON) == 0.0


def test_progress_keeps_its_distance_and_leaves_room() -> None:
    pacing, clock = made()
    assert pacing.take_progress(PERSON)
    assert not pacing.take_progress(PERSON)
    clock.at += 1.0
    assert pacing.take_progress(PERSON)
    taken = 0
    for _ in range(14):
        taken += pacing.take_progress(GROUP)
        clock.at += 4.0
    assert taken == 14
    assert not pacing.take_progress(GROUP)
    assert pacing.wait_s(GROUP) == 0.0


def test_a_refused_reaction_holds_up_no_answer() -> None:
    pacing, _ = made()
    pacing.cool(PERSON, 9.0, extras_only=True)
    assert not pacing.extras_allowed(PERSON)
    assert not pacing.take_progress(PERSON)
    assert pacing.wait_s(PERSON) == 0.0


def test_groups_whose_minute_has_passed_are_forgotten() -> None:
    pacing, clock = made()
    for chat in range(1, 2002):
        pacing.spend(-chat)
    clock.at += 60.0
    pacing.spend(GROUP)
    assert list(pacing._sent) == [GROUP]
