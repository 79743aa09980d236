"""discord.py's errors as those of the core, with the token cut out.

The one place that reads the library's codes. `Flooded` and `Broken` come from `wire`, which sees
each answer before the library tries again by itself.
"""

from __future__ import annotations

import aiohttp
import discord

from core.errors import Misconfigured, PermanentError, PursuitError, TransientError

REFUSED_AT_DOOR = (
    "Discord refused the bot token. Check platforms.discord.token: make a new one at "
    "https://discord.com/developers/applications, your application, Bot, Reset Token."
)
INTENT_OFF = (
    "Discord closed the connection because the Message Content Intent is off. Switch it on at "
    "https://discord.com/developers/applications: your application, Bot, Privileged Gateway "
    "Intents, Message Content Intent, Save Changes. Then start Pursuit again."
)
INVALID_FORM = 50035
EMPTY_MESSAGE = 50006
THREAD_ARCHIVED = 50083
UNKNOWN_MESSAGE = 10008


class Flooded(Exception):
    """429: Discord wants a pause of `retry_after` seconds, of the whole bot when `everywhere`."""

    def __init__(self, retry_after: float, *, everywhere: bool = False) -> None:
        super().__init__(f"rate limited, retry in {retry_after:.1f} s")
        self.retry_after = retry_after
        self.everywhere = everywhere


class Broken(Exception):
    """A server's error, or an answer that is not Discord's: the call may have had its effect."""


CALL_ERRORS = (
    discord.DiscordException,
    aiohttp.ClientError,
    OSError,
    Flooded,
    Broken,
    RuntimeError,
)
"""What a call may raise; OSError has the timeouts, RuntimeError a session that was closed."""


def is_markup(error: discord.HTTPException) -> bool:
    """The text is the trouble, so that plainer words may be taken."""
    return error.status == 400 and error.code in {INVALID_FORM, EMPTY_MESSAGE, 0}


def is_archived(error: discord.HTTPException) -> bool:
    """The thread is archived; it can be opened again."""
    return error.code == THREAD_ARCHIVED


def redact(text: str, token: str) -> str:
    """The text without the token."""
    return text.replace(token, "…") if token else text


def translate(error: Exception, token: str, *, written: bool) -> PursuitError:
    """What the error means for the caller; raise it `from None`.

    `written` says that bytes had gone out, so that a call without answer is in doubt.
    """
    text = f"Discord: {redact(str(error) or type(error).__name__, token)}"
    match error:
        case Flooded(retry_after=seconds):
            return TransientError(text, retry_after=seconds)
        case Broken() | discord.DiscordServerError():
            return TransientError(text, doubtful=True)
        case discord.LoginFailure():
            return Misconfigured(REFUSED_AT_DOOR)
        case discord.HTTPException(status=401):
            return Misconfigured(REFUSED_AT_DOOR)
        case discord.HTTPException(status=408 | 409):
            return TransientError(text, doubtful=True)
        case discord.HTTPException():
            return PermanentError(text)
        case _:
            return TransientError(text, doubtful=written)


def translate_closing(error: Exception, token: str) -> PursuitError:
    """What the end of a connection means: an error that a person must mend, else a pause."""
    match error:
        case discord.PrivilegedIntentsRequired() | discord.ConnectionClosed(code=4014):
            return Misconfigured(INTENT_OFF)
        case discord.LoginFailure() | discord.ConnectionClosed(code=4004):
            return Misconfigured(REFUSED_AT_DOOR)
        case discord.ConnectionClosed(code=4010 | 4011 | 4012 | 4013 as code):
            return PermanentError(f"Discord closed the connection with code {code}.")
        case discord.HTTPException(status=401):
            return Misconfigured(REFUSED_AT_DOOR)
        case discord.HTTPException():
            text = redact(str(error), token)
            return TransientError(f"Discord: {text}")
        case Flooded(retry_after=seconds):
            return TransientError(f"Discord: {error}", retry_after=seconds)
        case _:
            text = redact(str(error) or type(error).__name__, token)
            return TransientError(f"no connection to Discord: {text}")
