"""What systemd is told: decided by the platforms' health, spoken over a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from core.messages import PlatformName
from core.ports import Health
from gateway.health.vitals import GRACE_S, PATIENCE_S, Reading, Report, State, Vitals
from gateway.service.notify import Notifier
from gateway.service.watchdog import Watchdog
from tests.fakes.patient import Patient
from tests.fakes.service_manager import FakeServiceManager
from tests.fakes.telegram_rig import RealClock

QUICK_S = 0.03


@asynccontextmanager
async def watched(*platforms: Patient) -> AsyncIterator[tuple[Vitals, FakeServiceManager]]:
    """A watchdog at work on platforms, and the manager that hears it."""
    vitals = Vitals(platforms)
    async with FakeServiceManager() as manager, asyncio.TaskGroup() as group:
        told = Notifier(manager.address)
        dog = Watchdog(told, vitals, RealClock().monotonic, QUICK_S)
        task = group.create_task(dog.run(), name="watchdog")
        yield vitals, manager
        task.cancel()


async def test_a_platform_that_went_deaf_is_not_fed_for_and_one_that_recovers_is() -> None:
    telegram = Patient(PlatformName.TELEGRAM)
    async with watched(telegram) as (_, manager):
        await manager.hear("WATCHDOG", times=2)
        telegram.is_now = Health(ok=False, silent_s=GRACE_S + 1, detail="silent for 121 s")
        status = await manager.hear("STATUS", times=2)
        assert status["STATUS"] == "telegram failing (silent for 121 s)"
        await telegram.looked_at(5)
        fed = manager.count("WATCHDOG")
        telegram.is_now = Health(ok=True, silent_s=0, detail="connected")
        await manager.hear("STATUS", times=3)
        await manager.hear("WATCHDOG", times=fed + 2)
        order = [next(iter(message)) for message in manager.told]
        deaf = next(n for n, message in enumerate(manager.told) if "failing" in str(message))
        well = next(n for n, m in enumerate(manager.told) if n > deaf and "STATUS" in m)
        assert "WATCHDOG" not in order[deaf + 1 : well - 1]


async def test_a_stop_is_told_and_the_end_may_take_longer_than_the_watchdog() -> None:
    async with watched(Patient(PlatformName.TELEGRAM)) as (vitals, manager):
        await manager.hear("READY")
        vitals.stopping.set()
        await manager.hear("STOPPING")
        fed = manager.count("WATCHDOG")
        await manager.hear("WATCHDOG", times=fed + 3)


async def test_a_manager_that_is_gone_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    Notifier("/nowhere/notify").alive()
    assert "the service manager was not told WATCHDOG=1" in caplog.text


async def test_a_status_has_one_line() -> None:
    async with FakeServiceManager() as manager:
        Notifier(manager.address).status("two\nREADY=1")
        assert await manager.hear("STATUS") == {"STATUS": "two READY=1"}


def reading(name: PlatformName, state: State, silent_s: float = 0.0) -> Reading:
    return Reading(name, state, silent_s, "words")


TELEGRAM, SLACK = PlatformName.TELEGRAM, PlatformName.SLACK


@pytest.mark.parametrize(
    ("readings", "well", "ready"),
    [
        ([reading(TELEGRAM, State.UP)], True, True),
        ([reading(TELEGRAM, State.FAILING, GRACE_S)], True, False),
        ([reading(TELEGRAM, State.FAILING, GRACE_S + 1)], False, False),
        ([reading(TELEGRAM, State.UP), reading(SLACK, State.FAILING, GRACE_S + 1)], True, True),
        (
            [reading(TELEGRAM, State.UP), reading(SLACK, State.FAILING, PATIENCE_S + 1)],
            False,
            True,
        ),
        ([reading(TELEGRAM, State.UP), reading(SLACK, State.DOWN, PATIENCE_S + 1)], True, True),
    ],
)
def test_one_silent_platform_is_borne_longer_while_another_is_heard(
    readings: list[Reading], well: bool, ready: bool
) -> None:
    report = Report(tuple(readings), stopping=False)
    assert (report.well, report.ready) == (well, ready)


def test_who_is_told_to_stop_takes_no_more_messages() -> None:
    assert not Report((reading(TELEGRAM, State.UP),), stopping=True).ready
