"""The program's life: start in order, run until told to stop, end within bounds.

It knows ports only; `gateway.compose` builds the parts.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import structlog

from core.errors import PursuitError
from core.ports import Platform
from core.sessions.ports import Store
from gateway.card import Cards
from gateway.delivery import Delivery
from gateway.health.vitals import Vitals
from gateway.judging import Court
from gateway.lanes import Lanes
from gateway.narrator import Narrator
from gateway.platforms import Platforms, supervise
from gateway.router import Router

log = structlog.get_logger(__name__)

FINISH_S = 20.0
FLUSH_S = 3.0
"""With the platforms' own close before and the store's after, an end takes less than 30 s."""
NO_PLATFORM = (
    "Nothing to run: no platform is enabled, and platforms.web.enabled is false. Leave that key "
    "out for the web chat, enable a platform in config.yaml, or talk here with: pursuit chat"
)

Close: TypeAlias = Callable[[], Awaitable[None]]
Life: TypeAlias = Callable[[], Coroutine[object, object, None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of a running program. `console` ends the program when the person leaves;
    `finish_s` is how long running turns get at the end; `beside` are eternal lives, by name, that
    look on until everything has ended; `closers` run last, in order."""

    store: Store
    platforms: Platforms
    router: Router
    lanes: Lanes
    delivery: Delivery
    narrator: Narrator
    cards: Cards
    court: Court
    load: Callable[[], Coroutine[object, object, None]]
    vitals: Vitals
    beside: Mapping[str, Life] = field(default_factory=dict)
    console: Platform | None = None
    finish_s: float = FINISH_S
    closers: tuple[Close, ...] = field(default=())


class Program:
    """Runs the parts once."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._stop = parts.vitals.stopping
        self._failed: list[PursuitError] = []

    async def run(self) -> None:
        """Run until a signal, or until the console's person has left.

        Raises a platform's error when every one of them is down for good.
        """
        try:
            self._listen_to_signals()
            async with asyncio.TaskGroup() as core:
                running = self._start_core(core)
                await self._receive()
                await self._finish()
                for task in running:
                    task.cancel()
        finally:
            for close in self._parts.closers:
                await close()
        if self._failed and not self._stop.is_set():
            raise self._failed[-1]

    def _start_core(self, core: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        """Start all that works on what was accepted; eternal, so each is cancelled at the end."""
        parts = self._parts
        backlogs = {p.name: parts.router.backlog(p.name) for p in parts.platforms}
        lives: tuple[tuple[Coroutine[object, object, None], str], ...] = (
            (parts.narrator.run(), "narrator"),
            (parts.delivery.run(), "delivery"),
            (parts.cards.run(), "cards"),
            (parts.court.run(), "judge"),
            (parts.lanes.run(), "lanes"),
            (parts.lanes.start(backlogs), "take-up"),
            (parts.load(), "models"),
            *((life(), name) for name, life in parts.beside.items()),
        )
        return [core.create_task(life, name=name) for life, name in lives]

    async def _receive(self) -> None:
        """Receive on every platform until told to stop or until none is left."""
        async with asyncio.TaskGroup() as receivers:
            tasks = [
                receivers.create_task(self._keep(platform), name=f"platform {platform.name}")
                for platform in self._parts.platforms
            ]
            stop = receivers.create_task(self._stop.wait(), name="stop")
            everyone = receivers.create_task(_all(tasks), name="platforms")
            await asyncio.wait({stop, everyone}, return_when=asyncio.FIRST_COMPLETED)
            for task in (*tasks, stop, everyone):
                task.cancel()

    async def _keep(self, platform: Platform) -> None:
        try:
            await supervise(platform, self._parts.router)
        except PursuitError as error:
            self._failed.append(error)
            self._parts.vitals.down(platform.name, str(error))
            if self._stop.is_set() or len(self._failed) < len(list(self._parts.platforms)):
                # The last one's error is what ends the program, and is told then.
                log.error("platform_down", platform=platform.name, error=str(error))
        if platform is self._parts.console:
            self._stop.set()

    async def _finish(self) -> None:
        """Let running turns end and answers go out, within bounds; the rest goes on at the
        next start."""
        await self._parts.lanes.finish(self._parts.finish_s)
        try:
            async with asyncio.timeout(FLUSH_S):
                await self._parts.delivery.flushed()
        except TimeoutError:
            log.warning("unsent_at_exit")

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._told_to_stop)

    def _told_to_stop(self) -> None:
        if self._stop.is_set():
            os._exit(0)  # told twice: now; the store survives that
        if self._parts.console is None:
            log.info("stopping")
        self._stop.set()


async def _all(tasks: list[asyncio.Task[None]]) -> None:
    await asyncio.wait(tasks)
