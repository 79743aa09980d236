"""The real program with its people in one place, asked and answering.

A test reads like a chat: `bot.models.script(…)` says what the models answer, `place.say(…)` what
people say, `await place.heard("…")` waits for the bot's words.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from adapters.sqlite.database import FILE_NAME
from core.messages import PlatformName
from gateway.compose.run import Choices, live
from gateway.settings import Settings
from tests.fakes.discord_api import FakeDiscord
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import Answer, calls
from tests.fakes.openai_seen import Seen
from tests.fakes.slack_api import FakeSlack
from tests.fakes.telegram_api import FakeTelegram
from tests.scenarios.asking_discord import DiscordPlace
from tests.scenarios.asking_places import (
    OWNERS,
    WITHIN_S,
    Place,
    Shown,
    Who,
)
from tests.scenarios.asking_slack import SlackPlace
from tests.scenarios.asking_telegram import TelegramPlace

PLATFORMS = ("telegram", "discord", "slack")
THREADS = tuple(f"{name}-thread" for name in PLATFORMS)
HOMES = tuple(f"{name}-home" for name in PLATFORMS)
PLACES = (*THREADS, *HOMES)
everywhere = pytest.mark.parametrize("where", PLACES)
in_threads = pytest.mark.parametrize("where", THREADS)
at_home = pytest.mark.parametrize("where", HOMES)

PUSH = "git push --force origin main"


def ask(question: str, **fields: object) -> tuple[str, Mapping[str, object]]:
    """A call with which the agent asks a person."""
    return ("ask", {"question": question, **fields})


def asks(question: str, **fields: object) -> Answer:
    """The model asks one thing."""
    return calls(ask(question, **fields))


def runs(command: str = PUSH) -> Answer:
    """The model runs a command, by default one that needs leave."""
    return calls(("run", {"command": command}))


COLOUR = asks("Which colour?", kind="choose", options=["red", "blue"])


class JumpingClock:
    """The machine's clocks, and what a test adds to both."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        """Epoch seconds."""
        return time.time() + self.ahead

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic() + self.ahead


@dataclass(slots=True)
class Bot:
    """The program, its models and its data."""

    place: Place
    models: FakeOpenAI
    data: Path
    changes: Mapping[str, object]
    clock: JumpingClock = field(default_factory=JumpingClock)
    _task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Run, until it has connected; raises what ends it before that."""
        before = self.place.lives()
        choices = Choices(platforms=(self.place.maker,), clock=self.clock)
        settings = settings_of(self.place, self.models, self.changes)
        self._task = asyncio.create_task(live(settings, self.data, choices), name="program")
        connected = asyncio.create_task(
            self.place.wait_for(lambda: self.place.lives() > before), name="connected"
        )
        await asyncio.wait({self._task, connected}, return_when=asyncio.FIRST_COMPLETED)
        if self._task.done():
            connected.cancel()
            await self._task
        await connected
        if self.place.platform is PlatformName.DISCORD:
            await self._caught_up()

    async def _caught_up(self) -> None:
        """What is said before Discord has been read for the first time reaches no bot."""
        async with asyncio.timeout(WITHIN_S):
            while not self.rows("SELECT 1 FROM cursor"):  # noqa: ASYNC110 - a database is silent
                await asyncio.sleep(0.02)

    async def stop(self) -> None:
        """Cancel it, as a crash of its task would."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None

    async def restart(self) -> None:
        """Die and come back on the same data."""
        await self.stop()
        await self.start()

    async def card(self, words: str, *more: str) -> Shown:
        """The card with these words, once it is there."""
        card = await self.place.heard(words)
        async with asyncio.timeout(WITHIN_S):
            while self.rows("SELECT 1 FROM escalation WHERE state = 'pending_send'"):  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.01)  # it counts as shown once the platform has said so
        for each in more:
            assert each in card.text, card.text
        return card

    async def press(self, on: Shown, label: str, who: Who = Who.ANNA) -> str:
        """A press, and what the person was told."""
        return await self.place.told(self.place.press(on, label, who))

    def now(self, card: Shown) -> Shown:
        """A message as it is now."""
        return next(one for one in self.place.shown() if one.id == card.id)

    async def becomes(self, card: Shown, words: str) -> Shown:
        """A card, once it begins with these words."""
        return await self.place.wait_for(
            lambda: one if (one := self.now(card)).text.startswith(words) else None
        )

    async def asked(self, count: int, role: str = "main") -> Seen:
        """The latest request to a model, once there are so many."""
        found = await self.models.wait_for_requests(count, role, within_s=WITHIN_S)
        assert len(found) == count
        return found[-1]

    async def answered(self, line: str, words: str, who: Who = Who.ANNA) -> str:
        """Give a command, and wait for an answer with these words, to all or to them alone."""
        told = self.place.order(line, who)

        def answer() -> str | None:
            return next((t for t in (told(), *self.place.texts()[::-1]) if words in t), None)

        try:
            return await self.place.wait_for(answer)
        except AssertionError as error:
            raise AssertionError(f"{words!r} not in {told()!r}, {self.place.texts()}") from error

    async def alone(self, words: str) -> str:
        """What a message was refused with, told to its writer alone where that can be done."""
        return await self.place.wait_for(
            lambda: next(
                (t for t in (*self.place.asides(), *self.place.texts()) if words in t), None
            )
        )

    async def calm(self) -> list[str]:
        """Wait until all that was on its way has come; the bot's texts without the answer to
        what this asks."""
        before = self.place.texts()
        self.place.order("/whoami")
        mark = str(self.place.id_of(Who.ANNA))
        await self.place.wait_for(
            lambda: sum(mark in t for t in self.place.texts()) > sum(mark in t for t in before)
        )
        return [text for text in self.place.texts() if mark not in text]

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """What the store has of it."""
        with contextlib.closing(
            sqlite3.connect(f"file:{self.data / FILE_NAME}?mode=ro", uri=True)
        ) as conn:
            return conn.execute(query).fetchall()

    def change(self, *orders: str) -> None:
        """Change the store while the program is down."""
        assert self._task is None
        with contextlib.closing(sqlite3.connect(self.data / FILE_NAME)) as conn, conn:
            for order in orders:
                conn.execute(order)

    def trail(self) -> list[str]:
        """What has happened to questions, in order."""
        return [
            str(what) for (what,) in self.rows("SELECT what FROM escalation_event ORDER BY id")
        ]

    def refusals(self) -> list[tuple[object, ...]]:
        """Who was refused, and what."""
        return self.rows("SELECT person, what FROM audit WHERE refused = 1 ORDER BY id")


def settings_of(place: Place, models: FakeOpenAI, changes: Mapping[str, object]) -> Settings:
    """Settings that point at the fakes; `changes` replace whole sections."""
    name = place.platform.value
    base: dict[str, object] = {
        "providers": {"fake": {"base_url": models.base_url, "api_key": "test", "stall_s": 30}},
        "models": {
            "main": {"provider": "fake", "model": "main", "context_tokens": 100_000},
            "judge": {"provider": "fake", "model": "judge"},
        },
        "agent": {"model": "main", "toolsets": ["terminal", "file", "ask"]},
        "auxiliary": {
            "goal_judge": {"model": "judge", "timeout_s": 5},
            "compaction": {"model": "main"},
        },
        "access": {
            name: {
                "owners": [place.id_of(who) for who in OWNERS],
                "members": [place.id_of(Who.MIA)],
            }
        },
        "platforms": {name: dict(place.settings)},
    }
    return Settings.model_validate(base | dict(changes))


@asynccontextmanager
async def place_of(where: str) -> AsyncIterator[Place]:
    """A place by its name."""
    name, _, kind = where.partition("-")
    private = kind == "home"
    async with AsyncExitStack() as stack:
        match name:
            case "telegram":
                telegram = await stack.enter_async_context(FakeTelegram())
                yield TelegramPlace(telegram, private=private)
            case "discord":
                discord = await stack.enter_async_context(FakeDiscord())
                yield DiscordPlace(discord, private=private)
            case _:
                slack = await stack.enter_async_context(FakeSlack())
                yield SlackPlace(slack, private=private)


@asynccontextmanager
async def running(where: str, data: Path, **changes: object) -> AsyncIterator[Bot]:
    """A bot in a place, stopped at the end."""
    async with place_of(where) as place, FakeOpenAI() as models:
        bot = Bot(place, models, data, changes)
        try:
            await bot.start()
            yield bot
        finally:
            await bot.stop()
