"""The stage of a kill test: the fakes, the victim that lives among them, and its folders."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from adapters.workspace.workspace import home_of
from core.messages import Address, PlatformName
from tests.e2e.kill_victim import Victim, victim
from tests.e2e.kill_world import AimedModels, AimedTelegram, settings_for
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.telegram_world import Person


@dataclass(frozen=True, slots=True)
class Stage:
    """A program that has not been started yet, and its world. `settings` are what it is told."""

    people: AimedTelegram
    models: AimedModels
    bot: Victim
    data: Path
    settings: dict[str, object]

    def workspace(self, person: Person) -> Path:
        """Where the commands of a person's own chat run."""
        account = str(self.people.bot.id)
        address = Address(PlatformName.TELEGRAM, account, str(person.id))
        return home_of(address.key, self.data)

    def shown(self, person: Person) -> list[str]:
        """The bot's messages in a person's own chat, as they stand now."""
        return [seen.text for seen in self.people.by_bot(person.id)]


@asynccontextmanager
async def stage(
    folder: Path, *owners: Person, lanes: Mapping[str, object] | None = None
) -> AsyncIterator[Stage]:
    """A stage for these people; nothing of it is left at the end."""
    async with AimedTelegram() as people, FakeOpenAI(keep=8) as fake:
        settings = settings_for(people, fake, *owners) | {"lanes": lanes or {}}
        data = folder / "data"
        async with victim(folder, data, settings) as bot:
            yield Stage(people, AimedModels(fake), bot, data, settings)
