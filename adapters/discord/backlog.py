"""Fetches what people wrote while we were not connected. Discord keeps no backlog for bots.

Servers' channels name their newest message, so only those with something new are read; private
chats are read where people talked with us before. Best effort, and bounded in every direction.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import TypeAlias

import discord

from adapters.discord import errors
from adapters.discord.bookmark import Bookmark

MAX_CHANNELS = 50
MAX_MESSAGES = 300
"""Of one channel; a page has a hundred."""
AT_ONCE = 4

Channel: TypeAlias = discord.abc.Messageable
Known: TypeAlias = discord.TextChannel | discord.VoiceChannel | discord.Thread

log = logging.getLogger(__name__)


async def missed(client: discord.Client, mark: Bookmark, within_s: float) -> list[discord.Message]:
    """The messages after the bookmark, oldest first. Never raises for Discord's part."""
    found: list[discord.Message] = []
    left = [*_private(client, mark), *_public(client, mark)]
    slots = asyncio.Semaphore(AT_ONCE)

    async def read(number: int, channel: Channel) -> None:
        async with slots:
            found.extend(await _page(number, channel, mark))
            unread.discard(number)

    unread = {number for number, _ in left}
    try:
        async with asyncio.timeout(within_s), asyncio.TaskGroup() as group:
            for number, channel in left:
                group.create_task(read(number, channel), name=f"discord-backlog-{number}")
    except TimeoutError:
        log.warning("channels not looked at for missed messages: %s", sorted(unread))
    if found:
        log.info("%d messages came in while away", len(found))
    return sorted(found, key=lambda message: message.id)


def _private(client: discord.Client, mark: Bookmark) -> Iterable[tuple[int, Channel]]:
    kind = discord.ChannelType.private
    return [(n, client.get_partial_messageable(n, type=kind)) for n in mark.direct]


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


async def _page(number: int, channel: Channel, mark: Bookmark) -> list[discord.Message]:
    after = discord.Object(mark.since)
    try:
        return [
            message
            async for message in channel.history(
                after=after, limit=MAX_MESSAGES, oldest_first=True
            )
        ]
    except errors.CALL_ERRORS as err:
        log.warning("channel %d is not looked at for missed messages: %s", number, err)
        return []
