"""How long chats have to wait, and that who waits no longer is forgotten."""

from __future__ import annotations

from core.cooldowns import FORGET_OVER, CoolDowns
from tests.fakes.telegram_rig import HeldClock


def test_a_cool_down_is_one_keys_and_ends() -> None:
    clock = HeldClock()
    waits = CoolDowns[str](clock)
    waits.cool("a", 30.0)
    assert (waits.wait_s("a"), waits.wait_s("b")) == (30.0, 0.0)
    clock.at += 29.0
    assert waits.wait_s("a") == 1.0
    clock.at += 1.0
    assert waits.wait_s("a") == 0.0
    clock.at += 1.0
    assert waits.wait_s("a") == 0.0


def test_a_short_cool_down_never_ends_a_long_one() -> None:
    waits = CoolDowns[str](HeldClock())
    for seconds in (5.0, 30.0, 5.0):
        waits.cool("a", seconds)
    assert waits.wait_s("a") == 30.0


def test_what_has_passed_is_forgotten_and_nothing_else() -> None:
    clock = HeldClock()
    waits = CoolDowns[int](clock)
    for key in range(FORGET_OVER):
        waits.cool(key, 60.0 if key % 2 else 1.0)
    clock.at += 1.0
    waits.cool(-1, 1.0)
    assert sorted(waits._until) == [-1, *range(1, FORGET_OVER, 2)]


def test_a_crowd_that_waits_is_kept_and_not_gone_through_at_every_call() -> None:
    clock = HeldClock()
    waits = CoolDowns[int](clock)
    crowd, later = range(2 * FORGET_OVER), range(2 * FORGET_OVER, 3 * FORGET_OVER)
    for key in crowd:
        waits.cool(key, 60.0)
    assert all(waits.wait_s(key) for key in crowd)
    clock.at += 60.0
    waits.cool(later[0], 1.0)
    assert len(waits._until) == len(crowd) + 1
    for key in later:
        waits.cool(key, 1.0)
    assert sorted(waits._until) == list(later)
