"""The platforms of a run with all of them: each a town with chats, on its fake in this process.

Nothing here knows what is said; a town carries words in and tells what its chats show.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Protocol, TypeVar

from simcord.backend.models import User

from core.messages import PlatformName
from tests.fakes.discord_api import FakeDiscord
from tests.fakes.slack_api import FakeSlack
from tests.fakes.slack_people import MENTION
from tests.fakes.slack_world import ANNA, Channel
from tests.fakes.slack_world import Person as Member
from tests.fakes.telegram_api import FakeTelegram
from tests.fakes.telegram_world import Person
from tests.fakes.web_browser import FakeBrowser, Item

K = TypeVar("K")
V = TypeVar("V")

ALL = sys.maxsize
TOKEN = "a-token-of-many-letters"


class Town(Protocol):
    """A platform and what people do in its chats, which are numbered from 0."""

    name: PlatformName

    @property
    def settings(self) -> Mapping[str, object]:
        """The platform's own section of the configuration."""
        ...

    @property
    def owners(self) -> Sequence[int | str]:
        """Who may talk, for the platform's section of `access`; () where a token says so."""
        ...

    @property
    def chats(self) -> int:
        """How many there are."""
        ...

    async def say(self, chat: int, text: str) -> None:
        """Let the chat's person write; returns once the platform has it."""
        ...

    def shown(self, chat: int, latest: int = ALL) -> list[str]:
        """The bot's texts in the chat as they stand now, in order: all, or those among the
        latest messages of the place."""
        ...


class TelegramTown:
    """Private chats."""

    name = PlatformName.TELEGRAM

    def __init__(self, fake: FakeTelegram, chats: int) -> None:
        self._fake = fake
        self._people = [Person(2001 + number, f"P{number}") for number in range(chats)]

    @property
    def settings(self) -> Mapping[str, object]:
        """See `Town`."""
        return {
            "enabled": True,
            "token": self._fake.token,
            "base_url": self._fake.base_url,
            "base_file_url": self._fake.base_file_url,
        }

    @property
    def owners(self) -> Sequence[int | str]:
        """See `Town`."""
        return [person.id for person in self._people]

    @property
    def chats(self) -> int:
        """See `Town`."""
        return len(self._people)

    async def say(self, chat: int, text: str) -> None:
        """See `Town`."""
        self._fake.say(text, user=self._people[chat])

    def shown(self, chat: int, latest: int = ALL) -> list[str]:
        """See `Town`."""
        state = self._fake.world.chats.get(self._people[chat].id)
        messages = _latest(state.messages, latest) if state else []
        return [seen.text for seen in messages if seen.by_bot]


class DiscordTown:
    """Private channels, and threads of one channel."""

    name = PlatformName.DISCORD

    def __init__(self, fake: FakeDiscord, direct: int, threads: int) -> None:
        self._fake = fake
        users = [fake.backend.make_user(f"p{number}") for number in range(direct)]
        room = fake.channel()
        self._places: list[tuple[User, int]] = [(user, fake.direct(user)) for user in users]
        self._places += [(fake.anna, fake.thread(room)) for _ in range(threads)]

    @property
    def settings(self) -> Mapping[str, object]:
        """See `Town`."""
        return {
            "enabled": True,
            "token": self._fake.token,
            "api_base": self._fake.api_base,
            "gateway_url": self._fake.gateway_url,
        }

    @property
    def owners(self) -> Sequence[int | str]:
        """See `Town`."""
        return _distinct(user.id for user, _ in self._places)

    @property
    def chats(self) -> int:
        """See `Town`."""
        return len(self._places)

    async def say(self, chat: int, text: str) -> None:
        """See `Town`."""
        user, channel = self._places[chat]
        self._fake.say(text, user=user, channel=channel)

    def shown(self, chat: int, latest: int = ALL) -> list[str]:
        """See `Town`."""
        bot = self._fake.backend.bot_user.id
        messages = _latest(self._fake.backend.messages.get(self._places[chat][1], {}), latest)
        return [message.content for message in messages if message.author_id == bot]


class SlackTown:
    """Direct messages, and threads of one channel in which the app was called."""

    name = PlatformName.SLACK

    def __init__(self, fake: FakeSlack, direct: int, threads: int) -> None:
        self._fake = fake
        world, room = fake.world, fake.world.channel()
        people = [Member(f"U0P{number:05}", f"P{number}") for number in range(direct)]
        world.people.update((person.id, person) for person in people)
        self._places: list[tuple[Member, Channel, str]] = [
            (person, world.direct(person), "") for person in people
        ]
        for _ in range(threads):
            root = world.post(room, ANNA, "look", raw=f"{MENTION} look")
            self._places.append((ANNA, room, root.ts))

    @property
    def settings(self) -> Mapping[str, object]:
        """See `Town`."""
        return {
            "enabled": True,
            "bot_token": self._fake.bot_token,
            "app_token": self._fake.app_token,
            "base_url": self._fake.base_url,
        }

    @property
    def owners(self) -> Sequence[int | str]:
        """See `Town`."""
        return _distinct(person.id for person, _, _ in self._places)

    @property
    def chats(self) -> int:
        """See `Town`."""
        return len(self._places)

    async def say(self, chat: int, text: str) -> None:
        """A command goes as `!goal …`, which works in threads as well."""
        person, channel, thread = self._places[chat]
        said = f"!{text[1:]}" if text.startswith("/") else text
        self._fake.say(said, user=person, channel=channel, thread=thread)

    def shown(self, chat: int, latest: int = ALL) -> list[str]:
        """See `Town`."""
        _, channel, thread = self._places[chat]
        messages = _latest(channel.messages, latest)
        return [seen.text for seen in messages if seen.by_bot and seen.thread == thread]


class WebTown:
    """Chats of the web page in one browser, which is opened once the server is there."""

    name = PlatformName.WEB

    def __init__(self, port: int, chats: int) -> None:
        self.browser = FakeBrowser(f"http://127.0.0.1:{port}", TOKEN)
        self._port = port
        self._names = [f"chat{number:04}" for number in range(chats)]
        self._whole: dict[str, list[str]] = {}

    @property
    def settings(self) -> Mapping[str, object]:
        """See `Town`."""
        return {"enabled": True, "port": self._port, "token": TOKEN}

    @property
    def owners(self) -> Sequence[int | str]:
        """Whoever holds the token."""
        return ()

    @property
    def chats(self) -> int:
        """See `Town`."""
        return len(self._names)

    async def open(self) -> None:
        """Show all chats."""
        for name in self._names:
            await self.browser.open(name)

    async def say(self, chat: int, text: str) -> None:
        """See `Town`."""
        self.browser.say(self._names[chat], text)

    def shown(self, chat: int, latest: int = ALL) -> list[str]:
        """See `Town`."""
        name = self._names[chat]
        if name in self._whole:
            return self._whole[name]
        items = _latest(self.browser.windows[name].items, latest)
        return [item.text for item in items if item.what["who"] == "bot"]

    async def read_back(self) -> None:
        """Read all chats to their beginnings: a page shows the latest messages alone."""
        for name in self._names:
            pages: list[list[str]] = []
            before, more = "", True
            while more:
                told = await self.browser.get(f"/api/chats/{name}{before}")
                items = [Item(what, 0.0) for what in told["messages"] if what["who"] == "bot"]
                pages.insert(0, [item.text for item in items])
                before, more = f"?before={told['earlier']}", bool(told["earlier"])
            self._whole[name] = [text for page in pages for text in page]


def _latest(messages: dict[K, V], count: int) -> list[V]:
    """The last of them, in order, without looking at all."""
    return list(islice(reversed(messages.values()), count))[::-1]


def _distinct(ids: Iterable[int | str]) -> list[int | str]:
    return list(dict.fromkeys(ids))
