"""Delivery: the outbox of each lane goes out in order, one call in flight per lane.

What could not be sent stays the head and is tried again; what may have arrived is marked when
it is sent once more. The store knows; this only carries.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import replace

import structlog

from core.errors import PermanentError, TransientError, UserError
from core.messages import Address, LaneKey, Outbound, RemoteId, Say
from core.ports import Clock, Platform
from core.sessions.lane_tasks import LaneTasks
from core.sessions.ports import Outgoing, Store
from gateway.narrator import Narrator
from gateway.platforms import Platforms

log = structlog.get_logger(__name__)

REPEAT = "(may be a repeat) "
GIVE_UP_S = 24 * 3600.0
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 300.0
EMPTY = math.inf
"""The pause of a lane in which nothing is left to send."""


class Delivery:
    """Pumps outboxes; `run` is its life. A lane without open rows holds no task."""

    def __init__(
        self,
        store: Store,
        platforms: Platforms,
        narrator: Narrator,
        clock: Clock,
        stir: Callable[[], None],
    ) -> None:
        self._store = store
        self._platforms = platforms
        self._narrator = narrator
        self._clock = clock
        self._pumps = LaneTasks(self._pump, "deliver", ended=stir)

    def enlist(self, lane: LaneKey) -> None:
        """The lane may have something to send."""
        self._pumps.enlist(lane)

    async def run(self) -> None:
        """Deliver until cancelled."""
        await self._pumps.run()

    async def flushed(self) -> None:
        """Return when nothing is being sent."""
        await self._pumps.idle()

    async def _pump(self, lane: LaneKey) -> None:
        pause = FIRST_PAUSE_S
        platform = self._platforms.at(Address.of(lane))
        if platform is None:
            return  # not in this run, or not for this chat; the rows wait for one in which it is
        while True:
            try:
                out = await self._store.next_outgoing(lane, now=self._clock.now())
                wait = EMPTY if out is None else await self._attempt(platform, out)
            except TransientError as error:  # the store's own: its disk is full
                log.error("outbox_stuck", lane=lane, error=str(error))
                wait = None
            if wait == EMPTY:
                return
            if wait == 0.0:
                pause = FIRST_PAUSE_S
                continue
            await asyncio.sleep(wait or pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)

    async def _attempt(self, platform: Platform, out: Outgoing) -> float | None:
        """Send once. Returns 0.0 when the row is settled, EMPTY when it was the last one, else
        how long to wait, None for the usual pause."""
        try:
            remote = await self._deliver(platform, out)
        except TransientError as error:
            return await self._again(out, error)
        except (PermanentError, UserError) as error:
            await self._bury(out, str(error))
            return 0.0
        except Exception as error:  # the border of a delivery: a bug must not stop the lane
            log.exception("delivery_crashed", lane=out.lane, outbox=out.id)
            return await self._again(out, TransientError(str(error), doubtful=True))
        return 0.0 if await self._store.sent(out, remote) else EMPTY

    async def _again(self, out: Outgoing, error: TransientError) -> float | None:
        if self._clock.now() - out.first_try > GIVE_UP_S:
            await self._bury(out, f"not delivered within a day: {error}")
            return 0.0
        log.warning("delivery_failed", lane=out.lane, outbox=out.id, error=str(error))
        await self._store.unsent(out, doubtful=error.doubtful)
        return error.retry_after

    async def _bury(self, out: Outgoing, reason: str) -> None:
        log.error("undeliverable", lane=out.lane, outbox=out.id, error=reason)
        await self._store.dead(out, reason)

    async def _deliver(self, platform: Platform, out: Outgoing) -> RemoteId:
        address = Address.of(out.lane)
        if out.turn is not None and isinstance(out.what, Say):
            replaced = await self._replace(platform, address, out, out.what)
            if replaced is not None:
                return replaced
        remote = await platform.send(address, _marked(out.what) if out.doubtful else out.what)
        self._narrator.moved_on(out.lane)
        return remote

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
