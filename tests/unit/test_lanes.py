"""The lanes' shell on a real store: what it cleans up, and which lanes it takes up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from adapters.sqlite.dispatcher import LocalDispatcher
from adapters.sqlite.store import RESERVE_NAME, SqliteStore
from core.commands import Invocation
from core.messages import Address, PlatformName, TurnId
from core.sessions.arrivals import Arrival, Commanded
from core.sessions.lane import Outcome, Rest
from core.sessions.ports import Begun, Ending, Signals, Store, TurnRef
from gateway.lanes import Followers, Lanes
from tests.contracts.backends import sqlite
from tests.contracts.parking_rig import waiting
from tests.contracts.store_rig import HERE, OWNER, Opening, Rig
from tests.fakes.answering import Answering, Unheard

FOLDER_A = Address(PlatformName.CONSOLE, "local", "/a")
FOLDER_B = replace(FOLDER_A, chat="/b")
EVERYWHERE: Mapping[PlatformName, Address] = MappingProxyType({})


class LateStop(SqliteStore):
    """A store that takes a /stop just before the first turn's end is stored."""

    lanes: Lanes

    async def end_turn(
        self, ref: TurnRef, ending: Ending, *, now: float, collect: bool
    ) -> tuple[Begun | Rest, Signals]:
        """See `Store.end_turn`."""
        stop = Arrival(ref.lane, "stop", OWNER, Commanded(Invocation("stop", "")))
        await self.accept([stop], cursor=None, now=now, early=self.lanes.follow)
        return await super().end_turn(ref, ending, now=now, collect=collect)


async def late_stop(opening: Opening) -> Store:
    """Open such a store."""
    opening.folder.mkdir(parents=True, exist_ok=True)
    (opening.folder / RESERVE_NAME).touch()
    store = LateStop(opening.folder, clock=opening.clock, run=opening.run, sync="OFF")
    await store.open()
    return store


@dataclass(slots=True)
class House:
    """A store and the lanes at work on it."""

    rig: Rig
    lanes: Lanes
    worker: Answering
    judge: Unheard

    async def start(self, *platforms: PlatformName) -> None:
        """Take up what is there; all backlogs are in."""
        heard = asyncio.Event()
        heard.set()
        await self.lanes.start(dict.fromkeys(platforms, heard))

    async def say(self, text: str, at: Address) -> None:
        """A person writes."""
        await self._take(self.rig.message(text, lane=at.key))

    async def tell(self, line: str, at: Address) -> None:
        """A person gives a command."""
        await self._take(self.rig.order(line, lane=at.key))

    async def _take(self, arrival: Arrival) -> None:
        _, signals = await self.rig.store.accept([arrival], cursor=None, now=self.rig.clock.now())
        self.lanes.follow(signals)


@asynccontextmanager
async def working(
    rig: Rig, *, only: Mapping[PlatformName, Address] = EVERYWHERE
) -> AsyncIterator[House]:
    """Lanes on that store, ended at the end."""
    lanes = Lanes(rig.store, LocalDispatcher(4), rig.clock, only=only)
    worker, judge, other = Answering(), Unheard(), Unheard()
    lanes.attach(worker, Followers(judge=judge, delivery=other, card=other, stir=other.stir))
    async with asyncio.TaskGroup() as group:
        life = group.create_task(lanes.run(), name="lanes")
        yield House(rig, lanes, worker, judge)
        life.cancel()
    await rig.store.close()


async def test_a_stop_between_the_answer_and_its_commit_cleans_up_all_the_same(
    tmp_path: Path,
) -> None:
    rig = await Rig.start(late_stop, tmp_path)
    async with working(rig) as house:
        assert isinstance(rig.store, LateStop)
        rig.store.lanes = house.lanes
        await house.start(HERE.platform)
        await house.say("hi", HERE)
        assert await house.worker.until(f"cleaned up {TurnId(1)}") == ["hi", "cleaned up 1"]


async def test_what_a_turn_that_waits_left_running_is_ended_when_it_is_stopped(
    tmp_path: Path,
) -> None:
    rig = await Rig.start(sqlite, tmp_path)
    begun = await waiting(rig)
    async with working(rig) as house:
        await house.start(HERE.platform)
        await house.tell("/stop", HERE)
        ended = f"cleaned up {begun.turn.id}"
        assert await house.worker.until(ended) == [ended]


async def test_a_turn_that_waits_keeps_what_it_left_running(tmp_path: Path) -> None:
    rig = await Rig.start(sqlite, tmp_path)
    async with working(rig) as house:
        house.worker.outcome = Outcome.PARKED
        await house.start(HERE.platform)
        await house.say("one", HERE)
        await house.worker.until("one")
        house.worker.outcome = Outcome.FAILED
        await house.say("two", HERE)
        assert await house.worker.until("cleaned up 2") == ["one", "two", "cleaned up 2"]


async def test_signals_that_come_before_or_after_a_run_end_nothing(tmp_path: Path) -> None:
    rig = await Rig.start(sqlite, tmp_path)
    ended = Signals(ended=frozenset({TurnRef(HERE.key, TurnId(1), 1)}))
    async with working(rig) as house:
        pass
    house.lanes.follow(ended)
    assert house.worker.did == []


async def test_a_console_works_only_the_lane_that_it_talks_to(tmp_path: Path) -> None:
    rig = await Rig.start(sqlite, tmp_path)
    await rig.accept(rig.order("/goal tidy folder A", lane=FOLDER_A.key))
    await rig.accept(rig.message("hello in A", lane=FOLDER_A.key))
    await rig.accept(rig.order("/goal tidy folder B", lane=FOLDER_B.key))
    await rig.reopen()
    async with working(rig, only={PlatformName.CONSOLE: FOLDER_B}) as house:
        await house.start(PlatformName.CONSOLE, HERE.platform)
        await house.say("hello in A again", FOLDER_A)
        await house.say("hello elsewhere", HERE)
        await house.worker.until("hello elsewhere")
        did = await house.worker.until("tidy folder B")
        await asyncio.sleep(0)
        assert set(did) == {"hello elsewhere", "tidy folder B"}
        assert FOLDER_A.key not in house.judge.lanes
        assert await rig.heard(FOLDER_A.key) == ["⊙ Goal set (20-turn budget): tidy folder A"]
        assert FOLDER_A.key in (await rig.store.unfinished()).lanes


async def test_the_other_lanes_go_on_in_the_run_that_talks_to_them(tmp_path: Path) -> None:
    rig = await Rig.start(sqlite, tmp_path)
    await rig.accept(rig.order("/goal tidy folder A", lane=FOLDER_A.key))
    await rig.reopen()
    async with working(rig, only={PlatformName.CONSOLE: FOLDER_A}) as house:
        await house.start(PlatformName.CONSOLE)
        assert await house.worker.until("tidy folder A") == ["tidy folder A"]
