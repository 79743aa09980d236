"""The connections to one endpoint, shared by all of its models. Does no retries."""

from __future__ import annotations

import httpx2
import openai
from openai import AsyncStream

from adapters.openai.options import ProviderOptions
from core.errors import UserError

# Above the default of 256 model calls at a time; beyond it the pool would queue them silently.
_LIMITS = httpx2.Limits(
    max_connections=1_000, max_keepalive_connections=256, keepalive_expiry=30.0
)


class Provider:
    """Owns one SDK client and its pool from construction to `close`.

    Raises UserError for a key or an address that cannot be sent at all.
    """

    def __init__(self, options: ProviderOptions) -> None:
        key = options.api_key.strip()
        if not (key.isascii() and key.isprintable()):
            raise UserError(
                f"providers.{options.name}.api_key holds characters that no key has; copy it again"
            )
        if not options.base_url.startswith(("http://", "https://")):
            raise UserError(
                f"providers.{options.name}.base_url must start with http:// or https://"
            )
        self.options = options
        self._client = self._connect(key)

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
                ),
            )
        except (httpx2.InvalidURL, ValueError) as error:
            raise UserError(
                f"providers.{options.name}: base_url or proxy is no URL: {error}"
            ) from error
        # Taken from OPENAI_ORG_ID and OPENAI_PROJECT_ID, and they would go to every endpoint.
        client.organization = client.project = None
        return client

    async def stream(self, path: str, body: bytes) -> AsyncStream[object]:
        """Post a JSON body and return the events, each as its parsed JSON.

        The SDK's generic `post` takes what `chat.completions.create` would, without building
        two pydantic objects per token. Raises the SDK's errors.
        """
        return await self._client.post(
            path,
            cast_to=object,
            content=body,
            # The default would also send an admin key that happens to be in the environment.
            options={"security": {"bearer_auth": True}},
            stream=True,
            stream_cls=AsyncStream[object],
        )

    async def close(self) -> None:
        """Close the pool; calls still running fail."""
        await self._client.close()
