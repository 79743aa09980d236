"""Hands what comes in to the intake, in order, and tells Discord what became of it.

One for all connections of a run. It never drops what can be read, and steps over what cannot.
Until what was missed is in, what comes in live waits: everywhere at first, then only in the
channels that are still read.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import discord

from adapters.discord import errors
from adapters.discord.asked import Asked
from adapters.discord.backlog import Backlog
from adapters.discord.bookmark import Bookmark
from adapters.discord.decode import (
    Me,
    address_of,
    decode,
    decode_command,
    decode_press,
)
from adapters.discord.item import Item
from adapters.discord.options import DiscordOptions
from adapters.discord.people import People
from adapters.discord.session import UNREADABLE, Session
from core.backoff import Backoff
from core.errors import TransientError
from core.escalations import token
from core.messages import (
    Ack,
    Address,
    Inbound,
    Message,
    PlatformName,
    Press,
    Refused,
    RemoteId,
)
from core.ports import Clock, Intake
from core.pulse import Pulse

MAX_BATCH = 100
CHATTER = 50
"""So many messages that are not for us may pass until the bookmark moves on all the same."""

log = logging.getLogger(__name__)

Tell: TypeAlias = Callable[[Address, str, RemoteId], Coroutine[None, None, None]]
"""Says a text in a chat as a reply to a message; best effort."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a handover looks at besides Discord."""

    people: People
    pulse: Pulse
    clock: Clock


class Handover:
    """Its tasks (answers to interactions) live in the caller's group."""

    def __init__(
        self,
        *,
        intake: Intake,
        options: DiscordOptions,
        around: Around,
        tell: Tell,
        group: asyncio.TaskGroup,
    ) -> None:
        self._intake = intake
        self._options = options
        self._people = around.people
        self._tell = tell
        self._pulse = around.pulse
        self._clock = around.clock
        self._group = group
        self._me = Me(int(options.account))
        self._source = f"discord:{options.account}"
        self._items: deque[Item] = deque()
        self._news = asyncio.Event()
        self._held = True
        self._ready: Session | None = None
        self._mark: Bookmark | None = None
        self._backlog: Backlog | None = None
        self._reading: asyncio.Task[None] | None = None
        self._since: int | None = None
        """Where the kept bookmark stays until the backlog is in, so that a restart reads anew."""
        self._waiting: list[Item] = []
        self._chatter = 0

    # What sessions tell; nothing here waits

    def connected(self) -> None:
        """A new session began: what was missed comes first."""
        self._held = True
        self._ready = None
        if self._reading is not None:
            self._reading.cancel()

    def ready(self, session: Session) -> None:
        """The session knows its channels, so that what was missed can be fetched."""
        self._ready = session
        self._news.set()

    def heard(self, message: discord.Message) -> None:
        """Somebody wrote."""
        self._put(Item(message=message))

    def commanded(self, interaction: discord.Interaction, line: str) -> None:
        """Somebody gave a command of the menu."""
        inbound = decode_command(interaction, line, self._me)
        if inbound is not None:
            self._put(Item(inbound=inbound, asked=Asked(interaction, line)))

    def pressed(self, interaction: discord.Interaction, command: str) -> None:
        """Somebody pressed a button."""
        inbound = decode_press(interaction, command, self._me)
        asked = Asked(interaction, confirms=token.is_ours(command))
        if inbound is None:
            self._spawn(asked.answer(Refused("")), f"answer-{asked.number}")
        else:
            self._put(Item(inbound=inbound, asked=asked))

    def admits(self, interaction: discord.Interaction) -> bool:
        """Whether whoever asks may talk there: a stranger is told nothing."""
        if interaction.channel is None:
            return False
        chat = address_of(interaction.channel, self._me).chat
        return self._people.admits(str(interaction.user.id), chat)

    def _put(self, item: Item) -> None:
        if item.asked is not None and item.inbound is not None and self._admitted(item.inbound):
            self._spawn(
                item.asked.say_saving(self._options.saving_s), f"saving-{item.asked.number}"
            )
        self._items.append(item)
        self._news.set()

    # The one consumer

    async def run(self) -> None:
        """Hand over for ever."""
        while True:
            await self._news.wait()
            self._news.clear()
            session = self._ready
            if self._held and session is not None:
                await self._catch_up(session)
            if not self._held:
                await self._take_read()
            while self._items and not self._held:
                count = min(len(self._items), MAX_BATCH)
                await self._take_live([self._items.popleft() for _ in range(count)])

    async def _catch_up(self, session: Session) -> None:
        self._items.extendleft(reversed(self._waiting))
        self._waiting = []
        mark = self._mark or await self._bookmark()
        if mark is None:
            await self._commit([], Bookmark.first(self._clock.now()))
        else:
            await self._read_up(session, mark)
        if self._ready is session:  # else another connection began meanwhile
            self._held = False
            self._news.set()
            self._intake.caught_up(PlatformName.DISCORD)

    async def _read_up(self, session: Session, mark: Bookmark) -> None:
        """Look at all that was missed; what takes long goes on in the background."""
        self._mark = mark
        if self._since is None:
            self._since = mark.last
        people, told = self._people.known(), self._news.set
        backlog = Backlog(session, mark.back_at(self._since), people, self._options, told)
        self._backlog = backlog
        self._reading = self._group.create_task(backlog.run(), name="discord-backlog")
        try:
            async with asyncio.timeout(self._options.catch_up_s):
                await backlog.ended.wait()
        except TimeoutError:
            log.warning("still looking for missed messages: %s", backlog.unread)
        await self._take_read()

    async def _take_read(self) -> None:
        """What was missed and is read by now, in order with what waited for it."""
        backlog = self._backlog
        if backlog is None:
            return
        found = {message.id: Item(message=message) for message in backlog.take()}
        held = [item for item in self._waiting if backlog.holds(item.places)]
        due = {item.number: item for item in self._waiting if item not in held} | found
        self._waiting = held
        items = [due[number] for number in sorted(due)]
        for start in range(0, len(items), MAX_BATCH):
            await self._take(items[start : start + MAX_BATCH])
        if backlog.done and self._backlog is backlog:
            self._backlog, since, self._since = None, self._since, None
            if self._mark is not None and self._mark.last != since:
                await self._commit([], self._mark)

    async def _take_live(self, items: Sequence[Item]) -> None:
        """Hand over but what has to wait for its channel."""
        backlog = self._backlog
        held = [item for item in items if backlog is not None and backlog.holds(item.places)]
        self._waiting.extend(held)
        await self._take([item for item in items if item not in held] if held else items)

    async def _bookmark(self) -> Bookmark | None:
        return Bookmark.of(await self._intake.cursor(self._source) or "")

    async def _take(self, items: Sequence[Item]) -> None:
        """Commit one batch, then answer who waits."""
        read: list[tuple[Inbound, Asked | None]] = []
        mark = self._mark or Bookmark.first(self._clock.now())
        for item in items:
            if item.message is not None:
                await self._place(item.message)
            inbound = self._read(item)
            if inbound is not None:
                read.append((inbound, item.asked))
            if item.message is not None:
                mark = mark.read(item.message.id)
        inbounds = [inbound for inbound, _ in read]
        moved = self._moved(mark, inbounds, len(items))
        acks = await self._commit(inbounds, moved)
        for (inbound, asked), ack in zip(read, acks, strict=True):
            self._report(inbound, asked, ack)

    def _moved(self, mark: Bookmark, inbounds: Sequence[Inbound], count: int) -> Bookmark | None:
        """The bookmark to keep, None while only others' chatter went by: each costs a write.

        Strangers' private chats are not kept: they would push out those that count.
        """
        for inbound in inbounds:
            if not isinstance(inbound, Message) or not (inbound.private and inbound.remote):
                continue
            if self._admitted(inbound):
                mark = mark.talked(int(inbound.address.chat))
        self._chatter += count
        ours = any(not isinstance(i, Message) or i.addressed for i in inbounds)
        if not ours and self._chatter < CHATTER:
            return None
        self._chatter = 0
        return mark

    def _admitted(self, inbound: Message | Press) -> bool:
        return self._people.admits(inbound.sender.id, inbound.address.chat)

    async def _place(self, message: discord.Message) -> None:
        """Find out of a channel that Discord has not described to us: it may be a thread."""
        channel = message.channel
        if not isinstance(channel, discord.PartialMessageable) or channel.guild_id is None:
            return
        if self._ready is None:
            return
        try:
            found = await self._ready.fetch_channel(channel.id)
        except errors.CALL_ERRORS as err:
            log.warning("channel %d is not known: %s", channel.id, err)
            return
        if isinstance(found, discord.Thread | discord.TextChannel | discord.VoiceChannel):
            message.channel = found

    def _read(self, item: Item) -> Inbound | None:
        if item.message is None:
            return item.inbound
        try:
            return decode(item.message, self._me)
        except UNREADABLE as err:
            log.warning(
                "stepping over message %d, which cannot be read (%s)",
                item.message.id,
                type(err).__name__,
            )
            return None

    async def _commit(self, inbounds: Sequence[Inbound], mark: Bookmark | None) -> tuple[Ack, ...]:
        if not inbounds and mark is None:
            return ()
        kept = mark if mark is None or self._since is None else mark.back_at(self._since)
        cursor = None if kept is None else (self._source, str(kept))
        backoff = Backoff(self._options.backoff_s, self._options.backoff_cap_s)
        failed = False
        while True:
            try:
                acks = await self._intake.accept(inbounds, cursor=cursor)
            except TransientError as err:
                failed = True
                self._pulse.fault(f"what came in cannot be saved: {err}")
                log.warning("%d messages are not saved yet: %s", len(inbounds), err)
                await backoff.pause(err.retry_after or 0.0)
            else:
                if failed:
                    self._pulse.well()
                self._mark = mark or self._mark
                return acks

    def _report(self, inbound: Inbound, asked: Asked | None, ack: Ack) -> None:
        if asked is not None:
            self._spawn(asked.answer(ack), f"answer-{asked.number}")
        elif isinstance(inbound, Message) and isinstance(ack, Refused) and ack.text:
            self._spawn(self._tell(inbound.address, ack.text, inbound.remote), "refusal")

    def _spawn(self, work: Coroutine[None, None, None], name: str) -> None:
        self._group.create_task(work, name=f"discord-{name}")
