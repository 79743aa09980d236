"""The whole bot on fakes: the real program in this loop, over the real SDKs and real SQLite.

A scenario reads like a chat: `bot.say(…)` speaks, `bot.models.script(…)` says what the models
answer, `await bot.heard("…")` waits for the bot's words. `await bot.all_said()` returns when all
that was on its way in a chat has arrived, so that what is not there then never comes.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from gateway.compose.run import Choices, live
from gateway.compose.telegram import telegram
from gateway.settings import Settings
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import Answer, Scripted, text
from tests.fakes.openai_seen import Seen as Request
from tests.fakes.telegram_api import FakeTelegram
from tests.fakes.telegram_world import ANNA, Person, Seen

T = TypeVar("T")

OWNER = ANNA
WITHIN_S = 15.0
ASIDE = "unheard_of_"


def settings_of(
    people: FakeTelegram, models: FakeOpenAI, changes: Mapping[str, object]
) -> Settings:
    """Settings that point at the fakes; `changes` are merged into their groups."""
    base: dict[str, object] = {
        "providers": {"fake": {"base_url": models.base_url, "api_key": "test", "stall_s": 30}},
        "models": {
            "main": {"provider": "fake", "model": "main", "context_tokens": 100_000},
            "judge": {"provider": "fake", "model": "judge"},
        },
        "agent": {"model": "main", "toolsets": ["terminal", "file", "think", "send"]},
        "auxiliary": {
            "goal_judge": {"model": "judge", "timeout_s": 5},
            "compaction": {"model": "main"},
        },
        "access": {"telegram": {"owners": [OWNER.id]}},
        "platforms": {
            "telegram": {
                "enabled": True,
                "token": people.token,
                "base_url": people.base_url,
                "base_file_url": people.base_file_url,
            }
        },
        "workspace": {"sandbox": "bwrap"},
    }
    return Settings.model_validate(_merged(base, changes))


def _merged(base: Mapping[str, object], changes: Mapping[str, object]) -> dict[str, object]:
    merged = dict(base)
    for key, change in changes.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(change, Mapping)
        merged[key] = _merged(old, change) if both else change  # type: ignore[arg-type]
    return merged


def counting(words: str = "Step") -> Callable[[Request], Scripted]:
    """A model's default that never says the same twice: `Step 1.`, `Step 2.`, …"""
    said = 0

    def answer(_: Request) -> Answer:
        nonlocal said
        said += 1
        return text(f"{words} {said}.")

    return answer


def nap() -> str:
    """A command that outlasts every test and is told from all others on the machine."""
    return f"sleep 1000.{secrets.randbelow(10**12)}"


def processes(command: str) -> list[int]:
    """The live processes with this command line, in whatever sandbox."""
    wanted = command.replace(" ", "\0").encode() + b"\0"
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (folder / "cmdline").read_bytes() == wanted:
                found.append(int(folder.name))
    return found


async def eventually(true: Callable[[], T | None], within_s: float = WITHIN_S) -> T:
    """Wait for something of the machine, which tells nobody when it changes."""
    async with asyncio.timeout(within_s):
        while not (value := true()):  # noqa: ASYNC110 - a process sends no events
            await asyncio.sleep(0.02)
    return value


@dataclass(slots=True)
class Bot:
    """A running bot and its world."""

    people: FakeTelegram
    models: FakeOpenAI
    settings: Settings
    data: Path
    _task: asyncio.Task[None] | None = field(default=None)
    _asked: int = 0

    # What people do

    def say(
        self,
        text: str,
        *,
        user: Person = OWNER,
        chat: int | None = None,
        topic: int = 0,
        reply_to: Seen | None = None,
    ) -> Seen:
        """A person writes."""
        return self.people.say(text, user=user, chat=chat, topic=topic, reply_to=reply_to)

    async def press(self, label: str, *, user: Person = OWNER, chat: int = OWNER.id) -> str:
        """Press the newest button with that label, once there is one; the toast."""

        def newest() -> Seen | None:
            shown = reversed(self.people.by_bot(chat))
            return next((seen for seen in shown if label in dict(seen.buttons)), None)

        message = await self.people.wait_for(newest, WITHIN_S)
        return await self.people.toast(self.people.press(message, label, user=user))

    # What the bot says

    def said(self, chat: int = OWNER.id) -> list[str]:
        """The bot's messages in a chat, as they stand now."""
        shown = (seen.text for seen in self.people.by_bot(chat))
        return [words for words in shown if ASIDE not in words]

    async def heard(
        self, *texts: str, chat: int = OWNER.id, within_s: float = WITHIN_S
    ) -> list[str]:
        """Wait until the bot's messages in a chat contain these texts, each in one, in order.

        Returns the texts of all its messages there.
        """

        def enough() -> list[str] | None:
            said = self.said(chat)
            position = 0
            for words in texts:
                while position < len(said) and words not in said[position]:
                    position += 1
                if position == len(said):
                    return None
                position += 1
            return said

        try:
            return await self.people.wait_for(enough, within_s)
        except AssertionError as error:
            raise AssertionError(f"{texts} not among {self.said(chat)}") from error

    async def status(self) -> str:
        """What `/goal` answers to the owner."""
        before = len(self.said())
        self.say("/goal status")
        said = await self.all_said()
        return next(words for words in said[before:] if words.startswith("⊙ Goal ("))

    async def until(self, true: Callable[[], T | None], within_s: float = WITHIN_S) -> T:
        """Wait for something of the chats: its first true value."""
        return await self.people.wait_for(true, within_s)

    async def all_said(self, chat: int = OWNER.id, *, topic: int = 0) -> list[str]:
        """Wait until all that the bot had to send to a chat has arrived there.

        It asks for something that the bot answers after all the rest, as a chat's messages go
        out in order. `said` leaves that answer out.
        """
        self._asked += 1
        name = f"{ASIDE}{self._asked}"
        private = chat > 0
        asker = self.people.world.people.get(chat, OWNER) if private else OWNER
        self.say(f"/{name}", user=asker, chat=None if private else chat, topic=topic)
        answer = f"Unknown command /{name}. /help lists them all."
        await self.until(lambda: answer in [seen.text for seen in self.people.by_bot(chat)])
        return self.said(chat)

    # What the models were asked

    async def asked(self, count: int, role: str = "main") -> list[Request]:
        """The requests to a model, once there are so many."""
        return await self.models.wait_for_requests(count, role, within_s=WITHIN_S)

    def workspace(self, chat: int = OWNER.id) -> Path:
        """The one folder that a chat's lane works in."""
        [folder] = (self.data / "workspaces").glob(f"*{chat}*")
        return folder

    # The program

    async def start(self) -> None:
        """Run the program; raises what ends it before it has polled."""
        polls = len(self.people.queue.offsets)
        choices = Choices(platforms=(telegram,))
        self._task = asyncio.create_task(live(self.settings, self.data, choices), name="program")
        polling = asyncio.create_task(self._polling(polls), name="wait for the first poll")
        await asyncio.wait({self._task, polling}, return_when=asyncio.FIRST_COMPLETED)
        polling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await polling
        if self._task.done():
            await self._task

    async def _polling(self, before: int) -> None:
        await self.people.wait_for(lambda: len(self.people.queue.offsets) > before, 20.0)

    async def stop(self) -> None:
        """Cancel the program, as a crash of its task would; the store is closed."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None

    async def restart(self) -> None:
        """Die and come back on the same data."""
        await self.stop()
        await self.start()


@asynccontextmanager
async def running_bot(data: Path, **changes: object) -> AsyncIterator[Bot]:
    """A bot on fresh fakes, stopped at the end."""
    async with idle_bot(data, **changes) as bot:
        await bot.start()
        yield bot


@asynccontextmanager
async def idle_bot(data: Path, **changes: object) -> AsyncIterator[Bot]:
    """A bot that has not been started, with its world."""
    token = f"4242:{secrets.token_hex(16)}"  # a token is locked over the whole machine
    async with FakeTelegram(token) as people, FakeOpenAI() as models:
        bot = Bot(people, models, settings_of(people, models, changes), data)
        try:
            yield bot
        finally:
            await bot.stop()
