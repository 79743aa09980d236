"""Delivery: the outbox of each lane goes out in order, one call in flight per lane.

What could not be sent stays the head and is tried again; what may have arrived is marked when
it is sent once more. The store knows; this only carries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import partial
from logging import DEBUG, ERROR
from typing import TypeVar

import structlog

from core.errors import PermanentError, TransientError, UserError
from core.messages import Address, LaneKey, Outbound, RemoteId, Say
from core.ports import Clock, Platform, Sent
from core.sessions.lane_tasks import LaneTasks
from core.sessions.outgoing import Amend, Outgoing
from core.sessions.ports import Signals, Store
from gateway.judging import Follows
from gateway.narrator import Narrator
from gateway.platforms import Platforms

log = structlog.get_logger(__name__)

T = TypeVar("T")

REPEAT = "(may be a repeat) "
GIVE_UP_S = 24 * 3600.0
GIVE_UP_TRIES = 20
"""With so few tries in a day nobody can say that the chat cannot be reached."""


@dataclass(frozen=True, slots=True)
class Pauses:
    """Seconds between two tries of one message: the first pause doubles up to the longest, and
    nothing but a success makes one shorter than the least."""

    least_s: float = 1.0
    first_s: float = 1.0
    longest_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Failed:
    """A try that failed; `after` is the pause that the platform asked for, None for our own."""

    after: float | None


class Settled(Enum):
    """A head that is done with, and what stands behind it."""

    MORE = auto()
    EMPTY = auto()


@dataclass(slots=True)
class Head:
    """How the head of a lane has fared in this run. A machine that was off or asleep, and a clock
    that was set, have tried nothing: only time in which tries were made is counted."""

    id: int = 0
    since: float = 0.0
    tries: int = 0

    def tried(self, id_: int, now: float) -> None:
        """One more try failed, at that monotonic time."""
        if self.id != id_:
            self.id, self.since, self.tries = id_, now, 0
        self.tries += 1

    def hopeless(self, now: float) -> bool:
        """Whether it was tried for a day, and often."""
        return now - self.since > GIVE_UP_S and self.tries >= GIVE_UP_TRIES


class Delivery:
    """Pumps outboxes; `run` is its life. A lane without open rows holds no task."""

    def __init__(
        self,
        store: Store,
        platforms: Platforms,
        narrator: Narrator,
        clock: Clock,
        stir: Callable[[], None],
        pauses: Pauses = Pauses(),
    ) -> None:
        self._store = store
        self._platforms = platforms
        self._narrator = narrator
        self._clock = clock
        self._pauses = pauses
        self._follow: Callable[[Signals], None] = lambda _: None
        self._pumps = LaneTasks(self._pump, "deliver", ended=stir)
        self._fresh: dict[LaneKey, asyncio.Event] = {}

    def attach(self, lanes: Follows) -> None:
        """Name who acts on what a delivery brings about; once, before `run`."""
        self._follow = lanes.follow

    def enlist(self, lane: LaneKey) -> None:
        """The lane may have something to send. Something new in a chat is a sign that it can be
        reached again, so that a pause of our own ends."""
        if (fresh := self._fresh.get(lane)) is not None:
            fresh.set()
        self._pumps.enlist(lane)

    async def run(self) -> None:
        """Deliver until cancelled."""
        await self._pumps.run()

    async def flushed(self) -> None:
        """Return when nothing is being sent."""
        await self._pumps.idle()

    async def _pump(self, lane: LaneKey) -> None:
        platform = self._platforms.at(Address.of(lane))
        if platform is None:
            return  # not in this run, or not for this chat; the rows wait for one in which it is
        fresh = self._fresh[lane] = asyncio.Event()
        try:
            await self._empty(lane, platform, fresh)
        finally:
            del self._fresh[lane]

    async def _empty(self, lane: LaneKey, platform: Platform, fresh: asyncio.Event) -> None:
        """Send until nothing is left."""
        pause, head = self._pauses.first_s, Head()
        while True:
            fresh.clear()
            try:
                out = await self._store.next_outgoing(lane, now=self._clock.now())
                went = Settled.EMPTY if out is None else await self._attempt(platform, out, head)
            except TransientError as error:  # the store's own: its disk is full
                log.error("outbox_stuck", lane=lane, error=str(error))
                went = Failed(None)
            match went:
                case Settled.EMPTY:
                    return
                case Settled.MORE:
                    pause = self._pauses.first_s
                case Failed(after) if after:
                    await asyncio.sleep(after)
                case Failed():
                    cut = await self._rest(pause, fresh)
                    pause = self._pauses.first_s if cut else pause * 2
                    pause = min(pause, self._pauses.longest_s)

    async def _rest(self, pause: float, fresh: asyncio.Event) -> bool:
        """Sit a pause out, or only the least one when something new is to be sent; whether it was
        cut."""
        least = self._pauses.least_s
        await asyncio.sleep(least)
        try:
            async with asyncio.timeout(max(0.0, pause - least)):
                await fresh.wait()
        except TimeoutError:
            return False
        return True

    async def _attempt(self, platform: Platform, out: Outgoing, head: Head) -> Settled | Failed:
        """Send once, and store what came of it."""
        try:
            sent = await self._deliver(platform, out)
        except TransientError as error:
            return await self._again(out, head, error)
        except (PermanentError, UserError) as error:
            await self._bury(out, str(error))
            return Settled.MORE
        except Exception as error:  # the border of a delivery: a bug must not stop the lane
            log.exception("delivery_crashed", lane=out.lane, outbox=out.id)
            return await self._again(out, head, TransientError(str(error), doubtful=True))
        more, signals = await self._stored(out, partial(self._store.sent, out, sent))
        self._follow(signals)
        return Settled.MORE if more else Settled.EMPTY

    async def _again(self, out: Outgoing, head: Head, error: TransientError) -> Settled | Failed:
        now = self._clock.monotonic()
        head.tried(out.id, now)
        if head.hopeless(now):
            await self._bury(out, f"not delivered within a day, {head.tries} tries: {error}")
            return Settled.MORE
        log.warning("delivery_failed", lane=out.lane, outbox=out.id, error=str(error))
        await self._stored(out, partial(self._store.unsent, out, doubtful=error.doubtful))
        return Failed(error.retry_after)

    async def _bury(self, out: Outgoing, reason: str) -> None:
        lost = not isinstance(out.what, Amend)  # who deleted a message wants no news on it
        log.log(ERROR if lost else DEBUG, "undeliverable", lane=out.lane, error=reason)
        self._follow(await self._stored(out, partial(self._store.dead, out, reason)))

    async def _stored(self, out: Outgoing, job: Callable[[], Awaitable[T]]) -> T:
        """Store what has become of a message. It has happened, and forgetting it for want of
        space would send the message again, or mark it as a repeat that it is not."""
        while True:
            try:
                return await job()
            except TransientError as error:
                log.error("outcome_not_stored", lane=out.lane, outbox=out.id, error=str(error))
                await asyncio.sleep(self._pauses.least_s)

    async def _deliver(self, platform: Platform, out: Outgoing) -> Sent:
        address, what = Address.of(out.lane), out.what
        if isinstance(what, Amend):
            await platform.edit(address, what.remote, what.say)
            return Sent(what.remote, self._clock.now())
        if out.turn is not None and isinstance(what, Say):
            replaced = await self._replace(platform, address, out, what)
            if replaced is not None:
                return Sent(replaced, self._clock.now())
        fresh = self._clock.now() - out.first_try < platform.repeats_s
        what = _marked(what) if out.doubtful and not fresh else what
        sent = await platform.send(address, what, key=f"{out.id}:{out.first_try:.0f}")
        self._narrator.moved_on(out.lane)
        return sent

    async def _replace(
        self, platform: Platform, address: Address, out: Outgoing, what: Say
    ) -> RemoteId | None:
        """Let the answer take its progress message's place; None where it must be sent.

        An edit is the same however often it arrives, so its doubt needs no mark.
        """
        if out.turn is None:
            return None
        shown = self._narrator.take(out.turn)
        if shown is None or shown.remote is None:
            return None
        if shown.moved_on or shown.doubtful or out.doubtful:
            self._narrator.point_below(address, shown.remote)
            return None
        try:
            await platform.edit(address, shown.remote, what)
        except TransientError:
            self._narrator.put_back(out.lane, out.turn, shown)
            raise
        except PermanentError:
            return None  # someone deleted it
        return shown.remote


def _marked(what: Outbound) -> Outbound:
    if isinstance(what, Say):
        return replace(what, text=REPEAT + what.text)
    return replace(what, caption=REPEAT + what.caption)
