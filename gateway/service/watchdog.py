"""Keeps systemd informed: ready, well, stopping.

The watchdog is fed only while the platforms are healthy, so that a program which hears nobody
any more is restarted even though its process lives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

import structlog

from gateway.health.vitals import Report, Vitals

log = structlog.get_logger(__name__)

READY_S = 20.0
"""A platform that cannot connect does not make the start fail: it goes on trying."""
LOOK_S = 10.0
FIRST_LOOK_S = 0.1


class Told(Protocol):
    """Who is informed; see `gateway.service.notify.Notifier`."""

    def ready(self, status: str) -> None:
        """The service works."""
        ...

    def alive(self) -> None:
        """It is well."""
        ...

    def status(self, text: str) -> None:
        """How it is, in a line."""
        ...

    def stopping(self) -> None:
        """It has begun to end."""
        ...


class Watchdog:
    """Looks at the vitals and tells; `run` is its life. `watchdog_s` is how long systemd waits
    for a sign, 0 where it does not."""

    def __init__(
        self, told: Told, vitals: Vitals, monotonic: Callable[[], float], watchdog_s: float
    ) -> None:
        self._told = told
        self._vitals = vitals
        self._monotonic = monotonic
        # Half of the time is what sd_watchdog_enabled(3) advises; a third survives a lost one.
        self._period_s = min(LOOK_S, watchdog_s / 3) if watchdog_s else LOOK_S
        self._feeds = watchdog_s > 0
        self._last = ""
        self._was_well = True

    async def run(self) -> None:
        """Inform until cancelled."""
        await self._wait_until_ready()
        while not await self._stopped_within(self._period_s):
            self._look(self._vitals.report())
        self._told.stopping()
        while True:  # the end is bounded by the program itself, and may outlast the watchdog
            self._feed()
            await asyncio.sleep(self._period_s)

    async def _wait_until_ready(self) -> None:
        deadline = self._monotonic() + READY_S
        while not self._vitals.report().ready and self._monotonic() < deadline:
            if await self._stopped_within(FIRST_LOOK_S):
                return
        self._last = self._vitals.report().summary
        self._told.ready(self._last)
        self._feed()

    async def _stopped_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._vitals.stopping.wait()
        except TimeoutError:
            return False
        return True

    def _look(self, report: Report) -> None:
        if report.well:
            self._feed()
        elif self._was_well and self._feeds:
            log.error("watchdog_not_fed", platforms=report.summary)
        self._was_well = report.well
        if report.summary != self._last:
            self._last = report.summary
            self._told.status(report.summary)

    def _feed(self) -> None:
        if self._feeds:
            self._told.alive()
