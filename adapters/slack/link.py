"""The app's way out over HTTP: builds slack_sdk's client and its connections, replaces and
closes them. Nothing else constructs them.

The client has no retry handlers at all: the library's own sends a message again whose answer
got lost, and one that waits out a 429 holds up every other chat.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.options import SlackOptions

CALLS_AT_ONCE = 16

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Wire:
    """A client with its connections; `users` counts the calls in flight."""

    client: AsyncWebClient
    session: aiohttp.ClientSession
    users: int = 0
    retired: bool = False


class Link:
    """Hands out the current client. Before `open` and after `close` each call gets its own."""

    def __init__(self, options: SlackOptions) -> None:
        self._options = options
        self._wire: Wire | None = None
        self._slots = asyncio.Semaphore(CALLS_AT_ONCE)

    def open(self) -> None:
        """Keep connections from here on."""
        if self._wire is None:
            self._wire = self._build()

    async def close(self) -> None:
        """Drop the kept connections; calls in flight end on them. At most `close_s`."""
        wire, self._wire = self._wire, None
        if wire is not None:
            await self._retire(wire)

    async def rebuild(self) -> None:
        """Begin anew with fresh connections."""
        old, self._wire = self._wire, self._build()
        if old is not None:
            await self._retire(old)

    @asynccontextmanager
    async def client(self) -> AsyncIterator[AsyncWebClient]:
        """The client for one call, when it is its turn."""
        async with self._slots, self.wire() as wire:
            yield wire.client

    @asynccontextmanager
    async def wire(self) -> AsyncIterator[Wire]:
        """The client and its session, at once: for sockets and whatever may take long."""
        kept = self._wire
        wire = kept or self._build()
        wire.users += 1
        wire.retired = wire.retired or kept is None
        try:
            yield wire
        finally:
            wire.users -= 1
            if wire.retired and not wire.users:
                await self._shut(wire)

    async def _retire(self, wire: Wire) -> None:
        wire.retired = True
        if not wire.users:
            await self._shut(wire)

    async def _shut(self, wire: Wire) -> None:
        try:
            async with asyncio.timeout(self._options.close_s):
                await wire.session.close()
        except (TimeoutError, aiohttp.ClientError, OSError) as err:
            log.debug("closing the Slack connections: %s", type(err).__name__)

    def _build(self) -> Wire:
        options = self._options
        session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=options.connect_s, sock_read=options.call_s
            ),
            trust_env=True,
        )
        client = AsyncWebClient(
            options.bot_token,
            base_url=options.base_url,
            session=session,
            retry_handlers=[],
            logger=logging.getLogger("slack_sdk"),
        )
        client.proxy = None  # the library's own reading of the environment ignores NO_PROXY
        return Wire(client, session)
