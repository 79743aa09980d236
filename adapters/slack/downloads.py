"""Fetches the files that people sent, with the bot's token.

The token goes to Slack only, and a login page, which Slack gives instead of a file to whom it
does not trust, is never taken for the file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.slack import errors
from adapters.slack.link import Link
from adapters.slack.options import SlackOptions
from core.errors import PermanentError, TransientError, UserError
from core.messages import Attachment

MAX_DOWNLOAD = 100 * 1024 * 1024
DOWNLOAD_S = 300.0
CHUNK = 256 * 1024
TOO_BIG = "The file {name} is too large: at most 100 MB are fetched from Slack."
NOT_LET_IN = (
    "Slack does not give out the file {name}: the app needs the scope files:read "
    "(platforms.slack.bot_token; reinstall the app after adding it)."
)
ELSEWHERE = "The file {name} is not kept by Slack, so it is not fetched."


class Downloads:
    """Files by their id."""

    def __init__(self, link: Link, options: SlackOptions) -> None:
        self._link = link
        self._token = options.bot_token
        self._secrets: Sequence[str] = options.secrets
        self._own = urlsplit(options.base_url)

    async def fetch(self, attachment: Attachment, to: Path) -> None:
        """Fetch a file of at most 100 MB. Raises UserError for one that cannot be had."""
        if attachment.size > MAX_DOWNLOAD:
            raise UserError(TOO_BIG.format(name=attachment.name))
        try:
            async with self._link.client() as client:
                info = await client.files_info(file=attachment.ref)
            url = self._url(info, attachment)
            async with asyncio.timeout(DOWNLOAD_S), self._link.wire() as wire:
                await self._stream(wire.session, url, attachment, to)
        except errors.FAILED_CALL as err:
            error = errors.translate(err, self._secrets)
            if isinstance(error, PermanentError):
                raise UserError(f"The file {attachment.name} cannot be had: {error}") from None
            raise error from None

    def _url(self, info: AsyncSlackResponse, attachment: Attachment) -> str:
        file = info.get("file")
        told = file if isinstance(file, dict) else {}
        url = str(told.get("url_private_download") or told.get("url_private") or "")
        parts = urlsplit(url)
        host = parts.hostname or ""
        slacks = parts.scheme == "https" and (host == "slack.com" or host.endswith(".slack.com"))
        if not slacks and (parts.scheme, parts.netloc) != (self._own.scheme, self._own.netloc):
            raise UserError(ELSEWHERE.format(name=attachment.name))
        return url

    async def _stream(
        self, session: aiohttp.ClientSession, url: str, attachment: Attachment, to: Path
    ) -> None:
        headers = {"Authorization": f"Bearer {self._token}"}
        # A redirect leads to the login page, or away with the token.
        async with session.get(url, headers=headers, allow_redirects=False) as answer:
            _refuse(answer, attachment)
            try:
                file = await asyncio.to_thread(to.open, "wb")
            except OSError as err:
                raise _unsaved(attachment, err) from None
            with file:
                size = await _write(answer, attachment, file)
        if attachment.size and size != attachment.size:
            raise UserError(NOT_LET_IN.format(name=attachment.name))


def _refuse(answer: aiohttp.ClientResponse, attachment: Attachment) -> None:
    login_page = answer.content_type == "text/html" and attachment.mime != "text/html"
    if login_page or answer.status in {301, 302, 303, 307, 308, 401, 403}:
        raise UserError(NOT_LET_IN.format(name=attachment.name))
    if answer.status in {404, 410}:
        raise UserError(f"The file {attachment.name} does not exist any more.")
    if answer.status != 200:
        raise TransientError(f"Slack answered {answer.status} instead of {attachment.name}.")


async def _write(answer: aiohttp.ClientResponse, attachment: Attachment, file: IO[bytes]) -> int:
    size = 0
    async for chunk in answer.content.iter_chunked(CHUNK):
        size += len(chunk)
        if size > MAX_DOWNLOAD:
            raise UserError(TOO_BIG.format(name=attachment.name))
        try:
            await asyncio.to_thread(file.write, chunk)
        except OSError as err:
            raise _unsaved(attachment, err) from None
    return size


def _unsaved(attachment: Attachment, err: OSError) -> UserError:
    return UserError(f"The file {attachment.name} cannot be saved: {err.strerror}.")
