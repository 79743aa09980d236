"""The places where people are asked: a chat of two and a shared thread on each platform, on its
fake in this process.

A place carries words and presses in, and tells what it shows: to all, and to one person alone.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from simcord.backend.models import Interaction, User

from core.messages import PlatformName
from gateway.compose.discord import discord
from gateway.compose.setup import PlatformMaker
from gateway.compose.slack import slack
from gateway.compose.telegram import telegram
from tests.fakes.discord_api import FakeDiscord
from tests.fakes.slack_api import FakeSlack
from tests.fakes.slack_delivery import Envelope
from tests.fakes.slack_people import MENTION
from tests.fakes.slack_world import BOT
from tests.fakes.slack_world import Person as Member
from tests.fakes.slack_world import Seen as Post
from tests.fakes.telegram_api import FakeTelegram
from tests.fakes.telegram_world import Person
from tests.fakes.telegram_world import Seen as Note

T = TypeVar("T")
WITHIN_S = 30.0


class Who(Enum):
    """The people; only the first three are owners, and nobody has let Sam in."""

    ANNA = "Anna"
    OLA = "Ola"
    OLE = "Ole"
    MIA = "Mia"
    SAM = "Sam"


OWNERS = (Who.ANNA, Who.OLA, Who.OLE)


@dataclass(frozen=True, slots=True)
class Shown:
    """A message of the bot as it stands now; `buttons` are label and data, `pings` whatever in it
    calls somebody."""

    id: str
    text: str
    buttons: tuple[tuple[str, str], ...] = ()
    pings: tuple[str, ...] = ()
    edits: int = 0

    @property
    def labels(self) -> tuple[str, ...]:
        """The words on its buttons."""
        return tuple(label for label, _ in self.buttons)


class Place(ABC):
    """Where a conversation is, and a second place, of the same people, to compare with."""

    platform: PlatformName
    maker: PlatformMaker
    private: bool

    @property
    @abstractmethod
    def settings(self) -> Mapping[str, object]:
        """The platform's own section of the configuration."""

    @abstractmethod
    def id_of(self, who: Who) -> int | str:
        """A person's id, as `access` takes it."""

    @abstractmethod
    def call(self, who: Who, name: str) -> None:
        """Let a person be called otherwise."""

    @abstractmethod
    def lives(self) -> int:
        """How often the bot has connected."""

    @abstractmethod
    def say(self, text: str, who: Who = Who.ANNA, reply_to: str = "") -> None:
        """A person speaks to the bot."""

    @abstractmethod
    def order(self, line: str, who: Who = Who.ANNA) -> Callable[[], str]:
        """A person gives a command; what it was answered with to them alone, "" for nothing."""

    @abstractmethod
    def shown(self) -> list[Shown]:
        """The bot's messages in the place, in order."""

    @abstractmethod
    def elsewhere(self) -> list[str]:
        """The bot's texts in all other places."""

    @abstractmethod
    def press(self, on: Shown, label: str, who: Who = Who.ANNA) -> Callable[[], str | None]:
        """A person presses a button; what they alone are told, None as long as it is not known.
        "" is nothing at all."""

    @abstractmethod
    def press_abroad(self, on: Shown, label: str) -> Callable[[], str | None]:
        """Anna presses a button with the same data on a message of the bot in another chat."""

    @abstractmethod
    async def wait_for(self, true: Callable[[], T | None]) -> T:
        """The first true value."""

    def asides(self) -> list[str]:
        """What people were told alone in answer to what they said."""
        return []

    # What follows from those

    async def heard(self, *texts: str) -> Shown:
        """Wait for the bot's messages with these texts, in order; the last of them, as it is
        now."""

        def found() -> Shown | None:
            rest = iter(self.shown())
            last = None
            for words in texts:
                last = next((one for one in rest if words in one.text), None)
                if last is None:
                    return None
            return last

        try:
            return await self.wait_for(found)
        except AssertionError as error:
            raise AssertionError(f"{texts} not in {self.texts()}") from error

    def texts(self) -> list[str]:
        """The bot's texts in the place."""
        return [one.text for one in self.shown()]

    async def told(self, answer: Callable[[], str | None]) -> str:
        """What a press was answered with."""
        (text,) = await self.wait_for(lambda: None if (it := answer()) is None else (it,))
        return text


class TelegramPlace(Place):
    """A private chat, or a topic of a group."""

    platform = PlatformName.TELEGRAM
    maker = staticmethod(telegram)

    def __init__(self, fake: FakeTelegram, *, private: bool) -> None:
        self._fake = fake
        self.private = private
        fake.unsupported.add("sendmessagedraft")
        self._people = {who: Person(5001 + n, who.value) for n, who in enumerate(Who)}
        for person in self._people.values():
            fake.meet(person)
        team = fake.group(forum=True)
        self._abroad = fake.group("Others") if private else self._people[Who.ANNA].id
        self._chat = self._people[Who.ANNA].id if private else team
        self._topic = 0 if private else fake.topic(team)

    @property
    def settings(self) -> Mapping[str, object]:
        """See `Place`."""
        return {
            "enabled": True,
            "token": self._fake.token,
            "base_url": self._fake.base_url,
            "base_file_url": self._fake.base_file_url,
        }

    def id_of(self, who: Who) -> int:
        """See `Place`."""
        return self._people[who].id

    def call(self, who: Who, name: str) -> None:
        """See `Place`."""
        self._people[who] = Person(self._people[who].id, name)

    def lives(self) -> int:
        """See `Place`."""
        return len(self._fake.queue.offsets)

    def say(self, text: str, who: Who = Who.ANNA, reply_to: str = "") -> None:
        """A person's clock is a second ahead: Telegram counts whole ones, and what was said in
        the second of a card was said before it."""
        self._write(text if self.private else f"@{self._fake.bot.username} {text}", who, reply_to)

    def order(self, line: str, who: Who = Who.ANNA) -> Callable[[], str]:
        """See `Place`; Telegram has no such answers."""
        self._write(line, who)
        return str

    def _write(self, text: str, who: Who, reply_to: str = "") -> None:
        there = self._fake.world.chats[self._chat].messages
        self._fake.say(
            text,
            user=self._people[who],
            chat=self._chat,
            topic=self._topic,
            reply_to=there[int(reply_to)] if reply_to else None,
            extra={"date": int(time.time()) + 1},
        )

    def shown(self) -> list[Shown]:
        """See `Place`."""
        here = [seen for seen in self._fake.by_bot(self._chat) if seen.thread == self._topic]
        return [self._as_shown(seen) for seen in here]

    def _as_shown(self, seen: Note) -> Shown:
        calls = [*seen.marked("mention"), *seen.marked("text_mention"), *seen.marked("text_link")]
        return Shown(str(seen.id), seen.text, tuple(seen.buttons), tuple(calls), seen.edits)

    def elsewhere(self) -> list[str]:
        """See `Place`."""
        return [
            seen.text
            for chat in self._fake.world.chats.values()
            for seen in chat.messages.values()
            if seen.by_bot and (seen.chat, seen.thread) != (self._chat, self._topic)
        ]

    def press(self, on: Shown, label: str, who: Who = Who.ANNA) -> Callable[[], str | None]:
        """See `Place`."""
        seen = self._fake.world.chats[self._chat].messages[int(on.id)]
        query = self._fake.press_data(seen, dict(on.buttons)[label], user=self._people[who])
        return lambda: self._fake.world.queries[query]

    def press_abroad(self, on: Shown, label: str) -> Callable[[], str | None]:
        """See `Place`."""
        there = self._fake.world.chats[self._abroad]
        seen = self._fake.world.post(there, self._fake.bot, "x", buttons=list(on.buttons))
        data = dict(on.buttons)[label]
        query = self._fake.press_data(seen, data, user=self._people[Who.ANNA])
        return lambda: self._fake.world.queries[query]

    async def wait_for(self, true: Callable[[], T | None]) -> T:
        """See `Place`."""
        return await self._fake.wait_for(true, WITHIN_S)


class DiscordPlace(Place):
    """A private channel, or a thread of a channel."""

    platform = PlatformName.DISCORD
    maker = staticmethod(discord)

    def __init__(self, fake: FakeDiscord, *, private: bool) -> None:
        self._fake = fake
        self.private = private
        guild = fake.guild()
        self._people: dict[Who, User] = {Who.ANNA: fake.anna}
        for who in set(Who) - {Who.ANNA}:
            user = fake.backend.make_user(who.value.lower(), global_name=who.value)
            fake.backend.add_member(guild.id, user.id)
            self._people[who] = user
        room, home = fake.channel(guild), fake.direct(fake.anna)
        self._channel = home if private else fake.thread(room)
        self._abroad = room if private else home

    @property
    def settings(self) -> Mapping[str, object]:
        """See `Place`."""
        return {
            "enabled": True,
            "token": self._fake.token,
            "api_base": self._fake.api_base,
            "gateway_url": self._fake.gateway_url,
        }

    def id_of(self, who: Who) -> int:
        """See `Place`."""
        return self._people[who].id

    def call(self, who: Who, name: str) -> None:
        """See `Place`."""
        self._people[who].global_name = name

    def lives(self) -> int:
        """See `Place`."""
        return self._fake.gateway.identified

    def say(self, text: str, who: Who = Who.ANNA, reply_to: str = "") -> None:
        """See `Place`."""
        said = text if self.private else f"{self._fake.call()} {text}"
        user = self._people[who]
        self._fake.say(said, user=user, channel=self._channel, reply_to=int(reply_to or 0))

    def order(self, line: str, who: Who = Who.ANNA) -> Callable[[], str]:
        """See `Place`."""
        name, _, text = line.removeprefix("/").partition(" ")
        asked = self._fake.command(name, text, user=self._people[who], channel=self._channel)
        return lambda: self._alone(asked) or ""

    def shown(self) -> list[Shown]:
        """See `Place`."""
        return self._in(self._channel)

    def _in(self, channel: int) -> list[Shown]:
        """Without what is answered to commands and presses."""
        return [
            Shown(
                str(one.id),
                one.text,
                self._buttons(channel, one.id),
                tuple(map(str, one.pings)),
                one.edited,
            )
            for one in self._fake.shown(channel)
            if not (one.ephemeral or one.from_interaction)
        ]

    def _buttons(self, channel: int, message: int) -> tuple[tuple[str, str], ...]:
        rows = self._fake.backend.get_message(channel, message).components
        return tuple((b["label"], b["custom_id"]) for row in rows for b in row["components"])

    def elsewhere(self) -> list[str]:
        """See `Place`."""
        others = [one for one in self._fake.backend.messages if one != self._channel]
        return [shown.text for channel in others for shown in self._in(channel)]

    def press(self, on: Shown, label: str, who: Who = Who.ANNA) -> Callable[[], str | None]:
        """See `Place`."""
        data, user = dict(on.buttons)[label], self._people[who]
        asked = self._fake.press_id(self._channel, int(on.id), data, user=user)
        return lambda: self._alone(asked)

    def press_abroad(self, on: Shown, label: str) -> Callable[[], str | None]:
        """See `Place`."""
        bot = self._fake.backend.bot_user.id
        made = self._fake.backend.create_message(self._abroad, bot, "x")
        data = dict(on.buttons)[label]
        asked = self._fake.press_id(self._abroad, made.id, data, user=self._fake.anna)
        return lambda: self._alone(asked)

    def _alone(self, asked: Interaction) -> str | None:
        """What answers an interaction, for that person's eyes."""
        if not asked.responded:
            return None
        if asked.message_id in {None, asked.source_message_id}:
            return ""
        found = self._fake.backend.get_message(asked.channel_id, asked.message_id or 0)
        return found.content.replace("\\", "") if found.is_ephemeral else ""

    async def wait_for(self, true: Callable[[], T | None]) -> T:
        """See `Place`."""
        return await self._fake.wait_for(true, WITHIN_S)


class SlackPlace(Place):
    """Direct messages, or a thread of a channel in which the app was called."""

    platform = PlatformName.SLACK
    maker = staticmethod(slack)

    def __init__(self, fake: FakeSlack, *, private: bool) -> None:
        self._fake = fake
        self.private = private
        world = fake.world
        world.epoch = int(time.time())
        self._people = {who: Member(f"U0{who.name:0<7}", who.value) for who in Who}
        world.people.update((person.id, person) for person in self._people.values())
        anna = self._people[Who.ANNA]
        team, home = world.channel(), world.direct(anna)
        self._channel, self._abroad = (home, team) if private else (team, home)
        self._thread = ""
        if not private:
            self._thread = world.post(team, anna, "look", raw=f"{MENTION} look").ts

    @property
    def settings(self) -> Mapping[str, object]:
        """See `Place`."""
        return {
            "enabled": True,
            "bot_token": self._fake.bot_token,
            "app_token": self._fake.app_token,
            "base_url": self._fake.base_url,
        }

    def id_of(self, who: Who) -> str:
        """See `Place`."""
        return self._people[who].id

    def call(self, who: Who, name: str) -> None:
        """See `Place`."""
        person = Member(self._people[who].id, name)
        self._people[who] = self._fake.world.people[person.id] = person

    def lives(self) -> int:
        """See `Place`."""
        return self._fake.delivery.opened

    def say(self, text: str, who: Who = Who.ANNA, reply_to: str = "") -> None:
        """A reply to a card is a message in the thread under it, where the card is not in one.
        In another thread the bot hears those who call it, and all once it has spoken there."""
        called = bool(self._thread) and not self.shown()
        self._fake.say(
            text,
            user=self._people[who],
            channel=self._channel,
            thread=self._thread or reply_to,
            raw=f"{MENTION} {text}" if called else None,
        )

    def order(self, line: str, who: Who = Who.ANNA) -> Callable[[], str]:
        """A command is a message in a thread."""
        if self.private:
            given = self._fake.command(line, user=self._people[who])
            return lambda: str((given.answer or {}).get("text") or "")
        before = len(self._fake.world.whispers)
        self.say(f"!{line[1:]}", who)

        def whispered() -> str:
            new = self._fake.world.whispers[before:]
            return next((one.text for one in new if one.user == self.id_of(who)), "")

        return whispered

    def shown(self) -> list[Shown]:
        """See `Place`."""
        here = [seen for seen in self._fake.by_bot(self._channel) if seen.thread == self._thread]
        return [self._as_shown(seen) for seen in here]

    def _as_shown(self, seen: Post) -> Shown:
        return Shown(seen.ts, seen.text, tuple(seen.buttons), tuple(seen.pings), seen.edits)

    def asides(self) -> list[str]:
        """See `Place`."""
        return [whisper.text for whisper in self._fake.world.whispers]

    def elsewhere(self) -> list[str]:
        """See `Place`."""
        return [
            seen.text
            for channel in self._fake.world.channels.values()
            for seen in channel.messages.values()
            if seen.by_bot and (channel.id, seen.thread) != (self._channel.id, self._thread)
        ]

    def press(self, on: Shown, label: str, who: Who = Who.ANNA) -> Callable[[], str | None]:
        """See `Place`."""
        seen = self._channel.messages[on.id]
        now, seen.buttons = seen.buttons, list(on.buttons)
        given = self._fake.press(seen, label, user=self._people[who])
        seen.buttons = now
        return lambda: self._alone(given)

    def press_abroad(self, on: Shown, label: str) -> Callable[[], str | None]:
        """See `Place`."""
        seen = self._fake.world.post(self._abroad, BOT, "x", buttons=list(on.buttons))
        given = self._fake.press(seen, label, user=self._people[Who.ANNA])
        return lambda: self._alone(given)

    def _alone(self, given: Envelope) -> str | None:
        """What answers a press. A note comes after the acknowledgement, so none of it is known
        for sure only of strangers: Sam's press ends with that."""
        name = given.payload["response_url"].rpartition("/")[2]
        told = [body["text"] for to, body in self._fake.world.ephemerals if to == name]
        if told:
            return str(told[0])
        stranger = given.payload["user"]["id"] == self.id_of(Who.SAM)
        return "" if stranger and given.acked else None

    async def wait_for(self, true: Callable[[], T | None]) -> T:
        """See `Place`."""
        return await self._fake.wait_for(true, WITHIN_S)
