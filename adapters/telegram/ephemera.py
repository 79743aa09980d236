"""Progress, reactions and typing: best effort, so nothing here raises for Telegram's part, but
for an edit that may or may not have been made: it must not overtake the answer.

A refusal is remembered and not asked for again: a chat without reactions gets none, a server
without drafts gets an edited message.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from telegram import Bot
from telegram.constants import ChatAction, ReactionEmoji
from telegram.error import (
    BadRequest,
    Forbidden,
    InvalidToken,
    TelegramError,
)

from adapters.telegram import errors
from adapters.telegram.encode import MAX_UNITS, cut, verbatim
from adapters.telegram.link import Link
from adapters.telegram.outgoing import (
    NO_PREVIEW,
    Outgoing,
    chat_of,
    message_of,
    thread_of,
)
from adapters.telegram.pacing import Pacing, is_group
from core.errors import TransientError
from core.messages import Address, RemoteId
from core.ports import Clock, Mark

REACTIONS = {
    Mark.SEEN: ReactionEmoji.EYES,
    Mark.WORKING: ReactionEmoji.EYES,
    Mark.DONE: ReactionEmoji.OK_HAND_SIGN,
    Mark.FAILED: ReactionEmoji.BROKEN_HEART,
}
REMEMBERED = 2_000
AT_ONCE = 4
"""Calls at once, of those that the link allows: answers go before what may be missed."""
DRAFT_REFRESH_S = 20.0
"""Telegram takes a draft away after 30 s; a turn may work longer than that on one step."""
NOT_HERE = (BadRequest, Forbidden, InvalidToken)
"""Refusals that a later call would meet again; 404, from servers too old for a method, is
InvalidToken here."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Draft:
    """What a private chat shows of a turn, and since when."""

    turn: int
    text: str
    shown_at: float


class Ephemera:
    """What a chat may see or miss."""

    def __init__(
        self, link: Link, pacing: Pacing, outgoing: Outgoing, clock: Clock, secret: str
    ) -> None:
        self._link = link
        self._clock = clock
        self._secret = secret
        self._drafts: dict[tuple[int, int | None], Draft] = {}
        self._pacing = pacing
        self._outgoing = outgoing
        self._no_drafts: set[int] = set()
        self._no_reactions: set[int] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._shown: OrderedDict[tuple[int, RemoteId], str] = OrderedDict()

    async def progress(
        self, address: Address, turn: int, remote: RemoteId | None, text: str
    ) -> RemoteId | None:
        """Show a turn's progress: a draft in private chats, else one message that is edited.

        Returns the message's id; None where there is none, as with drafts. Raises a
        TransientError when the chat has to rest first, and a doubtful one when nobody knows
        whether the message was changed.
        """
        chat = self._outgoing.current(chat_of(address))
        if not text.strip():
            return remote
        if not self._pacing.take_progress(chat):
            raise TransientError("this chat has to rest before more progress is shown")
        shown = cut(verbatim(text, group=is_group(chat)).text, MAX_UNITS)
        thread = thread_of(address)
        if remote:
            number = message_of(remote)
            failure = await self._try(
                chat,
                lambda bot: bot.edit_message_text(
                    shown, chat, number, link_preview_options=NO_PREVIEW
                ),
            )
            self._raise_doubt(failure)
            return remote
        if not is_group(chat) and chat not in self._no_drafts:
            if await self._draft(chat, thread, turn, shown):
                return None
            self._no_drafts.add(chat)
        return await self._first_post(chat, thread, shown)

    async def mark(self, address: Address, remote: RemoteId, state: Mark) -> None:
        """React to a person's message where that changes something; type while working."""
        chat = self._outgoing.current(chat_of(address))
        if not self._pacing.extras_allowed(chat):
            return
        if remote:
            await self._react(chat, remote, REACTIONS[state])
        thread = thread_of(address)
        draft = self._drafts.get((chat, thread))
        if state in {Mark.DONE, Mark.FAILED}:
            self._drafts.pop((chat, thread), None)
        elif state is Mark.WORKING:
            if draft and self._clock.monotonic() - draft.shown_at > DRAFT_REFRESH_S:
                await self._draft(chat, thread, draft.turn, draft.text)
            if self._slots.locked():
                return  # with so many at work, who types is the least of what is to be told
            await self._try(
                chat,
                lambda bot: bot.send_chat_action(
                    chat, ChatAction.TYPING, message_thread_id=thread
                ),
            )

    async def _react(self, chat: int, remote: RemoteId, emoji: str) -> None:
        key = (chat, remote)
        if chat in self._no_reactions or self._shown.get(key) == emoji:
            return
        number = message_of(remote)
        refusal = await self._try(chat, lambda bot: bot.set_message_reaction(chat, number, emoji))
        if isinstance(refusal, NOT_HERE) and "message" not in refusal.message.lower():
            self._no_reactions.add(chat)
        elif refusal is None:
            self._shown[key] = emoji
            if len(self._shown) > REMEMBERED:
                self._shown.popitem(last=False)

    async def _draft(self, chat: int, thread: int | None, turn: int, text: str) -> bool:
        """Show a draft; false where the server or the chat has none."""
        failure = await self._try(
            chat,
            lambda bot: bot.send_message_draft(chat, turn, text=text, message_thread_id=thread),
        )
        if failure is None:
            self._drafts[chat, thread] = Draft(turn, text, self._clock.monotonic())
        return not isinstance(failure, NOT_HERE)

    def _raise_doubt(self, failure: TelegramError | None) -> None:
        error = errors.translate(failure, self._secret) if failure else None
        if isinstance(error, TransientError) and error.doubtful:
            raise error

    async def _first_post(self, chat: int, thread: int | None, text: str) -> RemoteId | None:
        posted: list[RemoteId] = []

        async def post(bot: Bot) -> None:
            message = await bot.send_message(
                chat,
                text,
                message_thread_id=thread,
                link_preview_options=NO_PREVIEW,
                disable_notification=True,
            )
            posted.append(RemoteId(str(message.message_id)))

        self._raise_doubt(await self._try(chat, post))
        return posted[0] if posted else None

    async def _try(
        self, chat: int, call: Callable[[Bot], Awaitable[object]]
    ) -> TelegramError | None:
        """Make the call; returns what Telegram had against it, None for nothing."""
        try:
            async with self._slots, self._link.bot() as bot:
                await call(bot)
        except errors.Flooded as err:
            self._pacing.cool(chat, err.retry_after, extras_only=True)
            return err
        except TelegramError as err:
            log.debug("best-effort call failed: %s", type(err).__name__)
            return err
        return None
