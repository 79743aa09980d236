"""The async shell round `core.sessions`: drains lanes, and acts on what commits ask for.

It decides nothing: the machine does, inside the store's transactions. It saves first and acts
second, and whatever it forgets at a crash the store tells it again at the next start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Protocol

import structlog

from core.errors import DamagedLane, Fenced, TransientError
from core.messages import Address, LaneKey, PlatformName, TurnId
from core.ports import Clock
from core.sessions.lane import Outcome, Rest
from core.sessions.ports import Begun, Dispatcher, Due, Ending, Signals, Store, Timer, TurnRef

log = structlog.get_logger(__name__)

BACKLOG_WAIT_S = 10.0
RETRY_S = 5.0
HOUSEKEEPING_S = 3600.0
LEAVING = frozenset({Outcome.ANSWERED, Outcome.PARKED})
"""What a turn started in the background may outlive these ends of it."""


class TurnWorker(Protocol):
    """Works a begun turn to its ending."""

    async def work(self, ref: TurnRef, begun: Begun) -> Ending:
        """Run the turn. A provider's or a tool's fault is an ending, not a raise."""
        ...

    async def clean_up(self, ref: TurnRef) -> None:
        """End what a cancelled turn left behind; returns when its processes are gone."""
        ...


class PerLane(Protocol):
    """Something that is done for one lane at a time."""

    def enlist(self, lane: LaneKey) -> None:
        """The lane may have something to do; idempotent and cheap."""
        ...


@dataclass(frozen=True, slots=True)
class Followers:
    """Who acts on which signal."""

    judge: PerLane
    delivery: PerLane
    card: PerLane
    stir: Callable[[], None]
    """Told of every change."""


class Lanes:
    """Turns of all lanes; `run` is its life. `collect` merges waiting messages.

    `only` names the one address of a platform that anybody is at in this run: its other lanes
    rest, for nobody would see what they do.
    """

    def __init__(
        self,
        store: Store,
        dispatcher: Dispatcher,
        clock: Clock,
        *,
        collect: bool = False,
        only: Mapping[PlatformName, Address] = MappingProxyType({}),
    ) -> None:
        self._store = store
        self._dispatcher = dispatcher
        self._clock = clock
        self._collect = collect
        self._only = only
        self._running: dict[LaneKey, tuple[TurnId, asyncio.Task[Ending]]] = {}
        self._cancelled: set[tuple[LaneKey, TurnId]] = set()
        self._timers_changed = asyncio.Event()
        self._started = asyncio.Event()
        self._closing = asyncio.Event()
        self._drains = 0
        self._drained = asyncio.Event()
        self._drained.set()
        self._open: set[PlatformName] = set()
        self._early: set[LaneKey] = set()
        self._tasks: asyncio.TaskGroup | None = None
        self._jump = clock.now() - clock.monotonic()
        self._worker: TurnWorker | None = None
        self._followers: Followers | None = None

    def attach(self, worker: TurnWorker, followers: Followers) -> None:
        """Name the parts that need the lanes themselves; once, before `run`."""
        self._worker, self._followers = worker, followers

    def follow(self, signals: Signals) -> None:
        """Act on what a commit asks for."""
        followers = self._followers
        assert followers is not None  # noqa: S101 - `attach` comes first
        for lane, turn in signals.cancel:
            self._dispatcher.signal(lane, turn)
        for lane in signals.wake:
            self._enlist(lane)
        for lane in signals.deliver:
            followers.delivery.enlist(lane)
        for lane in signals.judge:
            followers.judge.enlist(lane)
        for lane in signals.cards:
            followers.card.enlist(lane)
        if signals.timers:
            self._timers_changed.set()
        for ref in signals.ended:
            self._later(self._clean_up(ref))
        followers.stir()

    def _later(self, call: Coroutine[object, object, None]) -> None:
        if self._tasks is None:
            call.close()  # nothing runs yet, or everything ends
            return
        self._tasks.create_task(call, name="end of a parked turn")

    async def run(self) -> None:
        """Drain lanes and keep the timers until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            tasks.create_task(self._dispatcher.run(self._drain, self._cancel), name="dispatcher")
            tasks.create_task(self._keep_timers(), name="timers")
            tasks.create_task(self._keep_house(), name="housekeeping")
            try:
                await asyncio.Event().wait()
            finally:
                self._tasks = None  # a group that ends takes no tasks

    async def start(self, backlogs: Mapping[PlatformName, asyncio.Event]) -> None:
        """Take up what an earlier run left: at once what is to be sent; a platform's lanes once
        its first backlog is in, at most 10 s later, so that a /stop sent meanwhile comes first.

        Lanes of platforms that are not among `backlogs` rest in this run, and so do those of a
        platform at which another address is the only one.
        """
        found = await self._store.unfinished()
        self.follow(Signals(wake=found.lanes, deliver=found.outbox))
        async with asyncio.TaskGroup() as waits:
            for name, heard in backlogs.items():
                goals = [lane for lane in found.goals if self._is_on(lane, name)]
                waits.create_task(self._open_platform(name, heard, goals), name=f"open {name}")
        self._started.set()

    async def _open_platform(
        self, name: PlatformName, heard: asyncio.Event, goals: Collection[LaneKey]
    ) -> None:
        try:
            async with asyncio.timeout(BACKLOG_WAIT_S):
                await heard.wait()
        except TimeoutError:
            log.warning("backlog_late", platform=name)
        await self._taken_up(partial(self._store.reopen, name), platform=name)
        self._open.add(name)
        for lane in goals:
            if await self._taken_up(partial(self._store.enter_session, lane), lane=lane):
                self._enlist(lane)
        early = {lane for lane in self._early if self._is_on(lane, name)}
        self._early -= early
        for lane in early:
            self._dispatcher.enlist(lane)

    async def _taken_up(self, job: Callable[[], Awaitable[Signals]], **what: str) -> bool:
        """Do what a start does for a platform or a lane; false for a lane that cannot be read."""
        while True:
            try:
                self.follow(await job())
            except TransientError as error:
                log.error("not_taken_up", error=str(error), **what)
                await asyncio.sleep(RETRY_S)
            except DamagedLane:
                return False
            else:
                return True

    def _is_on(self, lane: LaneKey, name: PlatformName) -> bool:
        """Whether the lane is one of the platform's that may work in this run."""
        address = Address.of(lane)
        return address.platform is name and self._only.get(name, address) == address

    def _enlist(self, lane: LaneKey) -> None:
        if any(self._is_on(lane, name) for name in self._open):
            self._dispatcher.enlist(lane)
        else:
            self._early.add(lane)

    async def finish(self, within_s: float) -> None:
        """Begin nothing more and let running turns end, for at most that long. Those that did
        have been stored by then, and their answers handed to the delivery."""
        self._closing.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._drained.wait()

    @property
    def busy(self) -> Collection[LaneKey]:
        """The lanes that run a turn right now."""
        return self._running.keys()

    def cut(self, lane: LaneKey) -> None:
        """End the lane's running turn: its /stop could not be stored yet."""
        running = self._running.get(lane)
        if running is not None:
            running[1].cancel()

    def _cancel(self, lane: LaneKey, turn: TurnId) -> None:
        self._cancelled.add((lane, turn))  # its task may not stand yet, or may have just ended
        running = self._running.get(lane)
        if running is not None and running[0] == turn:
            running[1].cancel()

    async def _drain(self, lane: LaneKey) -> None:
        """Work a lane's turns, one after the other, until it has none."""
        if self._closing.is_set():
            return
        self._drains += 1
        self._drained.clear()
        try:
            await self._work(lane)
        finally:
            self._drains -= 1
            if not self._drains:
                self._drained.set()

    async def _work(self, lane: LaneKey) -> None:
        now, collect = self._clock.now(), self._collect
        try:
            next_, signals = await self._store.begin(lane, now=now, collect=collect)
        except TransientError as error:
            log.error("begin_failed", lane=lane, error=str(error))
            self._wake_at(lane, now + RETRY_S)
            return
        self.follow(signals)
        while isinstance(next_, Begun):
            ref = TurnRef(lane, next_.turn.id, next_.turn.attempt)
            ending = await self._turn(ref, next_)
            try:
                next_, signals = await self._end(ref, ending)
            except Fenced:
                log.warning("turn_fenced", lane=lane, turn=ref.turn)
                return
            finally:
                stopped = (lane, ref.turn) in self._cancelled
                self._cancelled.discard((lane, ref.turn))
            if stopped and ending.outcome in LEAVING:
                await self._clean_up(ref)  # the /stop came when it had its answer already
            self.follow(signals)
            if self._closing.is_set():
                return  # a turn that has just begun is taken up at the next start
        if next_.until is not None:
            self._wake_at(lane, next_.until)

    async def _end(self, ref: TurnRef, ending: Ending) -> tuple[Begun | Rest, Signals]:
        """Leave the turn; its work is done and must not be lost to a full disk."""
        while True:
            try:
                return await self._store.end_turn(
                    ref, ending, now=self._clock.now(), collect=self._collect
                )
            except TransientError as error:
                log.error("end_turn_failed", lane=ref.lane, turn=ref.turn, error=str(error))
                await asyncio.sleep(RETRY_S)

    def _wake_at(self, lane: LaneKey, until: float) -> None:
        delay = max(0.0, until - self._clock.now())
        asyncio.get_running_loop().call_later(delay, self._enlist, lane)

    async def _turn(self, ref: TurnRef, begun: Begun) -> Ending:
        """Run a turn in a task of its own, so that /stop can end it and nothing else."""
        worker = self._worker
        assert worker is not None  # noqa: S101 - `attach` comes first
        started = self._clock.monotonic()
        async with asyncio.TaskGroup() as group:
            task = group.create_task(worker.work(ref, begun), name=f"turn {ref.turn}")
            self._running[ref.lane] = (ref.turn, task)
            if (ref.lane, ref.turn) in self._cancelled:
                task.cancel()
            try:
                await asyncio.wait({task})
            finally:
                del self._running[ref.lane]
        seconds = self._clock.monotonic() - started
        stopped = Ending(outcome=Outcome.STOPPED, seconds=seconds)
        ending = stopped if task.cancelled() else task.result()
        if ending.outcome not in LEAVING:
            await self._clean_up(ref)
        return ending

    async def _clean_up(self, ref: TurnRef) -> None:
        worker = self._worker
        assert worker is not None  # noqa: S101 - `attach` comes first
        await worker.clean_up(ref)

    async def _keep_timers(self) -> None:
        await self._dispatcher.lead()
        await self._started.wait()  # what was sent while we were down comes first
        while True:
            self._timers_changed.clear()
            timer = await self._store.next_timer()
            delay = None if timer is None else max(0.0, timer.due - self._clock.now())
            try:
                async with asyncio.timeout(delay):
                    await self._timers_changed.wait()
            except TimeoutError:
                if timer is not None:
                    await self._fire(timer)

    async def _fire(self, timer: Timer | Due) -> None:
        drift = self._clock.now() - self._clock.monotonic() - self._jump
        try:
            self.follow(await self._store.fire(timer, drift_s=drift))
        except TransientError as error:
            log.error("timer_not_fired", error=str(error))
            await asyncio.sleep(RETRY_S)
        except DamagedLane:
            pass  # the store has said why, and has taken the timer away

    async def _keep_house(self) -> None:
        """Delete what is old, in slices that hold nobody up."""
        await self._dispatcher.lead()
        while True:
            await asyncio.sleep(HOUSEKEEPING_S)
            try:
                while await self._store.prune():
                    log.debug("pruned")
            except TransientError as error:
                log.warning("housekeeping_failed", error=str(error))
