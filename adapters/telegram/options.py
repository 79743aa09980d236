"""What the Telegram adapter is told at start: plain values, no I/O, no defaults from outside.

Durations are in seconds. The ones past `webhook` are for tests and odd networks; the defaults
suit the public Bot API.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from core.errors import UserError

BASE_URL = "https://api.telegram.org/bot"
BASE_FILE_URL = "https://api.telegram.org/file/bot"


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """A command of the native menu: its name without the slash, and what it does."""

    name: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """Receive by HTTP POST instead of polling.

    `url` is what Telegram calls, `host` and `port` where we listen behind the TLS proxy. `path`
    is the listening path, the URL's own when empty. `secret` is the header Telegram proves
    itself with; a fresh one is made at each start when it is empty.
    """

    url: str
    host: str = "127.0.0.1"
    port: int = 8443
    path: str = ""
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TelegramOptions:
    """The `platforms.telegram` section."""

    token: str = field(repr=False)
    base_url: str = BASE_URL
    base_file_url: str = BASE_FILE_URL
    webhook: Webhook | None = None
    poll_s: float = 30.0
    """How long Telegram may hold an empty getUpdates."""
    call_s: float = 20.0
    """How long a call's answer may take."""
    connect_s: float = 5.0
    backoff_s: float = 1.0
    """The first pause after a failed poll; it doubles with each further one."""
    backoff_cap_s: float = 30.0
    heartbeat_s: float = 90.0
    """Silence after which the connection counts as lost and is built anew."""
    close_s: float = 3.0
    """How long closing may take."""
    saving_s: float = 2.0
    """A press not saved by then is answered "Saving…": Telegram's client spins meanwhile."""
    group_per_minute: int = 20
    """Telegram's limit of messages and edits in one group."""
    progress_gap_s: float = 1.0
    """The least time between two progress updates in a private chat (groups: four times)."""

    def __post_init__(self) -> None:
        bot, _, secret = self.token.partition(":")
        if not bot.isdecimal() or not secret:
            raise UserError(
                "platforms.telegram.token does not look like a bot token (123456:ABC…). "
                "Copy it from @BotFather."
            )

    @property
    def account(self) -> str:
        """The bot's own id, which the token begins with."""
        return self.token.partition(":")[0]

    @property
    def secret(self) -> str:
        """The part of the token that nobody may see; URLs may quote what stands before it."""
        return self.token.partition(":")[2]
