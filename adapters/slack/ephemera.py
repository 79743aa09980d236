"""Progress, reactions and the "is working" status: best effort, so nothing here raises for
Slack's part, but for an edit that may or may not have been made: it must not overtake the answer.

A refusal is remembered and not asked for again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack import errors
from adapters.slack.encode import MAX_TEXT, cut, edited, posted
from adapters.slack.link import Link
from adapters.slack.outgoing import change, post
from adapters.slack.pacing import Pacing
from core.errors import TransientError
from core.messages import Address, RemoteId, Say
from core.ports import Mark

REACTIONS = {
    Mark.SEEN: "eyes",
    Mark.WORKING: "eyes",
    Mark.DONE: "white_check_mark",
    Mark.FAILED: "x",
}
STATUS = "is working…"
REMEMBERED = 2_000
AT_ONCE = 4
"""Calls at once, of those that the link allows: answers go before what may be missed."""
ALREADY_SO = frozenset({"already_reacted", "no_reaction"})
THIS_MESSAGE = ALREADY_SO | {"message_not_found", "thread_not_found", "bad_timestamp"}
"""Refusals that say nothing about other messages of the chat."""


log = logging.getLogger(__name__)


class Ephemera:
    """What a chat may see or miss."""

    def __init__(self, link: Link, pacing: Pacing) -> None:
        self._link = link
        self._pacing = pacing
        self._no_reactions: set[str] = set()
        self._no_status: set[str] = set()
        self._telling: set[Address] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._shown: OrderedDict[tuple[str, RemoteId], str] = OrderedDict()

    async def progress(
        self, address: Address, remote: RemoteId | None, text: str
    ) -> RemoteId | None:
        """Show a turn's progress in one message that is edited; returns its id.

        Raises a TransientError when the chat has to rest first, and a doubtful one when nobody
        knows whether the message was posted or changed.
        """
        if not text.strip():
            return remote
        if not self._pacing.take_progress(address.chat):
            raise TransientError("this chat has to rest before more progress is shown")
        say = Say(cut(text, MAX_TEXT))
        made: list[RemoteId] = [remote] if remote else []

        async def show(client: AsyncWebClient) -> None:
            if remote:
                await change(client, address, remote, edited(say))
            else:
                answer = await post(client, address, posted(say))
                made.append(RemoteId(str(answer.get("ts") or "")))

        failure = await self._try(address.chat, show)
        error = errors.translate(failure, ()) if failure else None
        if isinstance(error, TransientError):
            raise error
        return made[0] if made else None

    async def mark(self, address: Address, remote: RemoteId, state: Mark) -> None:
        """React to a person's message where that changes something; tell that work goes on."""
        if remote:
            await self._react(address.chat, remote, REACTIONS[state])
        if state is Mark.WORKING and address.thread:
            await self._tell_status(address, STATUS)
        elif state in {Mark.DONE, Mark.FAILED} and address in self._telling:
            # A message takes the status away; an answer in progress's place is none.
            await self._tell_status(address, "")

    async def _react(self, chat: str, remote: RemoteId, emoji: str) -> None:
        key = (chat, remote)
        before = self._shown.get(key)
        if chat in self._no_reactions or before == emoji:
            return
        # After a restart what is shown is not known; the only one that is replaced is the first.
        first = REACTIONS[Mark.SEEN]
        old = before or (first if emoji != first else "")
        if not await self._reaction(
            chat,
            lambda client: client.reactions_add(channel=chat, timestamp=remote, name=emoji),
        ):
            return
        self._shown[key] = emoji
        if len(self._shown) > REMEMBERED:
            self._shown.popitem(last=False)
        if old:
            await self._reaction(
                chat,
                lambda client: client.reactions_remove(channel=chat, timestamp=remote, name=old),
            )

    async def _reaction(
        self, chat: str, call: Callable[[AsyncWebClient], Awaitable[object]]
    ) -> bool:
        """Whether the message shows it now."""
        if not self._pacing.take_extra(chat):
            return False
        failure = await self._try(chat, call)
        code = errors.code_of(failure) if failure else ""
        if code and code not in THIS_MESSAGE | errors.FLOODED | errors.SLACK_FAILS:
            self._no_reactions.add(chat)
        return failure is None or code in ALREADY_SO

    async def _tell_status(self, address: Address, status: str) -> None:
        chat = address.chat
        if chat in self._no_status or self._slots.locked() or not self._pacing.take_extra(chat):
            return
        failure = await self._try(
            chat,
            lambda client: client.assistant_threads_setStatus(
                channel_id=chat, thread_ts=address.thread, status=status
            ),
        )
        if failure and errors.code_of(failure):
            self._no_status.add(chat)
        elif failure is None and status:
            self._telling.add(address)
        else:
            self._telling.discard(address)

    async def _try(
        self, chat: str, call: Callable[[AsyncWebClient], Awaitable[object]]
    ) -> Exception | None:
        """Make the call; returns what Slack had against it, None for nothing."""
        try:
            async with self._slots, self._link.client() as client:
                await call(client)
        except errors.FAILED_CALL as err:
            if (seconds := errors.rest_s(err)) is not None:
                self._pacing.cool(chat, seconds, extras_only=True)
            log.debug("best-effort call failed: %s", errors.code_of(err) or type(err).__name__)
            return err
        return None
