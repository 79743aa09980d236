"""The whole bot on fakes: the real program in this loop, over the real SDKs and real SQLite.

A scenario reads like a chat: `bot.people.say(…)` speaks, `bot.models.script(…)` says what the
models answer, `await bot.heard("…")` waits for the bot's words.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gateway.compose.run import Choices, live
from gateway.compose.telegram import telegram
from gateway.settings import Settings
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.telegram_api import FakeTelegram
from tests.fakes.telegram_world import ANNA, Person, Seen

OWNER = ANNA


def settings_of(people: FakeTelegram, models: FakeOpenAI, **groups: object) -> Settings:
    """Settings that point at the fakes; `groups` replace or add top-level groups."""
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
    return Settings.model_validate({**base, **groups})


@dataclass(slots=True)
class Bot:
    """A running bot and its world."""

    people: FakeTelegram
    models: FakeOpenAI
    settings: Settings
    data: Path
    _task: asyncio.Task[None] | None = field(default=None)

    def say(self, text: str, *, user: Person = OWNER, chat: int | None = None) -> Seen:
        """A person writes."""
        return self.people.say(text, user=user, chat=chat)

    async def heard(self, *texts: str, chat: int = OWNER.id, within_s: float = 10.0) -> list[str]:
        """Wait until the bot's messages in a chat contain these texts, each in one, in order.

        Returns the texts of all its messages there.
        """

        def enough() -> list[str] | None:
            said = self.said(chat)
            position = 0
            for text in texts:
                while position < len(said) and text not in said[position]:
                    position += 1
                if position == len(said):
                    return None
                position += 1
            return said

        return await self.people.wait_for(enough, within_s)

    def said(self, chat: int = OWNER.id) -> list[str]:
        """The bot's messages in a chat, as they stand now."""
        return [seen.text for seen in self.people.by_bot(chat)]

    async def start(self) -> None:
        """Run the program."""
        choices = Choices(platforms=(telegram,))
        self._task = asyncio.create_task(live(self.settings, self.data, choices), name="program")
        polling = asyncio.create_task(self._polling(), name="wait for the first poll")
        await asyncio.wait({self._task, polling}, return_when=asyncio.FIRST_COMPLETED)
        polling.cancel()
        if self._task.done():
            await self._task

    async def _polling(self) -> None:
        await self.people.wait_for(lambda: self.people.counts["getme"] or None, 20.0)

    async def stop(self) -> None:
        """Cancel the program, as a crash of its task would; the store is closed."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None


@asynccontextmanager
async def running_bot(data: Path, **groups: object) -> AsyncIterator[Bot]:
    """A bot on fresh fakes, stopped at the end."""
    async with FakeTelegram() as people, FakeOpenAI() as models:
        bot = Bot(people, models, settings_of(people, models, **groups), data)
        await bot.start()
        try:
            yield bot
        finally:
            await bot.stop()
