"""One thing that came in, with when and where as far as order goes. Does nothing."""

from __future__ import annotations

from dataclasses import dataclass

import discord

from adapters.discord.asked import Asked
from adapters.discord.decode import is_private
from core.messages import Message, Press


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that came in: a message, or a decoded interaction with who waits for it."""

    message: discord.Message | None = None
    inbound: Message | Press | None = None
    asked: Asked | None = None

    @property
    def number(self) -> int:
        """Its id: those grow with time."""
        if self.message is not None:
            return self.message.id
        return 0 if self.asked is None else self.asked.number

    @property
    def places(self) -> frozenset[int]:
        """The channel where it came in, and in a private chat the person."""
        if self.message is not None:
            channel, private = self.message.channel.id, is_private(self.message.channel)
            return frozenset({channel, self.message.author.id} if private else {channel})
        if self.inbound is None:
            return frozenset()
        channel = int(self.inbound.address.thread or self.inbound.address.chat)
        person = int(self.inbound.sender.id)
        return frozenset({channel, person} if self.inbound.private else {channel})
