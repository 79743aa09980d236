"""What SQLite keeps of turns that wait for a person: nothing once they are over; and what a row of
theirs that cannot be read comes to."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from adapters.sqlite.database import FILE_NAME
from core.agent.steps import Finished, Injected, Replied, Started
from core.delegation.ports import ChildRef
from core.errors import DamagedLane
from core.sessions.lane import Rest, RowKind
from core.transcript import User
from tests.contracts.backends import children_of, sqlite
from tests.contracts.parking_rig import approve, asks, between, tell_work, wait, waiting
from tests.contracts.store_rig import LANE, OTHER_LANE, Rig, ref, reply, result, texts

LEFT = {
    "waiting_call": "SELECT count(*) FROM waiting_call",
    "step": "SELECT count(*) FROM step",
    "delegation": "SELECT count(*) FROM delegation",
    "delegation_step": "SELECT count(*) FROM delegation_step",
    "answers": "SELECT count(*) FROM inbox WHERE kind = 'answer' AND state = 'ready'",
    "waiting turns": "SELECT count(*) FROM turn WHERE phase IN ('begun', 'parked', 'aside')",
    "parked lanes": "SELECT count(*) FROM lane WHERE parked IS NOT NULL",
    "open questions": "SELECT count(*) FROM escalation WHERE state IN ('pending_send', 'open')",
    "timers": "SELECT count(*) FROM escalation WHERE due IS NOT NULL",
}


def kept(rig: Rig) -> dict[str, int]:
    """What is left in the tables."""
    with closing(sqlite3.connect(rig.folder / FILE_NAME)) as conn:
        counts = {what: conn.execute(sql).fetchone()[0] for what, sql in LEFT.items()}
    return {what: count for what, count in counts.items() if count}


async def with_children(rig: Rig) -> None:
    """A goal's turn that waits for two calls, each with a child."""
    begun = await rig.goal()
    for name in ("a", "b"):
        of = ChildRef(ref(begun), f"{name}.0")
        await children_of(rig.store).open_child(of, "a brief")
        begins = (Replied(0, reply(asks("x"))), Started(0, "x"))
        await children_of(rig.store).record_child(of, begins)
    await wait(rig, begun, "a", "b")


async def set_aside(rig: Rig) -> None:
    """The same, with something said since."""
    await with_children(rig)
    await between(rig)


async def going_on(rig: Rig) -> None:
    """The same, one of them going on by its answer and waiting again."""
    await set_aside(rig)
    await approve(rig)
    begun = await rig.turn()
    assert begun.turn.kind is RowKind.ANSWER
    await tell_work(rig, begun, "a")
    await rig.store.record(ref(begun), [Finished(0, result(asks("a"))), Injected(0, User("told"))])
    await wait(rig, begun, "z")


async def left(rig: Rig) -> None:
    """The same in a session that was left, with another turn that waits here."""
    await going_on(rig)
    await rig.tell("/new")
    assert isinstance(await rig.begin(), Rest)
    await waiting(rig, "y")
    await rig.tell("/goal pause")


async def answered_too(rig: Rig) -> None:
    """Both calls answered and not begun."""
    await set_aside(rig)
    await approve(rig, "E1")
    await approve(rig, "E2")


STORIES: Mapping[str, Callable[[Rig], Awaitable[None]]] = {
    "parked": with_children,
    "set aside": set_aside,
    "answered": answered_too,
    "going on": going_on,
    "left": left,
}


@pytest.mark.parametrize("story", STORIES)
async def test_a_stop_leaves_nothing_that_waits(tmp_path: Path, story: str) -> None:
    rig = await Rig.start(sqlite, tmp_path)
    await STORIES[story](rig)
    assert kept(rig)
    await rig.tell("/stop")
    assert isinstance(await rig.begin(), Rest)
    assert kept(rig) == {}
    await rig.restart()
    assert isinstance(await rig.begin(), Rest)
    await rig.store.close()


@pytest.mark.parametrize("story", ["parked", "set aside", "answered", "going on"])
async def test_clearing_the_goal_leaves_nothing_of_it(tmp_path: Path, story: str) -> None:
    rig = await Rig.start(sqlite, tmp_path)
    await STORIES[story](rig)
    await rig.tell("/goal clear")
    assert isinstance(await rig.begin(), Rest)
    assert kept(rig) == {}
    await rig.store.close()


async def test_answers_to_all_leave_nothing_either(tmp_path: Path) -> None:
    rig = await Rig.start(sqlite, tmp_path)
    await left(rig)
    for id_, name in (("E2", "b"), ("E3", "z"), ("E4", "y")):
        await approve(rig, id_)
        begun = await rig.turn()
        await tell_work(rig, begun, name)
        assert isinstance(await rig.answer(begun), Rest)
    assert kept(rig) == {}
    await rig.store.close()


SPOILT = {
    "a call that waits": "UPDATE waiting_call SET body = '[]'",
    "a call that is gone": "DELETE FROM waiting_call",
    "a turn that is no JSON": "UPDATE turn SET principal = 'oops' WHERE phase = 'parked'",
    "an answer's payload": "UPDATE inbox SET payload = '7' WHERE kind = 'answer'",
    "an answer without its call": "UPDATE inbox SET payload = '{}' WHERE kind = 'answer'",
    "an answer's sender": "UPDATE inbox SET principal = '[]' WHERE kind = 'answer'",
    "what was done before": "UPDATE turn SET receipts = '7' WHERE phase = 'aside'",
    "its child": "UPDATE delegation_step SET body = '{}' WHERE part = 'reply'",
}


@pytest.mark.parametrize("what", SPOILT)
async def test_what_waits_and_cannot_be_read_rests_its_lane_alone(
    tmp_path: Path, what: str
) -> None:
    rig = await Rig.start(sqlite, tmp_path)
    await (with_children if "JSON" in what else answered_too)(rig)
    await rig.store.close()
    with closing(sqlite3.connect(rig.folder / FILE_NAME)) as conn:
        assert conn.execute(SPOILT[what]).rowcount
        conn.commit()
    await rig.reopen()
    await rig.accept(rig.message("hello there", lane=OTHER_LANE))
    for _ in range(2):
        with pytest.raises(DamagedLane, match=r"cannot be read"):
            await rig.begin()
    assert texts(await rig.turn(OTHER_LANE)) == ["hello there"]
    assert LANE in (await rig.store.unfinished()).lanes or "JSON" in what
    await rig.store.close()
