"""Slack as a place where people are asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from core.messages import PlatformName
from gateway.compose.slack import slack
from tests.fakes.slack_api import FakeSlack
from tests.fakes.slack_delivery import Envelope
from tests.fakes.slack_people import MENTION
from tests.fakes.slack_world import BOT
from tests.fakes.slack_world import Person as Member
from tests.fakes.slack_world import Seen as Post
from tests.scenarios.asking_places import WITHIN_S, Place, Shown, Who

T = TypeVar("T")
BEHIND_S = 10.0
"""Slack's clock is behind ours: a command counts as given some seconds before it is brought, and
nobody here takes seconds to read a card."""


class SlackPlace(Place):
    """Direct messages, or a thread of a channel in which the app was called."""

    platform = PlatformName.SLACK
    maker = staticmethod(slack)

    def __init__(self, fake: FakeSlack, *, private: bool) -> None:
        self._fake = fake
        self.private = private
        world = fake.world
        world.clock = lambda: time.time() - BEHIND_S
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
