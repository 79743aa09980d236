"""What the Discord adapter is told at start: plain values, no I/O, no defaults from outside.

Durations are in seconds. The ones past `gateway_url` are for tests and odd networks; the defaults
suit Discord itself.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field

from core.errors import UserError

API_BASE = "https://discord.com/api/v10"
GATEWAY_URL = "wss://gateway.discord.gg/"
UNLIKELY = (
    "platforms.discord.token does not look like a bot token (three parts with dots between them). "
    "Copy it from https://discord.com/developers/applications: your application, Bot, Reset Token."
)


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """A command of the native menu: its name without the slash, what it does, and the words that
    may follow it."""

    name: str
    summary: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordOptions:
    """The `platforms.discord` section."""

    token: str = field(repr=False)
    api_base: str = API_BASE
    gateway_url: str = GATEWAY_URL
    call_s: float = 20.0
    """How long a call's answer may take."""
    upload_s: float = 300.0
    """How long a call with a file may take."""
    connect_s: float = 30.0
    """How long signing in may take, until the gateway has said hello."""
    backoff_s: float = 1.0
    """The first pause after a failed connection; it doubles with each further one."""
    backoff_cap_s: float = 300.0
    """The longest pause. A thousand sign-ins a day cost the bot its token."""
    steady_s: float = 300.0
    """A connection that held so long starts the pauses anew."""
    identify_s: float = 5.0
    """The pause before a session that Discord gave up is replaced on the same connection."""
    silence_s: float = 60.0
    """Silence after which the connection counts as dead and the session is resumed on another;
    Discord asks for a sign of life every 41 s. Not under 8 s outside of tests."""
    rebuild_s: float = 180.0
    """Silence after which everything is built anew: Discord forgets a session soon after."""
    settle_s: float = 0.1
    """The pause after a server's description until it is looked which are not described yet."""
    describe_s: float = 5.0
    """How long those may take; a server with an outage is not described until that ends."""
    catch_up_s: float = 8.0
    """So long everything waits for what was missed; a channel that takes longer is read beside
    the others."""
    hold_s: float = 30.0
    """So long what comes in live waits for what was missed in its own channel."""
    close_s: float = 3.0
    """How long closing may take."""
    saving_s: float = 2.0
    """An interaction not saved by then is answered "saving…": Discord gives up after 3 s."""
    progress_gap_s: float = 1.5
    """The least time between two progress updates in one channel."""

    def __post_init__(self) -> None:
        parts = self.token.split(".")
        if len(parts) != 3 or not all(parts) or not self.account.isdecimal():
            raise UserError(UNLIKELY)

    @property
    def account(self) -> str:
        """The bot's own user id, which the token begins with; "" for what is no token."""
        head = self.token.partition(".")[0]
        try:
            return base64.b64decode(head + "=" * (-len(head) % 4), altchars=b"-_").decode("ascii")
        except (binascii.Error, ValueError):
            return ""
