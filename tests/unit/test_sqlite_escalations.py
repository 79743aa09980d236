"""Questions to people in the file itself: no secret stands in it, and a row that cannot be read
takes nothing with it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.sqlite.database import FILE_NAME
from adapters.sqlite.store import SqliteStore
from core.errors import DamagedLane
from core.escalations import texts
from core.escalations.desk import Asked
from core.escalations.record import Fact, Label, State
from core.messages import Handled, PlatformName, Queued, Refused, Say
from core.sessions.arrivals import Relocation
from core.sessions.lane import Rest
from core.sessions.ports import Due
from core.splitting import Room
from tests.contracts.asking_rig import (
    ASK,
    CHOICE,
    DANGER,
    edits,
    park,
    parked,
    press,
    put,
    questions,
    sent,
    speak,
    states,
    working,
)
from tests.contracts.backends import sqlite
from tests.contracts.store_rig import LANE, NOW, OTHER_LANE, THERE, Rig, ref

TELEGRAM = PlatformName.TELEGRAM
SPOILT = {
    "no JSON": "oops",
    "no question": "{}",
    "an unknown kind": "json_set",
    "a time that is none": "json_time",
}


@pytest_asyncio.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    made = await Rig.start(sqlite, tmp_path)
    yield made
    await made.store.close()


def changed(rig: Rig, sql: str) -> int:
    """Change what is stored, beside the running store; how many rows."""
    with closing(sqlite3.connect(rig.folder / FILE_NAME)) as conn:
        done = conn.execute(sql)
        conn.commit()
        return done.rowcount


def read(rig: Rig, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(rig.folder / FILE_NAME)) as conn:
        return conn.execute(sql).fetchall()


def spoil(rig: Rig, how: str) -> None:
    """Make the body of the first question unreadable."""
    body = {
        "json_set": "json_set(body, '$.kind', 'sermon')",
        "json_time": "json_set(body, '$.expires', 'noon')",
    }.get(SPOILT[how], f"'{SPOILT[how]}'")
    assert changed(rig, f"UPDATE escalation SET body = {body} WHERE id = 1") == 1


@pytest.mark.parametrize("asked", [ASK, CHOICE, DANGER], ids=lambda one: one.kind)
async def test_what_the_buttons_carry_is_never_on_the_disk(rig: Rig, asked: Asked) -> None:
    begun = await working(rig)
    await put(rig, begun, asked)
    out = await rig.store.next_outgoing(LANE, now=NOW)
    assert out is not None
    assert isinstance(out.what, Say)
    carried = {button.command for button in out.what.buttons}
    secret = next(iter(carried)).removeprefix("esc:").partition(".")[0]
    assert len(secret) == 22
    await rig.store.unsent(out, doubtful=True)
    await sent(rig)
    for file in rig.folder.iterdir():
        assert secret.encode() not in file.read_bytes()
    await rig.store.close()
    for file in rig.folder.iterdir():
        assert secret.encode() not in file.read_bytes()
    await rig.reopen()


async def test_what_is_kept_of_a_card_has_commands_for_buttons(rig: Rig) -> None:
    await parked(rig, CHOICE)
    ((body,),) = read(rig, "SELECT body FROM outbox WHERE shows = 'card'")
    assert '"/answer E1 3"' in str(body)
    assert "esc:" not in str(body)


async def test_each_try_in_one_start_adds_no_hash(rig: Rig) -> None:
    await put(rig, await working(rig))
    for _ in range(5):
        out = await rig.store.next_outgoing(LANE, now=NOW)
        assert out is not None
        await rig.store.unsent(out, doubtful=True)
    assert read(rig, "SELECT count(*) FROM escalation_token") == [(1,)]
    await rig.reopen()
    await sent(rig)
    assert read(rig, "SELECT count(*) FROM escalation_token") == [(2,)]


async def test_a_card_is_measured_by_the_room_of_its_platform(rig: Rig) -> None:
    assert isinstance(rig.store, SqliteStore)
    begun = await working(rig)
    long = replace(DANGER, facts=(Fact(Label.COMMAND, "echo " + "x" * 3000),))
    refused, _ = await rig.store.ask(ref(begun), "call-1", long, begun.turn.principal)
    assert isinstance(refused, str)
    rig.store.rooms = {TELEGRAM: Room(4_000)}
    await put(rig, begun, long)
    (card,) = await sent(rig)
    assert "x" * 3000 in card.text
    await press(rig, card)
    assert "x" * 3000 in (await edits(rig))[card.remote].text


async def test_a_chat_that_takes_less_than_when_it_was_asked_is_told_so(rig: Rig) -> None:
    assert isinstance(rig.store, SqliteStore)
    rig.store.rooms = {TELEGRAM: Room(4_000)}
    begun = await working(rig)
    long = replace(DANGER, facts=(Fact(Label.COMMAND, "echo " + "x" * 3000),))
    await put(rig, begun, long)
    await park(rig, begun)
    rig.store.rooms = {}
    ((_, said),) = await rig.shown()
    assert isinstance(said, Say)
    assert said.text.startswith("⚠ E1 could not be shown here")
    assert said.buttons == ()
    assert rig.signals[-1].wake == {LANE}
    assert (await put(rig, await rig.turn(), long)).state is State.UNDELIVERABLE


@pytest.mark.parametrize("how", SPOILT)
async def test_a_question_that_cannot_be_read_takes_no_other_with_it(
    rig: Rig, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    spoilt = await parked(rig)
    there = await working(rig, OTHER_LANE)
    await put(rig, there, lane=OTHER_LANE)
    await park(rig, there, lane=OTHER_LANE)
    spoil(rig, how)
    (card,) = await sent(rig, OTHER_LANE)
    assert await press(rig, spoilt) == Refused(texts.UNKNOWN_BUTTON)
    assert isinstance(await speak(rig, "yes"), Queued)
    assert await questions(rig) == {}
    with pytest.raises(DamagedLane):
        await rig.store.fire(await due(rig))
    signals = await rig.store.reopen(TELEGRAM)
    assert signals.timers
    assert "a question to a person cannot be read" in caplog.text
    assert isinstance(await press(rig, card, at=THERE), Handled)


async def due(rig: Rig) -> Due:
    timer = await rig.store.next_timer()
    assert isinstance(timer, Due), timer
    return timer


async def test_a_question_that_cannot_be_read_is_due_no_more_than_once(rig: Rig) -> None:
    await parked(rig)
    spoil(rig, "no JSON")
    with pytest.raises(DamagedLane):
        await rig.store.fire(await due(rig))
    assert await rig.store.next_timer() is None


async def test_stop_ends_a_question_that_cannot_be_read(rig: Rig) -> None:
    await parked(rig)
    spoil(rig, "no JSON")
    await rig.tell("/stop")
    assert await rig.begin() == Rest(None)
    begun = await working(rig)
    assert (await put(rig, begun)).id == "E2"
    await rig.answer(begun)
    assert await states(rig) == {"E2": "cancelled"}


async def test_a_card_that_cannot_be_read_is_not_sent_and_holds_nothing_up(rig: Rig) -> None:
    begun = await working(rig)
    await put(rig, begun)
    spoil(rig, "no JSON")
    await rig.answer(begun)
    assert await rig.heard() == ["an answer"]


async def test_a_decision_that_cannot_be_read_is_shown_in_short(rig: Rig) -> None:
    card = await parked(rig)
    await press(rig, card)
    spoil(rig, "no JSON")
    assert (await edits(rig))[card.remote].text.startswith("✓ E1 approved by Anna")


async def test_a_lane_with_a_question_that_cannot_be_read_moves(rig: Rig) -> None:
    await parked(rig)
    spoil(rig, "no JSON")
    await rig.accept(Relocation("tg:bot:moved", LANE, OTHER_LANE))
    await rig.accept(rig.order("/stop", lane=OTHER_LANE))
    assert read(rig, "SELECT state FROM escalation") == [("applied",)]


async def test_looking_for_questions_reads_an_index_for_each_message(rig: Rig) -> None:
    plans = read(
        rig,
        "EXPLAIN QUERY PLAN SELECT EXISTS (SELECT 1 FROM escalation WHERE chat = 'x' "
        "AND decided IS NULL) OR EXISTS (SELECT 1 FROM escalation WHERE chat = 'x' "
        "AND decided > 5)",
    )
    looked = [str(row[3]) for row in plans if "escalation" in str(row[3])]
    assert looked
    assert all("COVERING INDEX escalation_by_chat" in step for step in looked)
