"""Keeps the bot connected: a fresh client for each try, with growing pauses between them.

Ends only by cancellation or an error that a person must mend. While a client lives, discord.py
itself resumes its session; this watches it from outside.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

import discord
from discord.gateway import DiscordWebSocket
from discord.http import Route
from yarl import URL

from adapters.discord import errors
from adapters.discord.options import DiscordOptions, MenuEntry
from adapters.discord.session import Hears, Session
from core.backoff import Backoff
from core.errors import PursuitError, TransientError
from core.ports import Clock
from core.pulse import Pulse

log = logging.getLogger(__name__)


def point(options: DiscordOptions) -> None:
    """Tell discord.py where Discord is. It keeps that per process, so one server at a time."""
    Route.BASE = options.api_base
    DiscordWebSocket.DEFAULT_GATEWAY = URL(options.gateway_url)
    discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # nobody speaks here


class Connection:
    """The life of the gateway side."""

    def __init__(
        self,
        options: DiscordOptions,
        hears: Hears,
        pulse: Pulse,
        clock: Clock,
        menu: Sequence[MenuEntry],
        synced: Path,
    ) -> None:
        self._options = options
        self._hears = hears
        self._pulse = pulse
        self._clock = clock
        self._menu = menu
        self._synced = synced
        self._backoff = Backoff(options.backoff_s, options.backoff_cap_s)

    async def run(self) -> None:
        """Be connected for ever. Raises UserError and PermanentError."""
        while True:
            point(self._options)
            self._pulse.touch()
            started = self._clock.monotonic()
            error = await self._live()
            if not isinstance(error, TransientError):
                self._pulse.fault(str(error))
                raise error
            self._pulse.fault(str(error))
            log.warning("%s; connecting anew", error)
            if self._clock.monotonic() - started >= self._options.steady_s:
                self._backoff.reset()
            await self._backoff.pause(error.retry_after or 0.0)

    async def _live(self) -> PursuitError:
        """One client's whole life; what ended it."""
        identify = Backoff(self._options.identify_s, self._options.backoff_cap_s)
        session = Session(
            self._options, self._hears, self._pulse, self._menu, self._synced, identify
        )
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._watch(), name="discord-watch")
                group.create_task(self._serve(session), name="discord-gateway")
                try:
                    await asyncio.Event().wait()
                finally:
                    # First of all: a cancellation that discord.py loses ends with its client.
                    await close(session, self._options.close_s)
        except ExceptionGroup as failures:
            _still_wanted()
            error = _first(failures)
            if isinstance(error, PursuitError):
                return error
            if not isinstance(error, (*errors.CALL_ERRORS, AttributeError)):
                raise
            # discord.py dies of an AttributeError where its first socket fails.
            return errors.translate_closing(error, self._options.token)
        return TransientError("Discord closed the connection")

    async def _serve(self, session: Session) -> None:
        async with asyncio.timeout(self._options.connect_s):
            await session.login(self._options.token)
        await session.connect()
        raise TransientError("Discord closed the connection")

    async def _watch(self) -> None:
        """Raise TransientError when the gateway has been silent for too long."""
        while True:
            left_s = self._options.rebuild_s - self._pulse.silent_s
            if left_s <= 0:
                raise TransientError(f"silent for {self._pulse.silent_s:.0f} s")
            await asyncio.sleep(left_s)


async def close(client: discord.Client, close_s: float) -> None:
    """Close a client within bounds, its HTTP side in any case."""
    for step in (client.close, client.http.close):
        try:
            async with asyncio.timeout(close_s):
                await step()
        except errors.CALL_ERRORS as err:
            log.debug("closing the connection to Discord: %s", type(err).__name__)


def _still_wanted() -> None:
    """Python 3.11's TaskGroup forgets that it was cancelled when a task failed meanwhile."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _first(group: ExceptionGroup[Exception]) -> Exception:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, ExceptionGroup) else first
