"""The connections to one endpoint, shared by all of its models. Does no retries."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import openai
from openai import AsyncStream
from socksio.exceptions import SOCKSError

from adapters.openai.options import ProviderOptions
from core.errors import UserError

_KEPT_S = 30.0
"""As many connections as there are calls; an idle one is kept for so long."""


class Provider:
    """Owns the SDK client and its connections from construction to `close`.

    The SDK runs on aiohttp, which takes half the CPU of its default for a call (docs/adr/0007);
    on its default where a proxy is named, for aiohttp knows no SOCKS.

    Raises UserError for an address that is none.
    """

    def __init__(self, options: ProviderOptions) -> None:
        self.options = options
        timeout = httpx2.Timeout(
            connect=options.connect_s, read=options.stall_s, write=options.stall_s, pool=None
        )
        try:
            self._client = openai.AsyncOpenAI(
                base_url=options.base_url,
                # The SDK refuses an empty key and then looks in the environment.
                api_key=options.api_key.strip() or "none",
                # One retry layer: the model's, which also covers a stream that breaks.
                max_retries=0,
                timeout=timeout,
                http_client=_transport(options.proxy, timeout),
            )
        except (httpx2.InvalidURL, ValueError) as error:
            raise UserError(f"{options.base_url_place} or its proxy is no URL: {error}") from error
        # Taken from OPENAI_ORG_ID and OPENAI_PROJECT_ID, and they would go to every endpoint.
        self._client.organization = self._client.project = None

    @asynccontextmanager
    async def stream(self, path: str, body: bytes) -> AsyncIterator[AsyncStream[object]]:
        """Post a JSON body and give the events, each as its parsed JSON.

        The SDK's generic `post` takes what `chat.completions.create` would, without building
        two pydantic objects per token. Raises the SDK's errors and httpx's.
        """
        try:
            stream = await self._client.post(
                path,
                cast_to=object,
                content=body,
                # The default would also send an admin key that happens to be in the environment.
                options={"security": {"bearer_auth": True}},
                stream=True,
                stream_cls=AsyncStream[object],
            )
        except SOCKSError as error:  # which httpx passes on as it is
            raise httpx2.ProxyError(str(error)) from error
        async with stream:
            yield stream

    async def close(self) -> None:
        """Close the connections; calls still running fail."""
        await self._client.close()


def _transport(proxy: str, timeout: httpx2.Timeout) -> httpx2.AsyncClient:
    """The HTTP client; any number of connections is None to one library, 0 to the other."""
    if proxy:
        limits = httpx2.Limits(keepalive_expiry=_KEPT_S)
        return openai.DefaultAsyncHttpxClient(
            timeout=timeout, limits=limits, follow_redirects=True, proxy=proxy
        )
    limits = httpx2.Limits(max_connections=0, keepalive_expiry=_KEPT_S)
    return openai.DefaultAioHttpClient(
        timeout=timeout,
        limits=limits,
        follow_redirects=True,
    )
