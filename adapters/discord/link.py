"""discord.py's HTTP side for what we send: signs in when first needed, outlives connections.

Its own client, so that a gateway that is built anew holds up no answer, and what Discord said of
rate limits is kept.
"""

from __future__ import annotations

import asyncio

import discord

from adapters.discord.connection import close, point
from adapters.discord.options import DiscordOptions
from adapters.discord.wire import traced


class Link:
    """Hands out the signed-in client."""

    def __init__(self, options: DiscordOptions) -> None:
        self._options = options
        self._client: discord.Client | None = None
        self._signing_in = asyncio.Lock()

    async def client(self) -> discord.Client:
        """The client. Raises what discord.py raises where it cannot sign in."""
        async with self._signing_in:
            if self._client is None:
                self._client = await self._signed_in()
            return self._client

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await close(client, self._options.close_s)

    async def _signed_in(self) -> discord.Client:
        point(self._options)
        client = discord.Client(
            intents=discord.Intents(guilds=True),
            max_messages=None,
            http_trace=traced(self._options.api_base),
        )
        is_in = False
        try:
            async with asyncio.timeout(self._options.connect_s):
                await client.login(self._options.token)
            is_in = True
        finally:
            if not is_in:
                await close(client, self._options.close_s)
        return client
