"""Sees each answer before discord.py does, so that nothing is tried twice behind our back.

discord.py waits out a 429 and repeats a 5xx inside of a call. Here a limit is a cool-down of that
channel and a repeat is the outbox's to decide, so both end the call. Also knows whether bytes had
been written. Works through aiohttp's tracing, which runs in the caller's task.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import SimpleNamespace

import aiohttp

from adapters.discord.errors import Broken, Flooded

LONG_PAUSE_S = 60.0
"""For a limit that names no time: a proxy before Discord sends such."""


@dataclass(slots=True)
class Attempt:
    """One call of ours; `written` once its bytes went out."""

    written: bool = False


_attempt: ContextVar[Attempt | None] = ContextVar("discord_attempt", default=None)


@contextmanager
def attempt() -> Iterator[Attempt]:
    """What happens to the requests of this task while entered."""
    current = Attempt()
    token = _attempt.set(current)
    try:
        yield current
    finally:
        _attempt.reset(token)


def traced(api_base: str) -> aiohttp.TraceConfig:
    """The tracing for a client whose REST API is there."""
    config = aiohttp.TraceConfig()

    async def written(
        _session: aiohttp.ClientSession,
        _context: SimpleNamespace,
        _params: aiohttp.TraceRequestHeadersSentParams,
    ) -> None:
        current = _attempt.get()
        if current is not None:
            current.written = True

    async def ended(
        _session: aiohttp.ClientSession,
        _context: SimpleNamespace,
        params: aiohttp.TraceRequestEndParams,
    ) -> None:
        is_api = str(params.url).startswith(api_base)
        try:
            await _check(params.response, is_api=is_api)
        except (Flooded, Broken):
            params.response.close()
            raise

    config.on_request_headers_sent.append(written)
    config.on_request_end.append(ended)
    return config


async def _check(response: aiohttp.ClientResponse, *, is_api: bool) -> None:
    """Raise `Flooded` or `Broken` for what is no answer to the call."""
    status = response.status
    if status == 429:
        raise await _flood(response)
    if status >= 500:
        raise Broken(f"the server answers {status}")
    if is_api and 200 <= status < 300 and status != 204:
        kind = response.headers.get("Content-Type", "")
        if kind != "application/json":
            raise Broken(f"something else than Discord answers ({kind or 'no content type'})")


async def _flood(response: aiohttp.ClientResponse) -> Flooded:
    """How long Discord wants us to wait: in the answer, else in its header."""
    try:
        body = json.loads(await response.read())
        return Flooded(float(body["retry_after"]), everywhere=bool(body.get("global", False)))
    except (TimeoutError, ValueError, KeyError, TypeError, aiohttp.ClientError, OSError):
        pass
    try:
        return Flooded(float(response.headers["Retry-After"]))
    except (KeyError, ValueError):
        return Flooded(LONG_PAUSE_S)
