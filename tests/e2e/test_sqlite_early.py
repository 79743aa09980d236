"""The store on a real disk: signals come at the commit, the answer when it is safe."""

from __future__ import annotations

from pathlib import Path

from adapters.sqlite.store import SqliteStore
from core.messages import Address, PlatformName, Principal, Role
from core.sessions.arrivals import Arrival, Said
from core.sessions.ports import Begun, Signals
from gateway.clock import SystemClock

LANE = Address(PlatformName.TELEGRAM, "bot", "1").key
ANNA = Principal("1", "Anna", Role.OWNER)


def hello(number: int) -> Arrival:
    return Arrival(LANE, f"tg:1:{number}", ANNA, Said({"name": "Anna", "text": "hello"}))


async def test_signals_come_before_the_batch_is_safe_and_once(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, clock=SystemClock(), run="r")
    await store.open()
    early: list[Signals] = []
    try:
        _, signals = await store.accept([hello(1)], cursor=None, now=1.0, early=early.append)
        assert early == [signals]
        begun, _ = await store.begin(LANE, now=1.0, collect=False)
        assert isinstance(begun, Begun)
    finally:
        await store.close()


async def test_a_write_that_waits_for_nobody_is_there_after_a_restart(tmp_path: Path) -> None:
    first = SqliteStore(tmp_path, clock=SystemClock(), run="r1")
    await first.open()
    await first.accept([hello(1)], cursor=None, now=1.0)
    begun, _ = await first.begin(LANE, now=1.0, collect=False)
    await first.close()
    second = SqliteStore(tmp_path, clock=SystemClock(), run="r2")
    await second.open()
    try:
        again, _ = await second.begin(LANE, now=2.0, collect=False)
    finally:
        await second.close()
    assert isinstance(begun, Begun)
    assert isinstance(again, Begun)
    assert (again.turn.id, again.turn.attempt) == (begun.turn.id, 2)
