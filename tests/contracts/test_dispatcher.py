"""The `Dispatcher` contract: each lane is worked by one worker at a time, and no wake-up is
lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from adapters.sqlite.dispatcher import LocalDispatcher
from core.messages import LaneKey, TurnId
from core.sessions.ports import Dispatcher

DISPATCHERS: Mapping[str, Callable[[int], Dispatcher]] = {"local": LocalDispatcher}
A, B, C = LaneKey("a"), LaneKey("b"), LaneKey("c")


@pytest.fixture(params=DISPATCHERS)
def make(request: pytest.FixtureRequest) -> Callable[[int], Dispatcher]:
    """A dispatcher that works at most so many lanes at once."""
    return DISPATCHERS[request.param]


@dataclass(slots=True)
class Works:
    """A drain that holds each lane until it is let go, and sees who overlaps."""

    begun: list[LaneKey] = field(default_factory=list)
    working: set[LaneKey] = field(default_factory=set)
    most: int = 0
    cancelled: list[LaneKey] = field(default_factory=list)
    told: list[tuple[LaneKey, TurnId]] = field(default_factory=list)
    _gates: dict[LaneKey, asyncio.Event] = field(default_factory=dict)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def gate(self, lane: LaneKey) -> asyncio.Event:
        """What the lane's work waits for."""
        return self._gates.setdefault(lane, asyncio.Event())

    async def drain(self, lane: LaneKey) -> None:
        """See `Drain`."""
        assert lane not in self.working, "two workers in one lane"
        self.begun.append(lane)
        self.working.add(lane)
        self.most = max(self.most, len(self.working))
        await self._tell()
        try:
            await self.gate(lane).wait()
        except asyncio.CancelledError:
            self.cancelled.append(lane)
            raise
        finally:
            self.working.discard(lane)
        await self._tell()

    def cancel(self, lane: LaneKey, turn: TurnId) -> None:
        """See `Cancel`."""
        self.told.append((lane, turn))

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something about this drain to be true."""
        async with asyncio.timeout(5), self._changed:
            await self._changed.wait_for(holds)


@asynccontextmanager
async def running(dispatcher: Dispatcher, works: Works) -> AsyncIterator[asyncio.Task[None]]:
    """The dispatcher at work, cancelled at the end."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(dispatcher.run(works.drain, works.cancel), name="dispatcher")
        yield task
        task.cancel()


async def test_an_enlisted_lane_is_drained(make: Callable[[int], Dispatcher]) -> None:
    works, dispatcher = Works(), make(10)
    async with running(dispatcher, works):
        dispatcher.enlist(A)
        await works.until(lambda: works.begun == [A])


async def test_lanes_enlisted_before_the_run_are_drained(
    make: Callable[[int], Dispatcher],
) -> None:
    works, dispatcher = Works(), make(10)
    dispatcher.enlist(A)
    dispatcher.enlist(B)
    dispatcher.enlist(A)
    async with running(dispatcher, works):
        await works.until(lambda: sorted(works.begun) == [A, B])


async def test_lanes_are_worked_side_by_side(make: Callable[[int], Dispatcher]) -> None:
    works, dispatcher = Works(), make(10)
    async with running(dispatcher, works):
        for lane in (A, B, C):
            dispatcher.enlist(lane)
        await works.until(lambda: works.working == {A, B, C})


async def test_a_lane_enlisted_while_it_is_worked_is_worked_once_more(
    make: Callable[[int], Dispatcher],
) -> None:
    works, dispatcher = Works(), make(10)
    async with running(dispatcher, works):
        dispatcher.enlist(A)
        await works.until(lambda: works.working == {A})
        for _ in range(5):
            dispatcher.enlist(A)
        works.gate(A).set()
        await works.until(lambda: works.begun == [A, A] and not works.working)
        dispatcher.enlist(B)
        works.gate(B).set()
        await works.until(lambda: B in works.begun and not works.working)
        assert works.begun == [A, A, B]


async def test_no_more_lanes_are_worked_at_once_than_the_limit(
    make: Callable[[int], Dispatcher],
) -> None:
    works, dispatcher = Works(), make(2)
    async with running(dispatcher, works):
        for lane in (A, B, C):
            dispatcher.enlist(lane)
        await works.until(lambda: len(works.working) == 2)
        for lane in (A, B, C):
            works.gate(lane).set()
        await works.until(lambda: len(works.begun) == 3 and not works.working)
    assert works.begun == [A, B, C]
    assert works.most == 2


async def test_the_end_of_the_run_ends_the_work(make: Callable[[int], Dispatcher]) -> None:
    works, dispatcher = Works(), make(10)
    async with running(dispatcher, works):
        dispatcher.enlist(A)
        await works.until(lambda: works.working == {A})
        dispatcher.enlist(A)
    assert works.cancelled == [A]
    assert works.begun == [A]


async def test_a_signal_reaches_the_process_that_works_the_lane(
    make: Callable[[int], Dispatcher],
) -> None:
    works, dispatcher = Works(), make(10)
    async with running(dispatcher, works):
        dispatcher.enlist(A)
        await works.until(lambda: works.working == {A})
        dispatcher.signal(A, TurnId(7))
        dispatcher.enlist(B)
        await works.until(lambda: works.told == [(A, TurnId(7))])


async def test_a_signal_before_the_run_is_nobodys(make: Callable[[int], Dispatcher]) -> None:
    make(10).signal(A, TurnId(7))


async def test_one_process_keeps_the_timers(make: Callable[[int], Dispatcher]) -> None:
    async with asyncio.timeout(5):
        await make(10).lead()
