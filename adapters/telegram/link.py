"""The bot's HTTP side: builds python-telegram-bot's objects, replaces them, closes them.

Nothing else constructs a Bot or a request. Logs may not show the token: PTB writes its base URL
at DEBUG, so a filter cuts it out while a connection is open.
"""

from __future__ import annotations

import asyncio
import datetime as dtm
import logging
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import aiohttp
import certifi
from telegram import Bot
from telegram.error import TelegramError

from adapters.telegram.errors import redact
from adapters.telegram.options import TelegramOptions
from adapters.telegram.transport import Calls, Updates
from core.transcript import Json

ALLOWED_UPDATES = ("message", "edited_message", "callback_query", "my_chat_member")
BATCH = 100
CHATTY_LOGGERS = (
    "telegram",
    "telegram.Bot",
    "telegram.request.BaseRequest",
)
UPDATES_POOL = 8
CALLS_POOL = 8
"""Calls at once. Telegram takes about 30 messages a second from a bot."""
POLL_GRACE_S = 5.0

R = TypeVar("R", bound="Calls")

log = logging.getLogger(__name__)


class TokenFilter(logging.Filter):
    """Cuts the token out of what the libraries log."""

    def __init__(self, secret: str) -> None:
        super().__init__()
        self._secret = secret

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite a record that shows the token; drop none."""
        text = record.getMessage()
        if self._secret in text:
            record.msg, record.args = redact(text, self._secret), ()
        return True


@dataclass(slots=True)
class Wire:
    """A Bot with its two connection pools; `users` counts the calls in flight."""

    bot: Bot
    updates: Updates
    calls: Calls
    token_filter: TokenFilter
    users: int = 0
    retired: bool = False

    async def close(self) -> None:
        """Close both pools."""
        try:
            await self.updates.shutdown()
        finally:  # also when this is cancelled
            await self.calls.shutdown()
            for name in CHATTY_LOGGERS:
                logging.getLogger(name).removeFilter(self.token_filter)


class Link:
    """Hands out the current Bot. Before `open` and after `close` each call gets its own."""

    def __init__(self, options: TelegramOptions) -> None:
        self._options = options
        self._tls: ssl.SSLContext | None = None
        self._wire: Wire | None = None
        self._slots = asyncio.Semaphore(CALLS_POOL)

    def open(self) -> None:
        """Keep connections from here on."""
        if self._wire is None:
            self._wire = self._build()

    async def close(self) -> None:
        """Drop the kept connections; takes no longer than `close_s`."""
        wire, self._wire = self._wire, None
        if wire is not None:
            await self._retire(wire)

    async def rebuild(self) -> None:
        """Begin anew with fresh connections; calls in flight end on the old ones."""
        old, self._wire = self._wire, self._build()
        if old is not None:
            await self._retire(old)

    @asynccontextmanager
    async def bot(self) -> AsyncIterator[Bot]:
        """The Bot for one call, when it is its turn."""
        async with self._slots:
            kept = self._wire
            wire = kept or self._build()
            wire.users += 1
            wire.retired = wire.retired or kept is None
            try:
                yield wire.bot
            finally:
                wire.users -= 1
                if wire.retired and not wire.users:
                    await self._shut(wire)

    async def updates(self, offset: int | None, hold_s: float) -> Sequence[Json]:
        """One getUpdates call: raw updates, up to a hundred.

        Raises TelegramError; a call that outlives every timeout is a TelegramError as well.
        """
        self.open()
        wire = self._wire
        assert wire is not None  # noqa: S101 - open() has just made it
        patience_s = self._options.call_s
        try:
            async with asyncio.timeout(hold_s + patience_s + POLL_GRACE_S):
                await wire.bot.get_updates(
                    offset=offset,
                    limit=BATCH,
                    timeout=dtm.timedelta(seconds=hold_s),
                    allowed_updates=ALLOWED_UPDATES,
                    read_timeout=patience_s,
                )
        except TimeoutError:
            raise TelegramError("getUpdates hung past its own timeouts") from None
        return wire.updates.batch

    async def _retire(self, wire: Wire) -> None:
        wire.retired = True
        if not wire.users:
            await self._shut(wire)

    async def _shut(self, wire: Wire) -> None:
        try:
            async with asyncio.timeout(self._options.close_s):
                await wire.close()
        except (TimeoutError, aiohttp.ClientError, OSError) as err:
            log.debug("closing the Telegram connection: %s", type(err).__name__)

    def _build(self) -> Wire:
        token_filter = TokenFilter(self._options.secret)
        for name in CHATTY_LOGGERS:
            logging.getLogger(name).addFilter(token_filter)
        updates = self._request(Updates, UPDATES_POOL)
        calls = self._request(Calls, CALLS_POOL)
        bot = Bot(
            self._options.token,
            base_url=self._options.base_url,
            base_file_url=self._options.base_file_url,
            request=calls,
            get_updates_request=updates,
        )
        return Wire(bot, updates, calls, token_filter)

    def _request(self, kind: type[R], size: int) -> R:
        if self._tls is None:  # loading the certificates is most of what a client costs
            self._tls = ssl.create_default_context(cafile=certifi.where())
        options = self._options
        return kind(size=size, read_s=options.call_s, connect_s=options.connect_s, tls=self._tls)
