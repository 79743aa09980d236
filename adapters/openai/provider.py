"""The connections to one endpoint, shared by all of its models. Does no retries."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2
import openai
from openai import AsyncStream

from adapters.openai.options import ProviderOptions
from core.errors import UserError

_SEATS = 16
"""Calls that share a pool. With each call httpx looks at all its connections, and asks the kernel
about the idle ones: one pool for a thousand would cost more than the calls."""
_LIMITS = httpx2.Limits(
    max_connections=_SEATS, max_keepalive_connections=_SEATS, keepalive_expiry=30.0
)


@dataclass(slots=True)
class _Line:
    """An SDK client with its own pool; `calls` are running on it."""

    client: openai.AsyncOpenAI
    calls: int = 0


class Provider:
    """Owns the SDK clients and their pools from construction to `close`.

    Raises UserError for a key or an address that cannot be sent at all.
    """

    def __init__(self, options: ProviderOptions) -> None:
        key = options.api_key.strip()
        if not (key.isascii() and key.isprintable()):
            raise UserError(
                f"{options.api_key_place} holds characters that no key has; copy it again"
            )
        if not options.base_url.startswith(("http://", "https://")):
            raise UserError(f"{options.base_url_place} must start with http:// or https://")
        self.options = options
        self._key = key
        self._tls = httpx2.create_ssl_context()  # most of what a client costs
        self._lines = [_Line(self._connect(key))]

    def _connect(self, key: str) -> openai.AsyncOpenAI:
        options = self.options
        timeout = httpx2.Timeout(
            connect=options.connect_s, read=options.stall_s, write=options.stall_s, pool=None
        )
        try:
            client = openai.AsyncOpenAI(
                base_url=options.base_url,
                # The SDK refuses an empty key and then looks in the environment.
                api_key=key or "none",
                # One retry layer: the model's, which also covers a stream that breaks.
                max_retries=0,
                timeout=timeout,
                http_client=httpx2.AsyncClient(
                    timeout=timeout,
                    limits=_LIMITS,
                    follow_redirects=True,
                    proxy=options.proxy or None,
                    verify=self._tls,
                ),
            )
        except (httpx2.InvalidURL, ValueError) as error:
            raise UserError(f"{options.base_url_place} or its proxy is no URL: {error}") from error
        # Taken from OPENAI_ORG_ID and OPENAI_PROJECT_ID, and they would go to every endpoint.
        client.organization = client.project = None
        return client

    def _free(self) -> _Line:
        """The first line with a free seat, so that few calls keep few connections."""
        for line in self._lines:
            if line.calls < _SEATS:
                return line
        self._lines.append(_Line(self._connect(self._key)))
        return self._lines[-1]

    @asynccontextmanager
    async def stream(self, path: str, body: bytes) -> AsyncIterator[AsyncStream[object]]:
        """Post a JSON body and give the events, each as its parsed JSON.

        The SDK's generic `post` takes what `chat.completions.create` would, without building
        two pydantic objects per token. Raises the SDK's errors.
        """
        line = self._free()
        line.calls += 1
        try:
            stream = await line.client.post(
                path,
                cast_to=object,
                content=body,
                # The default would also send an admin key that happens to be in the environment.
                options={"security": {"bearer_auth": True}},
                stream=True,
                stream_cls=AsyncStream[object],
            )
            async with stream:
                yield stream
        finally:
            line.calls -= 1
            await self._shrink()

    async def _shrink(self) -> None:
        """Give up what a rush has left; one empty line stays for the next."""
        while len(self._lines) > 2 and not (self._lines[-1].calls or self._lines[-2].calls):
            await self._lines.pop().client.close()

    async def close(self) -> None:
        """Close the pools; calls still running fail."""
        for line in self._lines:
            await line.client.close()
