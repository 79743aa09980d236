"""The whole bot behind the web chat, on a fake model: for tests with a browser, real or not."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from core.ports import Platform
from gateway.compose.run import Choices, live
from gateway.compose.setup import Setup
from gateway.compose.web import web
from gateway.settings import Settings
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.web_browser import FakeBrowser

TOKEN = "the-token-of-the-web-tests"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def settings_of(models: FakeOpenAI, port: int, more: Mapping[str, object]) -> Settings:
    """Settings with the web chat alone."""
    return Settings.model_validate(
        {
            "providers": {"fake": {"base_url": models.base_url, "api_key": "test", "stall_s": 30}},
            "models": {
                "main": {"provider": "fake", "model": "main", "context_tokens": 100_000},
                "judge": {"provider": "fake", "model": "judge"},
            },
            "agent": {"model": "main", "toolsets": ["terminal", "file", "think", "send", "ask"]},
            "auxiliary": {
                "goal_judge": {"model": "judge", "timeout_s": 5},
                "compaction": {"model": "main"},
            },
            "platforms": {"web": {"enabled": True, "port": port, "token": TOKEN, **more}},
            "workspace": {"sandbox": "bwrap"},
        }
    )


@dataclass(slots=True)
class WebBot:
    """A running bot; `said` is what it wrote to its standard output."""

    models: FakeOpenAI
    settings: Settings
    data: Path
    base: str
    token: str = TOKEN
    said: StringIO = field(default_factory=StringIO)
    _task: asyncio.Task[None] | None = None

    def browser(self) -> FakeBrowser:
        """A browser that is not logged in yet."""
        return FakeBrowser(self.base, TOKEN)

    async def start(self) -> None:
        """Run the program; raises what ends it before its page can be opened."""
        choices = Choices(platforms=(self._web,))
        told = len(self.said.getvalue())
        self._task = asyncio.create_task(live(self.settings, self.data, choices), name="program")
        async with asyncio.timeout(20):
            while len(self.said.getvalue()) == told:
                await asyncio.sleep(0.01)
                if self._task.done():
                    await self._task

    def _web(self, setup: Setup) -> Platform:
        return web(setup, to=self.said)

    async def stop(self) -> None:
        """Cancel the program, as a crash of its task would."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None

    async def restart(self) -> None:
        """Die and come back on the same data, at the same address."""
        await self.stop()
        await self.start()


@asynccontextmanager
async def web_bot(data: Path, **more: object) -> AsyncIterator[WebBot]:
    """A bot whose page can be opened; `more` are settings of `platforms.web`."""
    async with FakeOpenAI() as models:
        port = free_port()
        bot = WebBot(models, settings_of(models, port, more), data, f"http://127.0.0.1:{port}")
        try:
            await bot.start()
            yield bot
        finally:
            with contextlib.suppress(asyncio.CancelledError):
                await bot.stop()
