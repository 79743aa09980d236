"""Fetches what people wrote while we were not connected. Discord keeps no backlog for bots.

Servers' channels name their newest message, so only those with something new are read; private
chats are read where people talked with us before. Bounded in every direction: a place that
cannot be read for long is given up, and said so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import TypeAlias

import discord

from adapters.discord import errors
from adapters.discord.bookmark import Bookmark
from adapters.discord.options import DiscordOptions
from adapters.discord.session import UNREADABLE
from core.backoff import Backoff
from core.errors import PermanentError, PursuitError, TransientError

MAX_CHANNELS = 50
MAX_PEOPLE = 50
MAX_MESSAGES = 300
"""Of one channel; a page has a hundred."""
AT_ONCE = 4
PAGES_S = 3
"""A place's pages may take so many times as long as one call."""
TRIES = 15
"""With the pauses between them about half an hour."""

Channel: TypeAlias = discord.abc.Messageable
Where: TypeAlias = Channel | discord.Object
"""A channel, or a person whose private channel has to be asked for."""
Known: TypeAlias = discord.TextChannel | discord.VoiceChannel | discord.Thread

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere that may have something new: `number` is the channel's id or the person's."""

    number: int
    name: str
    where: Where


class Backlog:
    """Reads every place of one session, trying again where Discord fails; `told` hears of each.

    A place is unread until `take` has handed out what was found there.
    """

    def __init__(
        self,
        client: discord.Client,
        mark: Bookmark,
        people: Sequence[int],
        options: DiscordOptions,
        told: Callable[[], None],
    ) -> None:
        self.ended = asyncio.Event()
        """No more will be read."""
        self._client = client
        self._mark = mark
        self._options = options
        self._told = told
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._places = {place.number: place for place in _places(client, mark, people)}
        self._unread = set(self._places)
        self._read: dict[int, list[discord.Message]] = {}
        self._patient = True

    @property
    def done(self) -> bool:
        """All of it was handed out."""
        return not self._unread

    @property
    def unread(self) -> str:
        """What is not read yet, for the log."""
        left = sorted(self._unread - self._read.keys())
        return ", ".join(self._places[number].name for number in left)

    def holds(self, numbers: Set[int]) -> bool:
        """Whether what comes in live at a channel or from a person has to wait: older things
        may be found there. Not for ever: commands must get through."""
        return self._patient and not self._unread.isdisjoint(numbers)

    def take(self) -> list[discord.Message]:
        """What was found since the last time, the oldest first."""
        read, self._read = self._read, {}
        self._unread -= read.keys()
        found = {message.id: message for messages in read.values() for message in messages}
        if found:
            log.info("%d messages came in while away", len(found))
        return [found[number] for number in sorted(found)]

    async def run(self) -> None:
        """Read all places. Never raises for Discord's part."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self._options.hold_s, self._lose_patience)
        try:
            async with asyncio.TaskGroup() as group:
                for place in self._places.values():
                    group.create_task(self._read_through(place), name=f"discord-{place.name}")
        finally:
            timer.cancel()
            self.ended.set()

    def _lose_patience(self) -> None:
        self._patient = False
        self._told()

    async def _read_through(self, place: Place) -> None:
        backoff = Backoff(self._options.backoff_s, self._options.backoff_cap_s)
        found: list[discord.Message] = []
        for left in reversed(range(TRIES)):
            answer = await self._try(place)
            if not isinstance(answer, PursuitError):
                found = answer
                break
            if isinstance(answer, PermanentError) or not left:
                log.warning("%s is not read, messages may be missed: %s", place.name, answer)
                break
            log.info("%s cannot be read yet: %s", place.name, answer)
            pause_s = answer.retry_after if isinstance(answer, TransientError) else None
            await backoff.pause(pause_s or 0.0)
        self._read[place.number] = found
        self._told()

    async def _try(self, place: Place) -> list[discord.Message] | PursuitError:
        """What was written there, or why it is not known."""
        try:
            async with self._slots, asyncio.timeout(PAGES_S * self._options.call_s):
                return await _read(self._client, place.where, self._mark)
        except errors.CALL_ERRORS as err:
            return errors.translate(err, self._options.token, written=False)
        except UNREADABLE as err:
            return PermanentError(f"not as Discord describes it ({type(err).__name__})")


def _places(client: discord.Client, mark: Bookmark, people: Sequence[int]) -> list[Place]:
    """Everywhere that may have something new."""
    kind = discord.ChannelType.private
    known = [client.get_partial_messageable(number, type=kind) for number in mark.direct]
    return [
        *(Place(chat.id, f"private chat {chat.id}", chat) for chat in known),
        *(Place(n, f"person {n}", discord.Object(n)) for n in people[:MAX_PEOPLE]),
        *(Place(n, f"channel {n}", channel) for n, channel in _public(client, mark)),
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


async def _read(client: discord.Client, where: Where, mark: Bookmark) -> list[discord.Message]:
    if isinstance(where, discord.Object):
        private = await client.create_dm(where)
        if private.id in mark.direct:
            return []  # a place of its own
        where = private
    after = discord.Object(mark.since)
    found = where.history(after=after, limit=MAX_MESSAGES, oldest_first=True)
    return [message async for message in found]
