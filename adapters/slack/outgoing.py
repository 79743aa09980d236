"""Posts and edits messages and files.

Nothing is sent twice here: a send whose answer got lost is reported as doubtful, and the
outbox decides. What Slack refused for certain may be tried again in a plainer form.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import IO, TypeVar

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.slack import errors
from adapters.slack.encode import Form, edited, note, posted
from adapters.slack.hints import localised, spelled
from adapters.slack.link import Link
from adapters.slack.pacing import Pacing
from adapters.slack.threads import Threads
from core.errors import PermanentError, TransientError
from core.messages import Address, RemoteId, Say, SendFile
from core.ports import Clock, Sent

MAX_UPLOAD = 100 * 1024 * 1024
UPLOAD_S = 300.0

T = TypeVar("T")

log = logging.getLogger(__name__)


class Outgoing:
    """The calls whose failure matters."""

    def __init__(
        self,
        link: Link,
        pacing: Pacing,
        threads: Threads,
        clock: Clock,
        secrets: Sequence[str],
    ) -> None:
        self._link = link
        self._pacing = pacing
        self._clock = clock
        self._threads = threads
        self._secrets = secrets

    async def say(self, address: Address, what: Say) -> Sent:
        """Post a message: formatted, else plain; in its thread, else in the channel."""
        forms = _forms(posted, localised(what, threaded=bool(address.thread)))
        answer = await self.call(address.chat, lambda client: post(client, address, forms))
        self._threads.join(address.chat, address.thread)
        ts = str(answer.get("ts") or "")
        return Sent(RemoteId(ts), float(ts) if ts else self._clock.now())

    async def edit(self, address: Address, remote: RemoteId, what: Say) -> None:
        """Replace text and buttons."""
        forms = _forms(edited, localised(what, threaded=bool(address.thread)))
        await self.call(address.chat, lambda client: change(client, address, remote, forms))

    async def whisper(self, chat: str, thread: str, user: str, text: str) -> None:
        """Show a text to one person of a channel only, as long as their Slack is open."""
        told = note(spelled(text, threaded=bool(thread)))
        await self.call(
            chat,
            lambda client: client.chat_postEphemeral(
                channel=chat, user=user, text=told, thread_ts=thread or None
            ),
        )

    async def post_file(self, address: Address, what: SendFile) -> Sent:
        """Post a file of at most 100 MB; the id is the file's, the time is ours."""
        content = await asyncio.to_thread(_content, what)

        async def upload(client: AsyncWebClient) -> AsyncSlackResponse:
            async with asyncio.timeout(UPLOAD_S):
                return await _in_thread(
                    address.thread,
                    lambda thread: client.files_upload_v2(
                        content=content,
                        filename=what.name,
                        title=what.name,
                        channel=address.chat,
                        thread_ts=thread,
                        initial_comment=note(what.caption) or None,
                    ),
                )

        answer = await self.call(address.chat, upload)
        self._threads.join(address.chat, address.thread)
        files = answer.get("files")
        named = files[0].get("id") if isinstance(files, list) and files else ""
        return Sent(RemoteId(str(named or "")), self._clock.now())

    async def call(self, chat: str, work: Callable[[AsyncWebClient], Awaitable[T]]) -> T:
        """Make a call to one chat: held back while it cools down, errors translated."""
        if wait_s := self._pacing.wait_s(chat):
            raise TransientError(
                f"Slack lets nothing into this channel for {wait_s:.0f} s.", retry_after=wait_s
            )
        try:
            async with self._link.client() as client:
                return await work(client)
        except errors.FAILED_CALL as err:
            if (seconds := errors.rest_s(err)) is not None:
                self._pacing.cool(chat, seconds)
            raise errors.translate(err, self._secrets) from None


async def post(
    client: AsyncWebClient, address: Address, forms: Sequence[Form]
) -> AsyncSlackResponse:
    """One message in its place, without previews."""
    return await _in_thread(
        address.thread,
        lambda thread: _plainer(
            forms,
            lambda form: client.chat_postMessage(
                channel=address.chat,
                thread_ts=thread,
                unfurl_links=False,
                unfurl_media=False,
                **form,  # type: ignore[arg-type]
            ),
        ),
    )


async def change(
    client: AsyncWebClient, address: Address, remote: RemoteId, forms: Sequence[Form]
) -> AsyncSlackResponse:
    """Another content for a message."""
    return await _plainer(
        forms,
        lambda form: client.chat_update(
            channel=address.chat,
            ts=remote,
            **form,  # type: ignore[arg-type]
        ),
    )


async def _plainer(
    forms: Sequence[Form], call: Callable[[Form], Awaitable[AsyncSlackResponse]]
) -> AsyncSlackResponse:
    """Call with the best form that Slack takes.

    A refusal is certain: nothing was posted, so another try makes no second copy.
    """
    *better, last = forms
    for form in better:
        try:
            return await call(form)
        except errors.FAILED_CALL as err:
            if not errors.refuses_content(err):
                raise
            log.debug("formatted text refused (%s), sending it plain", errors.code_of(err))
    return await call(last)


async def _in_thread(
    thread: str, call: Callable[[str | None], Awaitable[AsyncSlackResponse]]
) -> AsyncSlackResponse:
    """Call for a thread, and for the channel when the thread is gone."""
    try:
        return await call(thread or None)
    except errors.FAILED_CALL as err:
        if not thread or errors.code_of(err) not in errors.THREAD_GONE:
            raise
    return await call(None)


def _forms(make: Callable[[Say], tuple[Form, ...]], what: Say) -> tuple[Form, ...]:
    try:
        return make(what)
    except ValueError as err:
        raise PermanentError(str(err)) from None


def _content(what: SendFile) -> bytes:
    """A file's bytes, refused before they are read when there are too many."""
    with _opened(what) as file:
        size = file.seek(0, os.SEEK_END)
        if size > MAX_UPLOAD:
            raise PermanentError(
                f"The file {what.name} has {size / 1024 / 1024:.0f} MB; at most 100 MB are sent."
            )
        file.seek(0)
        return file.read()


def _opened(what: SendFile) -> IO[bytes]:
    if not what.path:
        return BytesIO(what.content.encode("utf-8", "replace"))
    try:
        return Path(what.path).open("rb")
    except OSError as err:
        raise PermanentError(f"The file {what.name} cannot be read: {err.strerror}.") from None
