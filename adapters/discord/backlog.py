"""Fetches what people wrote while we were not connected. Discord keeps no backlog for bots.

Servers' channels name their newest message, so only those with something new are read; private
chats are read where people talked with us before. Best effort, and bounded in every direction.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import discord

from adapters.discord import errors
from adapters.discord.bookmark import Bookmark
from adapters.discord.options import DiscordOptions

MAX_CHANNELS = 50
MAX_PEOPLE = 50
MAX_MESSAGES = 300
"""Of one channel; a page has a hundred."""
AT_ONCE = 4

Channel: TypeAlias = discord.abc.Messageable
Place: TypeAlias = Channel | discord.Object
"""A channel, or a person whose private channel has to be asked for."""
Known: TypeAlias = discord.TextChannel | discord.VoiceChannel | discord.Thread

log = logging.getLogger(__name__)


async def missed(
    client: discord.Client, mark: Bookmark, people: Sequence[int], options: DiscordOptions
) -> list[discord.Message]:
    """The messages after the bookmark, oldest first. Never raises for Discord's part."""
    found: dict[int, discord.Message] = {}
    slots = asyncio.Semaphore(AT_ONCE)
    unread: set[str] = set()

    async def read(name: str, place: Place) -> None:
        async with slots:
            for message in await _read(client, place, mark):
                found[message.id] = message
            unread.discard(name)

    try:
        async with asyncio.timeout(options.catch_up_s), asyncio.TaskGroup() as group:
            for name, place in _places(client, mark, people):
                unread.add(name)
                group.create_task(read(name, place), name=f"discord-backlog-{name}")
    except TimeoutError:
        log.warning("not looked at for missed messages: %s", ", ".join(sorted(unread)))
    if found:
        log.info("%d messages came in while away", len(found))
    return [found[number] for number in sorted(found)]


def _places(
    client: discord.Client, mark: Bookmark, people: Sequence[int]
) -> list[tuple[str, Place]]:
    """Everywhere that may have something new, by a name for the log."""
    kind = discord.ChannelType.private
    known = [client.get_partial_messageable(number, type=kind) for number in mark.direct]
    return [
        *((f"private chat {place.id}", place) for place in known),
        *((f"person {number}", discord.Object(number)) for number in people[:MAX_PEOPLE]),
        *((f"channel {number}", place) for number, place in _public(client, mark)),
    ]


def _public(client: discord.Client, mark: Bookmark) -> Iterable[tuple[int, Channel]]:
    """The channels and threads with something new, the most lately used first."""
    fresh: list[tuple[int, int, Channel]] = []
    for guild in client.guilds:
        places: list[Known] = [*guild.text_channels, *guild.voice_channels, *guild.threads]
        for place in places:
            newest = place.last_message_id or 0
            if newest > mark.since and _readable(place, guild.me):
                fresh.append((newest, place.id, place))
    fresh.sort(key=lambda each: each[0], reverse=True)
    if len(fresh) > MAX_CHANNELS:
        log.warning("%d channels have news, the latest %d are read", len(fresh), MAX_CHANNELS)
    return [(number, place) for _, number, place in fresh[:MAX_CHANNELS]]


def _readable(place: Known, me: discord.Member) -> bool:
    try:
        rights = place.permissions_for(me)
    except discord.ClientException:  # a thread whose channel we may not see
        return False
    return rights.read_messages and rights.read_message_history


async def _read(client: discord.Client, place: Place, mark: Bookmark) -> list[discord.Message]:
    try:
        if isinstance(place, discord.Object):
            private = await client.create_dm(place)
            if private.id in mark.direct:
                return []  # read already
            place = private
        after = discord.Object(mark.since)
        found = place.history(after=after, limit=MAX_MESSAGES, oldest_first=True)
        return [message async for message in found]
    except errors.CALL_ERRORS as err:
        log.warning("some messages may have been missed: %s", err)
        return []
