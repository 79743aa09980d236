"""Posts and edits messages and files.

A post whose answer got lost is reported as doubtful, and its repeat goes out under the same
nonce. What Discord refused for certain may be tried again in a plainer form.
"""

from __future__ import annotations

import asyncio
import io
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import discord
from discord.http import HTTPClient, MultipartParameters, handle_message_parameters

from adapters.discord import errors
from adapters.discord.encode import MAX_UNITS, custom_ids, cut, shown, verbatim
from adapters.discord.link import Link
from adapters.discord.options import DiscordOptions
from adapters.discord.pacing import EVERYWHERE, Pacing
from adapters.discord.wire import attempt
from core.errors import PermanentError, TransientError
from core.messages import Address, RemoteId, Say, SendFile
from core.ports import Sent

MAX_UPLOAD = 10 * 1024 * 1024
NOBODY = discord.AllowedMentions.none()

T = TypeVar("T")
Work = Callable[[HTTPClient, int], Awaitable[T]]

log = logging.getLogger(__name__)


def channel_of(address: Address) -> int:
    """The thread or channel that the address means, as Discord's number."""
    return _number(address.thread or address.chat)


def message_of(remote: RemoteId) -> int:
    """A message's number."""
    return _number(remote)


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise PermanentError(f"Discord knows no id like {text!r}.") from None


def no_previews(*, silent: bool = False) -> discord.MessageFlags:
    """The flags of every post and edit."""
    return discord.MessageFlags(suppress_embeds=True, suppress_notifications=silent)


class Outgoing:
    """The calls whose failure matters."""

    def __init__(self, link: Link, pacing: Pacing, options: DiscordOptions) -> None:
        self._link = link
        self._pacing = pacing
        self._options = options

    async def say(self, address: Address, what: Say, nonce: str) -> Sent:
        """Post a message: formatted, else plain. Discord keeps a post's nonce for some minutes
        and answers a second post under it with the first."""
        channel = channel_of(address)
        view = _view(what)
        reference = _reference(what, channel)

        async def send(http: HTTPClient, content: str) -> Sent:
            with handle_message_parameters(
                content,
                nonce=nonce,
                view=view,
                flags=no_previews(),
                allowed_mentions=NOBODY,
                message_reference=reference,
            ) as params:
                return await _posted(http, channel, params)

        async def work(http: HTTPClient, _: int) -> Sent:
            return await _plainer(
                http, channel, send, shown(what.text, markdown=what.markdown), verbatim(what.text)
            )

        return await self.call(address, work, self._options.call_s)

    async def edit(self, address: Address, remote: RemoteId, what: Say) -> None:
        """Replace text and buttons."""
        channel, number = channel_of(address), message_of(remote)
        view = _view(what)

        async def change(http: HTTPClient, content: str) -> None:
            with handle_message_parameters(
                content,
                view=None if view is discord.utils.MISSING else view,
                flags=no_previews(),
                allowed_mentions=NOBODY,
            ) as params:
                await http.edit_message(channel, number, params=params)

        async def work(http: HTTPClient, _: int) -> None:
            content = shown(what.text, markdown=what.markdown)
            await _plainer(http, channel, change, content, verbatim(what.text))

        await self.call(address, work, self._options.call_s)

    async def post_file(self, address: Address, what: SendFile, nonce: str) -> Sent:
        """Post a file of at most 10 MB."""
        channel = channel_of(address)
        await asyncio.to_thread(_check, what)
        content = cut(verbatim(what.caption), MAX_UNITS) if what.caption.strip() else ""

        async def send(http: HTTPClient, content: str) -> Sent:
            opened = await asyncio.to_thread(_opened, what)
            with (
                opened as file,
                handle_message_parameters(
                    content,
                    nonce=nonce,
                    flags=no_previews(),
                    allowed_mentions=NOBODY,
                    file=discord.File(file, what.name),
                ) as params,
            ):
                return await _posted(http, channel, params)

        async def work(http: HTTPClient, _: int) -> Sent:
            return await _plainer(http, channel, send, content, content)

        return await self.call(address, work, self._options.upload_s)

    async def call(
        self, address: Address, work: Work[T], limit_s: float, *, extra: bool = False
    ) -> T:
        """Run calls to one channel: held back while it cools down, errors translated.

        A limit that an `extra` (a reaction, progress) meets holds up extras only.
        """
        channel = channel_of(address)
        if wait_s := self._pacing.wait_s(channel):
            raise TransientError(
                f"Discord lets nothing into this channel for {wait_s:.0f} s.", retry_after=wait_s
            )
        token = self._options.token
        try:
            client = await self._link.client()
        except errors.CALL_ERRORS as err:
            self._cool(channel, err, extra=extra)
            raise errors.translate_closing(err, token) from None
        with attempt() as tried:
            try:
                async with asyncio.timeout(limit_s):
                    return await work(client.http, channel)
            except errors.CALL_ERRORS as err:
                self._cool(channel, err, extra=extra)
                raise errors.translate(err, token, written=tried.written) from None

    def _cool(self, channel: int, err: Exception, *, extra: bool) -> None:
        if not isinstance(err, errors.Flooded):
            return
        if err.everywhere:
            self._pacing.cool(EVERYWHERE, err.retry_after)
        else:
            self._pacing.cool(channel, err.retry_after, extras_only=extra)


async def _posted(http: HTTPClient, channel: int, params: MultipartParameters) -> Sent:
    """The message that Discord has; of two posts under one nonce, the first."""
    number = int((await http.send_message(channel, params=params))["id"])
    return Sent(RemoteId(str(number)), discord.utils.snowflake_time(number).timestamp())


async def _plainer(
    http: HTTPClient,
    channel: int,
    call: Callable[[HTTPClient, str], Awaitable[T]],
    content: str,
    plain: str,
) -> T:
    """Call with the text as it is, and in a plainer way where Discord refuses that.

    A refusal is certain: nothing was posted, so another try makes no second copy.
    """
    opened = False
    while True:
        try:
            return await call(http, content)
        except discord.HTTPException as err:
            if errors.is_archived(err) and not opened:
                opened = True
                await http.edit_channel(channel, archived=False)
            elif errors.is_markup(err) and content != plain:
                log.debug("formatted text refused, sending it plain")
                content = plain
            else:
                raise


def _view(what: Say) -> discord.ui.View:
    try:
        ids = custom_ids(what.buttons)
    except ValueError as err:
        raise PermanentError(str(err)) from None
    if not ids:
        nothing: discord.ui.View = discord.utils.MISSING
        return nothing
    view = discord.ui.View(timeout=None)
    for label, custom_id in ids:
        view.add_item(discord.ui.Button[discord.ui.View](label=label, custom_id=custom_id))
    return view


def _reference(what: Say, channel: int) -> discord.types.message.MessageReference:
    if not what.reply_to:
        nothing: discord.types.message.MessageReference = discord.utils.MISSING
        return nothing
    return discord.MessageReference(
        message_id=message_of(what.reply_to), channel_id=channel, fail_if_not_exists=False
    ).to_message_reference_dict()


def _check(what: SendFile) -> None:
    """Refuse what cannot be sent, before anything is asked of Discord."""
    with _opened(what) as file:
        size = file.seek(0, os.SEEK_END)
    if size > MAX_UPLOAD:
        raise PermanentError(
            f"The file {what.name} has {size / 1024 / 1024:.0f} MB; "
            "Discord takes at most 10 MB from a bot."
        )


def _opened(what: SendFile) -> io.BufferedIOBase:
    if not what.path:
        return io.BytesIO(what.content.encode("utf-8", "replace"))
    try:
        return Path(what.path).open("rb")
    except OSError as err:
        raise PermanentError(f"The file {what.name} cannot be read: {err.strerror}.") from None
