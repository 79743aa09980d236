"""The judge's shell on a real store: what it books, how long it counts, what is not its fault."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest_asyncio

from adapters.sqlite.store import RESERVE_NAME, SqliteStore
from core.errors import TransientError
from core.goals.judge import JudgeProfile, WorkspaceFile
from core.messages import LaneKey
from core.ports import Completion, Reply, Request, Usage
from core.sessions.lane import Outcome
from core.sessions.ports import (
    CapReached,
    Ending,
    Estimate,
    OpenJudgement,
    Reserved,
    Signals,
    Store,
)
from gateway.judging import Court
from tests.contracts.store_rig import LANE, HeldClock, Opening, Rig
from tests.fakes.scripted_model import ScriptedModel

NOT_YET = '{"reason": "two are missing", "done": false}'


class FullOnce(SqliteStore):
    """A store whose disk is full when the first verdict is booked."""

    full = True

    async def reserve_verdict(
        self, lane: LaneKey, asked: OpenJudgement, estimate: Estimate, *, now: float
    ) -> tuple[Reserved | CapReached | None, Signals]:
        """See `Store.reserve_verdict`."""
        if self.full:
            self.full = False
            raise TransientError("the disk is full")
        return await super().reserve_verdict(lane, asked, estimate, now=now)


async def full_once(opening: Opening) -> Store:
    """Open such a store."""
    opening.folder.mkdir(parents=True, exist_ok=True)
    (opening.folder / RESERVE_NAME).touch()
    store = FullOnce(
        opening.folder,
        clock=opening.clock,
        run=opening.run,
        goal_defaults=opening.defaults,
        sync="OFF",
    )
    await store.open()
    return store


class NoFiles:
    """A workspace with nothing in it."""

    async def files(self, lane: LaneKey) -> Sequence[WorkspaceFile]:
        """See `Evidence.files`."""
        return ()


@dataclass(slots=True)
class Following:
    """Waits for the verdict to have its effect."""

    woken: asyncio.Event = field(default_factory=asyncio.Event)

    def follow(self, signals: Signals) -> None:
        """See `Lanes.follow`."""
        if signals.wake:
            self.woken.set()


@pytest_asyncio.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """An empty store."""
    made = await Rig.start(full_once, tmp_path)
    yield made
    await made.store.close()


async def judged(rig: Rig, model: ScriptedModel) -> None:
    """One sitting over what is open, to its end."""
    court = Court(rig.store, NoFiles(), rig.clock, model, profile=JudgeProfile.FULL, timeout_s=5.0)
    court.retry_s = 0.0
    lanes = Following()
    court.attach(lanes)
    async with asyncio.TaskGroup() as tasks:
        sitting = tasks.create_task(court.run(), name="court")
        court.enlist(LANE)
        async with asyncio.timeout(10):
            await lanes.woken.wait()
        sitting.cancel()


def thinking(clock: HeldClock, seconds: float) -> ScriptedModel:
    """A judge that takes so long."""

    def line(request: Request) -> Completion:
        clock.wall += seconds
        return Reply(NOT_YET, usage=Usage(3, 0, 2))

    return ScriptedModel([line])


async def test_a_full_disk_at_the_booking_is_no_fault_of_the_judge(rig: Rig) -> None:
    begun = await rig.goal()
    await rig.tell("/goal budget tokens=100000")
    await rig.answer(begun)
    await rig.heard()
    model = thinking(rig.clock, 0.0)
    await judged(rig, model)
    assert await rig.heard() == ["↻ Continuing toward goal (1/20): two are missing"]
    assert len(model.requests) == 1
    await rig.tell("/goal")
    assert "Used: 5 tokens" in (await rig.heard())[-1]


async def test_the_judges_seconds_are_the_goals(rig: Rig) -> None:
    begun = await rig.goal()
    await rig.tell("/goal budget time=60s")
    await rig.end(begun, Ending(outcome=Outcome.ANSWERED, seconds=10.0, answer="x"))
    await judged(rig, thinking(rig.clock, 45.0))
    begun = await rig.turn()
    assert begun.goal is not None
    assert begun.goal.seconds == 55.0
