"""A server at an address, over the SDK's streamable HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import httpx2
from mcp.client.streamable_http import streamable_http_client

from adapters.mcp.options import ServerOptions
from adapters.mcp.process import MAX_LINE_BYTES

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

SESSION = "mcp-session-id"
PATIENCE_S = 300.0
"""How long a stream may be silent; calls have bounds of their own."""
CLOSE_S = 2.0
GONE = 404


class Endpoint:
    """One session with a server. `lost` is called when the server has forgotten it."""

    def __init__(self, options: ServerOptions, lost: Callable[[], None]) -> None:
        self._options = options
        self._lost = lost
        self._session = ""
        self._status = 0

    @property
    def clue(self) -> str:
        """What the server answered, "" for nothing of note."""
        match self._status:
            case 401 | 403 as status:
                return f"HTTP {status}: check {self._options.key('headers')}"
            case 404 | 405 as status if not self._session:
                return f"HTTP {status}: check {self._options.key('url')}"
            case 0:
                return ""
            case status:
                return f"HTTP {status}"

    @asynccontextmanager
    async def open(self) -> AsyncIterator[TransportStreams]:
        """Raises ExceptionGroup of httpx2's errors when the connection breaks."""
        options = self._options
        read_s = max(PATIENCE_S, options.timeout_s + 60)
        async with httpx2.AsyncClient(
            headers=dict(options.headers),
            timeout=httpx2.Timeout(options.start_s, read=read_s),
            event_hooks={"response": [self._note]},
        ) as client:
            try:
                async with streamable_http_client(
                    options.url,
                    http_client=client,
                    terminate_on_close=False,
                    max_sse_event_size=MAX_LINE_BYTES,
                ) as streams:
                    yield streams
            finally:
                await self._leave(client)

    async def _note(self, response: httpx2.Response) -> None:
        self._session = response.headers.get(SESSION, self._session)
        if response.request.method == "POST":
            self._status = response.status_code if response.status_code >= 400 else 0
            if self._status == GONE and self._session:
                self._session = ""
                self._lost()

    async def _leave(self, client: httpx2.AsyncClient) -> None:
        """End the session at the server; the SDK's own way to has no bound."""
        if self._session:
            with suppress(httpx2.HTTPError):
                await client.delete(
                    self._options.url, headers={SESSION: self._session}, timeout=CLOSE_S
                )
