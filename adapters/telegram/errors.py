"""python-telegram-bot's errors as those of the core, with the token cut out.

The one place that reads the library's messages. PTB wraps every transport error: what aiohttp
raised is the `__cause__`, and only it tells whether bytes were written.
"""

from __future__ import annotations

import aiohttp
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    TelegramError,
)

from core.errors import Misconfigured, PermanentError, PursuitError, TransientError

REFUSED_AT_DOOR = (
    "Telegram refused the bot token. Check platforms.telegram.token: copy it anew from @BotFather."
)

NEVER_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
    aiohttp.InvalidURL,
)
TOPIC_GONE = ("message thread not found", "topic_deleted", "topic_closed", "topic_id_invalid")
CHAT_REFUSES = (
    "chat not found",
    "peer_id_invalid",
    "not enough rights",
    "have no rights",
    "chat_write_forbidden",
    "user_is_blocked",
    "group chat was deactivated",
    "message to edit not found",
    "message can't be edited",
    "message_id_invalid",
)


def redact(text: str, secret: str) -> str:
    """The text without the token's secret half."""
    return text.replace(secret, "…") if secret else text


class Flooded(TelegramError):
    """429: Telegram wants a pause of `retry_after` seconds."""

    __slots__ = ("retry_after",)

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"flood control, retry in {retry_after:.0f} s")
        self.retry_after = retry_after


def bytes_written(error: TelegramError) -> bool:
    """Whether the request may have reached Telegram."""
    return not isinstance(error.__cause__, NEVER_SENT)


def topic_gone(error: BadRequest) -> bool:
    """The thread is no more, the chat is."""
    return _says(error, TOPIC_GONE)


def chat_refuses(error: BadRequest) -> bool:
    """The chat or message is the trouble, so that other words would not help."""
    return _says(error, CHAT_REFUSES)


def not_modified(error: BadRequest) -> bool:
    """An edit that changed nothing."""
    return _says(error, ("message is not modified",))


def too_big(error: BadRequest) -> bool:
    """A file over the limit of downloads."""
    return _says(error, ("file is too big",))


def _says(error: TelegramError, phrases: tuple[str, ...]) -> bool:
    text = error.message.lower()
    return any(phrase in text for phrase in phrases)


def translate(error: TelegramError, secret: str) -> PursuitError:
    """What the error means for the caller; raise it `from None`, as causes may hold the URL."""
    text = f"Telegram: {redact(error.message, secret)}"
    match error:
        case Flooded():
            return TransientError(text, retry_after=error.retry_after)
        case InvalidToken():
            return Misconfigured(REFUSED_AT_DOOR)
        case BadRequest() | Forbidden() | ChatMigrated():
            return PermanentError(text)
        case Conflict():
            return TransientError(text)
        case _:
            return TransientError(text, doubtful=bytes_written(error))
