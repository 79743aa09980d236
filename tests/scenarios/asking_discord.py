"""Discord as a place where people are asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from simcord.backend.models import Interaction, User

from core.messages import PlatformName
from gateway.compose.discord import discord
from tests.fakes.discord_api import FakeDiscord
from tests.scenarios.asking_places import WITHIN_S, Place, Shown, Who

T = TypeVar("T")


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
