"""Posts and edits messages and files.

Nothing is sent twice here: a send whose answer got lost is reported as doubtful, and the
outbox decides. What Telegram refused for certain may be tried again in a plainer form.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from io import BytesIO
from pathlib import Path
from typing import IO, TypeVar

from telegram import (
    Bot,
    InlineKeyboardMarkup,
    InputFile,
    LinkPreviewOptions,
    ReplyParameters,
)
from telegram import Message as TelegramMessage
from telegram.error import BadRequest, ChatMigrated, TelegramError

from adapters.telegram import errors
from adapters.telegram.encode import (
    MAX_CAPTION,
    Rendered,
    cut,
    keyboard,
    plainer,
    render,
    unpinged,
    verbatim,
)
from adapters.telegram.link import Link
from adapters.telegram.pacing import Pacing, is_group
from core.errors import PermanentError, TransientError
from core.messages import Address, RemoteId, Say, SendFile
from core.ports import Sent

MAX_UPLOAD = 50 * 1024 * 1024
UPLOAD_S = 300.0
NO_PREVIEW = LinkPreviewOptions(is_disabled=True)

T = TypeVar("T")
Call = Callable[[Bot, int], Awaitable[T]]

log = logging.getLogger(__name__)


def chat_of(address: Address) -> int:
    """The address's chat as Telegram's number."""
    return _number(address.chat)


def thread_of(address: Address) -> int | None:
    """The address's topic, None outside of topics."""
    return _number(address.thread) if address.thread else None


def message_of(remote: RemoteId) -> int:
    """A message's number."""
    return _number(remote)


def sent(message: TelegramMessage) -> Sent:
    """A message that Telegram has taken."""
    return Sent(RemoteId(str(message.message_id)), message.date.timestamp())


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise PermanentError(f"Telegram knows no id like {text!r}.") from None


def rendered(what: Say, chat: int) -> tuple[Rendered, Rendered]:
    """A message's text and entities, verbatim when the markup does not fit after all; and what
    goes out when Telegram refuses the entities."""
    group = is_group(chat)
    if what.markdown:
        made = render(what.text, group=group)
        if made.text and made.fits:
            return made, plainer(made, what.text, group=group)
    made = verbatim(what.text, group=group)
    return made, made


class Outgoing:
    """The calls whose failure matters. Follows groups that got a new id."""

    def __init__(
        self,
        link: Link,
        pacing: Pacing,
        secret: str,
        on_moved: Callable[[int, int], Awaitable[None]],
    ) -> None:
        self._link = link
        self._pacing = pacing
        self._secret = secret
        self._on_moved = on_moved
        self._moved: dict[int, int] = {}

    def current(self, chat: int) -> int:
        """The chat's present id."""
        return self._moved.get(chat, chat)

    async def say(self, address: Address, what: Say) -> Sent:
        """Post a message: formatted, else plain; in its topic, else in the chat."""
        forms = rendered(what, chat_of(address))
        markup = _keyboard(what)
        reply = (
            ReplyParameters(message_of(what.reply_to), allow_sending_without_reply=True)
            if what.reply_to
            else None
        )

        async def post(bot: Bot, chat: int) -> TelegramMessage:
            return await _plainer(
                lambda made, thread: bot.send_message(
                    chat,
                    made.text,
                    entities=made.entities or None,
                    message_thread_id=thread,
                    reply_markup=markup,
                    reply_parameters=reply,
                    link_preview_options=NO_PREVIEW,
                ),
                forms,
                thread_of(address),
            )

        return sent(await self.call(address, post))

    async def edit(self, address: Address, remote: RemoteId, what: Say) -> None:
        """Replace text and buttons; an edit that changes nothing is none."""
        forms = rendered(what, chat_of(address))
        markup = _keyboard(what)
        number = message_of(remote)

        async def change(bot: Bot, chat: int) -> None:
            try:
                await _plainer(
                    lambda made, _: bot.edit_message_text(
                        made.text,
                        chat,
                        number,
                        entities=made.entities or None,
                        reply_markup=markup,
                        link_preview_options=NO_PREVIEW,
                    ),
                    forms,
                    None,
                )
            except BadRequest as err:
                if not errors.not_modified(err):
                    raise

        await self.call(address, change)

    async def post_file(self, address: Address, what: SendFile) -> Sent:
        """Post a document of at most 50 MB."""
        chat = chat_of(address)
        caption = unpinged(what.caption) if is_group(chat) else what.caption
        made = Rendered(cut(caption, MAX_CAPTION))
        await asyncio.to_thread(_check, what)

        async def post(bot: Bot, chat: int) -> TelegramMessage:
            async def once(made: Rendered, thread: int | None) -> TelegramMessage:
                with await asyncio.to_thread(_opened, what) as file:
                    return await bot.send_document(
                        chat,
                        InputFile(file, what.name, read_file_handle=False),
                        caption=made.text or None,
                        message_thread_id=thread,
                        read_timeout=UPLOAD_S,
                    )

            return await _plainer(once, (made, made), thread_of(address))

        return sent(await self.call(address, post))

    async def call(self, address: Address, work: Call[T]) -> T:
        """Run calls to one chat: held back while it cools down, errors translated."""
        asked = chat_of(address)
        chat = self.current(asked)
        if wait_s := self._pacing.wait_s(chat):
            raise TransientError(
                f"Telegram lets nothing into this chat for {wait_s:.0f} s.", retry_after=wait_s
            )
        self._pacing.spend(chat)
        try:
            async with self._link.bot() as bot:
                try:
                    return await work(bot, chat)
                except ChatMigrated as err:
                    self._moved[asked] = err.new_chat_id
                    await self._on_moved(asked, err.new_chat_id)
                    return await work(bot, err.new_chat_id)
        except TelegramError as err:
            if isinstance(err, errors.Flooded):
                self._pacing.cool(self.current(asked), err.retry_after)
            raise errors.translate(err, self._secret) from None


async def _plainer(
    call: Callable[[Rendered, int | None], Awaitable[T]],
    forms: tuple[Rendered, Rendered],
    thread: int | None,
) -> T:
    """Call with entities and topic, and without the one that Telegram refuses.

    A refusal is certain: nothing was posted, so another try makes no second copy.
    """
    made, plain = forms
    while True:
        try:
            return await call(made, thread)
        except BadRequest as err:
            if thread is not None and errors.topic_gone(err):
                thread = None
            elif made.entities and not (errors.chat_refuses(err) or errors.not_modified(err)):
                log.debug("formatted text refused, sending it plain")
                made = plain
            else:
                raise


def _keyboard(what: Say) -> InlineKeyboardMarkup | None:
    try:
        return keyboard(what.buttons)
    except ValueError as err:
        raise PermanentError(str(err)) from None


def _check(what: SendFile) -> None:
    """Refuse what cannot be sent, before a chat's pace is spent on it."""
    with _opened(what) as file:
        size = file.seek(0, os.SEEK_END)
    if size > MAX_UPLOAD:
        raise PermanentError(
            f"The file {what.name} has {size / 1024 / 1024:.0f} MB; "
            "Telegram takes at most 50 MB from a bot."
        )


def _opened(what: SendFile) -> IO[bytes]:
    if not what.path:
        return BytesIO(what.content.encode("utf-8", "replace"))
    try:
        return Path(what.path).open("rb")
    except OSError as err:
        raise PermanentError(f"The file {what.name} cannot be read: {err.strerror}.") from None
