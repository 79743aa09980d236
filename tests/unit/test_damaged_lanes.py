"""One lane whose rows cannot be read: it rests as it is, and every other goes on."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from adapters.sqlite.database import FILE_NAME
from adapters.sqlite.dispatcher import LocalDispatcher
from core.errors import DamagedLane
from core.messages import PlatformName
from core.sessions.lane_tasks import LaneTasks
from gateway.lanes import Followers, Lanes
from tests.contracts.backends import sqlite
from tests.contracts.store_rig import LANE, OTHER_LANE, OWNER, Rig, answered
from tests.fakes.answering import Answering, Unheard

SPOILT = {
    "a goal of another version": "UPDATE state_meta SET value = '{\"form\": 9}'",
    "a goal that is no JSON": "UPDATE state_meta SET value = 'oops'",
    "a goal without its text": "UPDATE state_meta SET value = json_remove(value, '$.goal.text')",
    "a begun turn's kind": "UPDATE turn SET kind = 'sermon'",
    "a begun turn's setter": "UPDATE turn SET principal = '[1, 2]'",
    "a begun turn's messages": "UPDATE turn SET inputs = '[1]'",
    "a begun turn's contents": "UPDATE inbox SET payload = '7' WHERE state = 'claimed'",
    "a begun turn's steps": "UPDATE step SET body = '{}'",
    "a waiting message's sender": "UPDATE inbox SET principal = '[]' WHERE state = 'ready'",
    "a waiting message's kind": "UPDATE inbox SET kind = 'sermon' WHERE state = 'ready'",
}


async def one_of_each(folder: Path) -> Rig:
    """A lane with a goal in its first turn, and a message behind it; another with a message."""
    rig = await Rig.start(sqlite, folder)
    begun = await rig.goal("tidy up")
    await rig.step(begun, 1)
    await rig.say("also the cellar")
    await rig.accept(rig.message("hello there", lane=OTHER_LANE))
    return rig


async def spoil(rig: Rig, sql: str) -> None:
    """Change what is stored of the first lane, as a newer version or a hand might."""
    await rig.store.close()
    with closing(sqlite3.connect(rig.folder / FILE_NAME)) as conn:
        only_here = "" if "state_meta" in sql or "step" in sql else f" lane = '{LANE}'"
        joint = " AND" if "WHERE" in sql else " WHERE"
        conn.execute(sql + (joint + only_here if only_here else ""))
        conn.commit()
    await rig.reopen()


@asynccontextmanager
async def working(rig: Rig) -> AsyncIterator[Answering]:
    """Lanes at work on all that is stored."""
    lanes, worker, other = Lanes(rig.store, LocalDispatcher(4), rig.clock), Answering(), Unheard()
    lanes.attach(worker, Followers(judge=other, delivery=other, card=other, stir=other.stir))
    heard = asyncio.Event()
    heard.set()
    async with asyncio.TaskGroup() as group:
        life = group.create_task(lanes.run(), name="lanes")
        await lanes.start({PlatformName.TELEGRAM: heard})
        yield worker
        life.cancel()
    await rig.store.close()


@pytest.mark.parametrize("what", SPOILT)
async def test_a_lane_that_cannot_be_read_rests_and_all_others_go_on(
    tmp_path: Path, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    rig = await one_of_each(tmp_path)
    await spoil(rig, SPOILT[what])
    for _ in range(2):  # at each start
        async with working(rig) as worker:
            await worker.until("hello there")
            for _ in range(2):
                with pytest.raises(DamagedLane, match=r"rests: .* cannot be read"):
                    await rig.begin()
        assert worker.did == ["hello there"]
        told = [message for message in caplog.messages if LANE in message]
        assert len(told) == 1, told
        caplog.clear()
        await rig.reopen()
        await rig.accept(rig.message("hello there", lane=OTHER_LANE))
    await rig.store.close()


async def test_a_lane_that_was_mended_goes_on_where_it_was(tmp_path: Path) -> None:
    rig = await one_of_each(tmp_path)
    form = "UPDATE state_meta SET value = json_set(value, '$.form', {})"
    await spoil(rig, form.format(9))
    async with working(rig) as worker:
        await worker.until("hello there")
    await spoil(rig, form.format(1))
    async with working(rig) as worker:
        await worker.until("also the cellar")
        assert worker.did == ["tidy up", "also the cellar"]


async def test_a_lane_of_an_unknown_platform_rests(tmp_path: Path) -> None:
    rig = await one_of_each(tmp_path)
    for table, column in (
        ("lane", "key"),
        ("inbox", "lane"),
        ("turn", "lane"),
        ("outbox", "lane"),
    ):
        await rig.store.close()
        with closing(sqlite3.connect(rig.folder / FILE_NAME)) as conn:
            conn.execute(
                f"UPDATE {table} SET {column} = 'matrix|b|1||' WHERE {column} = ?",
                (LANE,),
            )
            conn.commit()
        await rig.reopen()
    async with working(rig) as worker:
        await worker.until("hello there")
        assert worker.did == ["hello there"]


async def test_a_damaged_lanes_timer_is_due_once(tmp_path: Path) -> None:
    rig = await Rig.start(sqlite, tmp_path)
    await rig.answer(await rig.goal("wait for it"))
    await rig.tell("/goal wait 20m")
    await spoil(rig, SPOILT["a goal of another version"])
    rig.clock.wall += 7200
    timer = await rig.store.next_timer()
    assert timer is not None
    with pytest.raises(DamagedLane):
        await rig.store.fire(timer)
    assert await rig.store.next_timer() is None
    await rig.store.close()


async def test_a_damaged_lanes_judgement_and_outbox_hold_nobody_up(tmp_path: Path) -> None:
    rig = await Rig.start(sqlite, tmp_path)
    await rig.answer(await rig.goal("wait for it"))
    await spoil(rig, "UPDATE turn SET receipts = '7'")
    await spoil(rig, "UPDATE outbox SET body = '{}' WHERE state = 'ready' AND card = 0")
    with pytest.raises(DamagedLane):
        await rig.store.open_judgement(LANE)
    with pytest.raises(DamagedLane):
        await rig.store.next_outgoing(LANE, now=rig.clock.now())
    await rig.store.close()


async def test_lists_of_all_lanes_leave_out_what_cannot_be_read(tmp_path: Path) -> None:
    rig = await one_of_each(tmp_path)
    await rig.end(await rig.turn(OTHER_LANE), answered(), OTHER_LANE)
    await spoil(rig, SPOILT["a goal of another version"])
    await rig.accept(rig.order("/sessions all", OWNER, lane=OTHER_LANE))
    assert any("hello there" in said for said in await rig.heard(OTHER_LANE))
    assert [fact.lane for fact in await rig.store.chats(PlatformName.TELEGRAM)]
    assert await rig.store.at_rest(LANE)
    await rig.store.close()


async def test_a_task_of_a_damaged_lane_ends_without_the_others(tmp_path: Path) -> None:
    worked = asyncio.Event()

    async def work(lane: object) -> None:
        if lane == LANE:
            raise DamagedLane(LANE, "a goal cannot be read")
        worked.set()

    tasks = LaneTasks(work, "judge")
    async with asyncio.TaskGroup() as group:
        life = group.create_task(tasks.run(), name="tasks")
        tasks.enlist(LANE)
        tasks.enlist(OTHER_LANE)
        await asyncio.wait_for(worked.wait(), 10)
        await tasks.idle()
        life.cancel()
