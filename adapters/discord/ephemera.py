"""Progress, reactions and typing: best effort, so nothing here raises for Discord's part, but
for an edit that may or may not have been made: it must not overtake the answer.

A refusal is remembered and not asked for again: a channel without reactions gets none.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable

import discord
from discord.http import HTTPClient, handle_message_parameters

from adapters.discord.encode import verbatim
from adapters.discord.outgoing import NOBODY, Outgoing, channel_of, message_of, no_previews
from adapters.discord.pacing import Pacing
from core.errors import PursuitError, TransientError
from core.messages import Address, RemoteId
from core.ports import Mark

REACTIONS = {Mark.SEEN: "👀", Mark.WORKING: "👀", Mark.DONE: "✅", Mark.FAILED: "❌"}
REMEMBERED = 2_000
AT_ONCE = 4
"""Calls at once: answers go before what may be missed."""
CALL_S = 10.0

log = logging.getLogger(__name__)


class Ephemera:
    """What a chat may see or miss."""

    def __init__(self, pacing: Pacing, outgoing: Outgoing) -> None:
        self._pacing = pacing
        self._outgoing = outgoing
        self._refused: set[int] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._shown: OrderedDict[tuple[int, RemoteId], str] = OrderedDict()

    async def progress(
        self, address: Address, remote: RemoteId | None, text: str
    ) -> RemoteId | None:
        """Show a turn's progress in one message that is edited; returns its id.

        Raises a TransientError when the channel has to rest first, and a doubtful one when
        nobody knows whether the message was changed.
        """
        channel = channel_of(address)
        if not text.strip():
            return remote
        if not self._pacing.take_progress(channel):
            raise TransientError("this channel has to rest before more progress is shown")
        content = verbatim(text)
        made: list[RemoteId] = []

        async def show(http: HTTPClient, _: int) -> None:
            if remote:
                with handle_message_parameters(
                    content, flags=no_previews(), allowed_mentions=NOBODY
                ) as params:
                    await http.edit_message(channel, message_of(remote), params=params)
                return
            with handle_message_parameters(
                content,
                nonce=secrets.token_hex(12),
                flags=no_previews(silent=True),
                allowed_mentions=NOBODY,
            ) as params:
                made.append(RemoteId(str((await http.send_message(channel, params=params))["id"])))

        failure = await self._try(address, show)
        if isinstance(failure, TransientError) and failure.doubtful:
            raise failure
        return remote or (made[0] if made else None)

    async def mark(self, address: Address, remote: RemoteId, state: Mark) -> None:
        """React to a person's message where that changes something; type while working."""
        channel = channel_of(address)
        if not self._pacing.extras_allowed(channel) or channel in self._refused:
            return
        if remote:
            await self._react(address, channel, remote, REACTIONS[state])
        if state is Mark.WORKING and not self._slots.locked():
            await self._try(address, lambda http, _: http.send_typing(channel))

    async def _react(self, address: Address, channel: int, remote: RemoteId, emoji: str) -> None:
        """Show one reaction in the place of the one before."""
        key = (channel, remote)
        before = self._shown.get(key)
        if before == emoji:
            return
        number = message_of(remote)

        async def add(http: HTTPClient, _: int) -> None:
            try:
                await http.add_reaction(channel, number, emoji)
            except discord.Forbidden:
                self._refused.add(channel)
                raise

        if await self._try(address, add) is not None:
            return
        self._shown[key] = emoji
        if len(self._shown) > REMEMBERED:
            self._shown.popitem(last=False)
        old = before or REACTIONS[Mark.WORKING]  # a life before this one may have set it
        if old != emoji:
            await self._try(
                address, lambda http, _: http.remove_own_reaction(channel, number, old)
            )

    async def _try(
        self, address: Address, work: Callable[[HTTPClient, int], Awaitable[object]]
    ) -> PursuitError | None:
        """Make the call; returns what there was against it, None for nothing."""
        try:
            async with self._slots:
                await self._outgoing.call(address, work, CALL_S, extra=True)
        except PursuitError as err:
            log.debug("best-effort call failed: %s", err)
            return err
        return None
