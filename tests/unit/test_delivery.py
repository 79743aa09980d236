"""Delivery on a real store and a platform that fails as it is told: when it tries again, when it
gives up, and what it never forgets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from adapters.sqlite.store import RESERVE_NAME, SqliteStore
from core.errors import PermanentError, TransientError
from core.messages import Address, Attachment, Outbound, PlatformName, RemoteId, Say
from core.ports import Health, Intake, Mark, Sent
from core.sessions.outgoing import Outgoing
from core.sessions.ports import Signals, Store
from core.splitting import Room
from gateway.delivery import GIVE_UP_S, GIVE_UP_TRIES, Delivery, Pauses
from gateway.narrator import Narrator
from gateway.platforms import Platforms
from tests.contracts.backends import sqlite
from tests.contracts.parking_rig import approve, waiting
from tests.contracts.store_rig import LANE, NOW, Opening, OpenStore, Rig, answered

DAY_AND_A_BIT = GIVE_UP_S + 3600.0
OFF = TransientError("no route to the chat")
QUICK = Pauses(0.001, 0.001, 0.002)
ENDLESS = Pauses(0.02, 600.0, 600.0)
"""No test sits such a pause out."""


@dataclass(slots=True)
class TwoClocks:
    """Wall time and monotonic time, each moved by itself."""

    wall: float = NOW
    steady: float = 5.0

    def now(self) -> float:
        """See `Clock.now`."""
        return self.wall

    def monotonic(self) -> float:
        """See `Clock.monotonic`."""
        return self.steady


@dataclass(slots=True)
class Moody:
    """A platform on which each try goes as `moods` says, the last of them for ever: None is a
    success."""

    moods: list[TransientError | None]
    before: Callable[[int], None] = lambda tries: None
    name: PlatformName = PlatformName.TELEGRAM
    repeats_s: float = 0.0
    keys: list[str] = field(default_factory=list)
    tries: list[float] = field(default_factory=list)
    posted: list[str] = field(default_factory=list)
    edits: list[TransientError | PermanentError | None] = field(default_factory=list)
    """How each edit goes, as `moods` says of the sends; all succeed when it is empty."""
    edited: list[tuple[str, str]] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, address: Address, what: Outbound, *, key: str = "") -> Sent:
        """See `Platform.send`."""
        assert isinstance(what, Say)
        self.tries.append(time.monotonic())
        self.keys.append(key)
        self.before(len(self.tries))
        self.changed.set()
        mood = self.moods.pop(0) if len(self.moods) > 1 else self.moods[0]
        if mood is not None:
            raise mood
        self.posted.append(what.text)
        return Sent(RemoteId(f"m{len(self.posted)}"), NOW)

    async def until(self, true: Callable[[], bool]) -> None:
        """Return when something is so, which a try brings about."""
        async with asyncio.timeout(10):
            while not true():
                self.changed.clear()
                await self.changed.wait()

    def parts(self, text: str) -> tuple[Outbound, ...]:
        """See `Platform.parts`."""
        return (Say(text),)

    @property
    def room(self) -> Room:
        """See `Platform.room`."""
        return Room(4_000)

    def health(self) -> Health:
        """See `Platform.health`."""
        return Health(ok=True, silent_s=0.0, detail="")

    async def run(self, intake: Intake) -> None:
        """See `Platform.run`."""

    async def edit(self, address: Address, remote: RemoteId, what: Say) -> None:
        """See `Platform.edit`."""
        self.changed.set()
        mood = self.edits.pop(0) if self.edits else None
        if mood is not None:
            raise mood
        self.edited.append((remote, what.text.splitlines()[0]))

    async def show_progress(
        self, address: Address, turn: int, remote: RemoteId | None, text: str
    ) -> RemoteId | None:
        """See `Platform.show_progress`."""
        return None

    async def acknowledge(self, address: Address, remote: RemoteId, state: Mark) -> None:
        """See `Platform.acknowledge`."""

    async def download(self, attachment: Attachment, to: Path) -> None:
        """See `Platform.download`."""


class Forgetful(SqliteStore):
    """A store whose disk is full whenever it is first told what became of a message."""

    full = 2

    def _check(self) -> None:
        if self.full:
            self.full -= 1
            raise TransientError("the disk is full")

    async def sent(self, outgoing: Outgoing, sent: Sent) -> tuple[bool, Signals]:
        """See `Store.sent`."""
        self._check()
        return await super().sent(outgoing, sent)

    async def unsent(self, outgoing: Outgoing, *, doubtful: bool) -> None:
        """See `Store.unsent`."""
        self._check()
        await super().unsent(outgoing, doubtful=doubtful)

    async def dead(self, outgoing: Outgoing, reason: str) -> Signals:
        """See `Store.dead`."""
        self._check()
        return await super().dead(outgoing, reason)


async def forgetful(opening: Opening) -> Store:
    """Open such a store."""
    opening.folder.mkdir(parents=True, exist_ok=True)
    (opening.folder / RESERVE_NAME).touch()
    store = Forgetful(opening.folder, clock=opening.clock, run=opening.run, sync="OFF")
    await store.open()
    return store


@dataclass(slots=True)
class Chat:
    """A lane with answers to send, and the delivery at work on it."""

    platform: Moody
    delivery: Delivery
    clock: TwoClocks

    async def emptied(self) -> list[str]:
        """All that was posted, once nothing is left to do."""
        async with asyncio.timeout(10):
            await self.delivery.flushed()
        return self.platform.posted

    async def storm(self, true: Callable[[], bool]) -> None:
        """Enlist the lane again and again until something is so."""
        async with asyncio.timeout(10):
            while not true():
                self.delivery.enlist(LANE)
                await asyncio.sleep(0)


@asynccontextmanager
async def sending(
    folder: Path,
    *moods: TransientError | None,
    answers: tuple[str, ...] = ("one",),
    pauses: Pauses = QUICK,
    open_store: OpenStore = sqlite,
    first_try_days_ago: float = 0.0,
) -> AsyncIterator[Chat]:
    """A delivery that has begun to send these answers."""
    rig = await Rig.start(open_store, folder)
    for text in answers:
        await rig.say("say something")
        await rig.end(await rig.turn(), answered(text))
    if first_try_days_ago:
        tried = await rig.store.next_outgoing(LANE, now=NOW - 86_400 * first_try_days_ago)
        assert tried is not None
        await rig.store.unsent(tried, doubtful=False)
    platform, clock, platforms = Moody(list(moods)), TwoClocks(), Platforms()
    platforms.add(platform)
    delivery = Delivery(
        rig.store, platforms, Narrator(platforms), clock, lambda: None, pauses=pauses
    )
    async with asyncio.TaskGroup() as group:
        life = group.create_task(delivery.run(), name="delivery")
        await asyncio.sleep(0)  # it has begun: what is enlisted from now on is not idle
        delivery.enlist(LANE)
        yield Chat(platform, delivery, clock)
        life.cancel()
    await rig.store.close()


def gaps(platform: Moody) -> list[float]:
    """The time between the tries."""
    return [after - before for before, after in pairwise(platform.tries)]


# When it tries again


async def test_something_new_in_the_chat_cuts_a_pause_short(tmp_path: Path) -> None:
    async with sending(tmp_path, OFF, None, pauses=ENDLESS) as chat:
        await chat.platform.until(lambda: len(chat.platform.tries) == 1)
        chat.delivery.enlist(LANE)
        assert await chat.emptied() == ["one"]


async def test_a_storm_of_new_things_tries_no_more_often_than_the_least_pause(
    tmp_path: Path,
) -> None:
    async with sending(tmp_path, OFF, pauses=ENDLESS) as chat:
        await chat.storm(lambda: len(chat.platform.tries) == 6)
        assert min(gaps(chat.platform)) >= 0.02


async def test_a_pause_that_the_platform_asked_for_is_never_cut(tmp_path: Path) -> None:
    cool_down = TransientError("too many", retry_after=0.25)
    async with sending(tmp_path, cool_down, None) as chat:
        await chat.storm(lambda: bool(chat.platform.posted))
        assert gaps(chat.platform)[0] >= 0.25


def test_a_silent_chat_is_tried_twice_a_minute_at_the_least() -> None:
    assert Pauses() == Pauses(least_s=1.0, first_s=1.0, longest_s=30.0)


# When it gives up


async def test_a_clock_that_jumps_drops_nothing(tmp_path: Path) -> None:
    moods = [OFF] * (GIVE_UP_TRIES + 5)
    async with sending(tmp_path, *moods, None) as chat:

        def jump(tries: int) -> None:
            chat.clock.wall += DAY_AND_A_BIT

        chat.platform.before = jump
        assert await chat.emptied() == ["one"]


async def test_a_machine_that_was_off_for_days_tries_again(tmp_path: Path) -> None:
    async with sending(tmp_path, OFF, None, first_try_days_ago=3.0) as chat:
        assert await chat.emptied() == ["one"]


async def test_a_day_with_few_tries_drops_nothing(tmp_path: Path) -> None:
    async with sending(tmp_path, OFF, OFF, None) as chat:

        def sleep_long(tries: int) -> None:
            chat.clock.steady += DAY_AND_A_BIT

        chat.platform.before = sleep_long
        assert await chat.emptied() == ["one"]


async def test_after_a_day_of_tries_the_next_message_gets_its_turn(tmp_path: Path) -> None:
    moods = [OFF] * (GIVE_UP_TRIES + 1)
    async with sending(tmp_path, *moods, None, answers=("one", "two")) as chat:

        def go_on(tries: int) -> None:
            chat.clock.steady += DAY_AND_A_BIT / GIVE_UP_TRIES

        chat.platform.before = go_on
        assert await chat.emptied() == ["two"]


# What it never forgets


async def test_a_message_whose_arrival_could_not_be_stored_is_not_posted_again(
    tmp_path: Path,
) -> None:
    async with sending(tmp_path, None, answers=("one", "two"), open_store=forgetful) as chat:
        assert await chat.emptied() == ["one", "two"]


async def test_a_failure_that_could_not_be_stored_is_no_doubt(tmp_path: Path) -> None:
    async with sending(tmp_path, OFF, None, open_store=forgetful) as chat:
        assert await chat.emptied() == ["one"]


@pytest.mark.parametrize(("repeats_s", "said"), [(0.0, "(may be a repeat) one"), (3_600.0, "one")])
async def test_a_repeat_is_marked_unless_the_platform_knows_the_key_again(
    tmp_path: Path, repeats_s: float, said: str
) -> None:
    doubt = TransientError("the answer was lost", doubtful=True)
    async with sending(tmp_path, doubt, None) as chat:
        chat.platform.repeats_s = repeats_s
        assert await chat.emptied() == [said]
        first, again = chat.platform.keys
        assert first == again


# What becomes of a card that was answered


@asynccontextmanager
async def deciding(
    folder: Path, *edits: TransientError | PermanentError | None
) -> AsyncIterator[Chat]:
    """A delivery that has begun to edit an answered card, with something to say behind it."""
    rig = await Rig.start(sqlite, folder)
    await waiting(rig)
    await approve(rig)
    await rig.tell("/whoami")
    platform, clock, platforms = Moody([None], edits=list(edits)), TwoClocks(), Platforms()
    platforms.add(platform)
    delivery = Delivery(rig.store, platforms, Narrator(platforms), clock, lambda: None, QUICK)
    async with asyncio.TaskGroup() as group:
        life = group.create_task(delivery.run(), name="delivery")
        await asyncio.sleep(0)
        delivery.enlist(LANE)
        yield Chat(platform, delivery, clock)
        life.cancel()
    await rig.store.close()


DECIDED = [("1", "✓ E1 approved by Anna, 2023-11-14 22:13 UTC")]


async def test_a_decision_takes_the_cards_place(tmp_path: Path) -> None:
    async with deciding(tmp_path) as chat:
        await chat.emptied()
        assert chat.platform.edited == DECIDED
        assert not any("E1 approved" in text for text in chat.platform.posted[1:])


async def test_a_decision_that_could_not_be_shown_yet_is_tried_again(tmp_path: Path) -> None:
    doubt = TransientError("the answer was lost", doubtful=True)
    async with deciding(tmp_path, OFF, doubt, None) as chat:
        await chat.emptied()
        assert chat.platform.edited == DECIDED  # an edit arrives once however often it is made


async def test_a_card_that_somebody_deleted_holds_nobody_up_and_alarms_nobody(
    tmp_path: Path,
) -> None:
    with capture_logs() as logs:
        async with deciding(tmp_path, PermanentError("message not found")) as chat:
            said = await chat.emptied()
    assert any(text.startswith("You are Anna") for text in said)
    assert chat.platform.edited == []
    told = [entry for entry in logs if entry["event"] == "undeliverable"]
    assert [entry["log_level"] for entry in told] == ["debug"]
