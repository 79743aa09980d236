"""The real web chat on an intake and a past that are kept in memory: no bot behind it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from adapters.web.adapter import WebPlatform
from adapters.web.options import MenuEntry, WebOptions
from core.commands import COMMANDS
from gateway.access import Access, Door
from tests.fakes.intake import FakeIntake
from tests.fakes.people import MemoryPeople
from tests.fakes.telegram_rig import RealClock
from tests.fakes.web_browser import FakeBrowser
from tests.fakes.web_past import FakePast
from tests.fakes.web_rig import free_port

TOKEN = "the token of these tests"
LIMIT = 64 * 1024
MENU = [MenuEntry(spec.name, spec.summary, spec.usage, spec.words) for spec in COMMANDS]


class Served:
    """One adapter that serves at `base`, and what it was given."""

    def __init__(self, folder: Path, *, origins: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.intake = FakeIntake()
        self.past = FakePast()
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.token = TOKEN
        self.told: list[str] = []
        self.options = WebOptions(
            token=TOKEN,
            folder=folder,
            announce=self.told.append,
            port=self.port,
            origins=origins,
            max_upload=LIMIT,
            close_s=0.2,
        )
        self.people = MemoryPeople()
        clock = RealClock()
        self.platform = WebPlatform(
            self.options,
            past=self.past,
            clock=clock,
            door=Door(Access({}, self.people), clock, "login"),
            commands=MENU,
        )

    def browser(self) -> FakeBrowser:
        """A browser that is not logged in yet."""
        return FakeBrowser(self.base, TOKEN)


@asynccontextmanager
async def serving(folder: Path, *, origins: tuple[str, ...] = ()) -> AsyncIterator[Served]:
    """It serves while entered, and has not failed at the end."""
    served = Served(folder, origins=origins)
    task = asyncio.create_task(served.platform.run(served.intake), name="web")
    await served.intake.wait_for(lambda: served.intake.caught)
    try:
        yield served
    finally:
        task.cancel()
        await asyncio.wait({task})
    assert task.cancelled()
