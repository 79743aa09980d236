"""Telegram as a place where people are asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from adapters.telegram.adapter import IN_GROUP
from core.messages import PlatformName
from gateway.compose.telegram import telegram
from tests.fakes.telegram_api import FakeTelegram
from tests.fakes.telegram_world import Person
from tests.fakes.telegram_world import Seen as Note
from tests.scenarios.asking_places import WITHIN_S, Place, Shown, Who

T = TypeVar("T")


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
        """See `Place`; a refusal comes into the person's own chat."""
        before = len(self.asides())
        self._write(line, who)
        return lambda: "\n".join(self.asides()[before:])

    def asides(self) -> list[str]:
        """See `Place`."""
        alone = (person.id for person in self._people.values())
        said = (seen.text for chat in alone for seen in self._fake.by_bot(chat))
        return [text for text in said if text.startswith(IN_GROUP)]

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
            if seen.by_bot
            and (seen.chat, seen.thread) != (self._chat, self._topic)
            and not seen.text.startswith(IN_GROUP)
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
