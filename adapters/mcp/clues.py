"""Why a connection failed, in words that say what to do. May not know how it is made."""

from __future__ import annotations

from collections.abc import Collection

import httpx2
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from adapters.mcp.decode import clean
from adapters.mcp.options import ServerOptions
from core.errors import PursuitError
from core.tools.tool import one_line

REASON_CHARS = 300
SHORTEST_SECRET = 8
MASK = "[redacted]"


def innermost(error: BaseException) -> BaseException:
    """The first fault in a group of faults; task groups wrap whatever passes through them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def reason(error: BaseException, options: ServerOptions, clue: str) -> str:
    """One line for people and models, without the secrets of the settings; `clue` is what the
    link has seen, "" for nothing."""
    text = clean(f"{_told(innermost(error), options)}{f': {clue}' if clue else ''}")
    return one_line(masked(text, (*options.env.values(), *options.headers.values())), REASON_CHARS)


def masked(text: str, secrets: Collection[str]) -> str:
    """The text without them: programs print their environment when they fail."""
    for secret in secrets:
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, MASK)
    return text


def _told(error: BaseException, options: ServerOptions) -> str:
    match error:
        case PursuitError():
            return str(error)
        case TimeoutError():
            return f"it did not answer within {options.start_s:g} s ({options.key('start_s')})"
        case FileNotFoundError() | NotADirectoryError() if error.filename == str(options.cwd):
            return f"there is no folder {options.cwd} ({options.key('cwd')})"
        case FileNotFoundError():
            return f"there is no program {options.command!r} ({options.key('command')})"
        case httpx2.TransportError():
            where = f"{type(error).__name__} at {host(options)} ({options.key('url')})"
            return f"{where}: {error}" if str(error) else where
        case MCPError():
            return error.message
        case ValidationError():
            return (
                f"it does not keep to the protocol ({error.title}: {error.error_count()} faults)"
            )
        case OSError():
            return error.strerror or str(error)
        case _:
            return f"{type(error).__name__}: {error}"


def host(options: ServerOptions) -> str:
    """Where a server is; the rest of an address may hold a key."""
    try:
        url = httpx2.URL(options.url)
    except httpx2.InvalidURL:
        return "an address that is none"
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace').rpartition('@')[2]}"
