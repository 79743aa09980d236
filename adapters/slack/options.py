"""What the Slack adapter is told at start: plain values, no I/O, no defaults from outside.

Durations are in seconds. The ones past `events` are for tests and odd networks; the defaults
suit Slack itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from core.errors import UserError

BASE_URL = "https://slack.com/api/"
EVENTS_PATH = "/slack/events"


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """Receive by HTTP POST instead of Socket Mode: what proves that Slack posts, and where we
    listen behind the TLS proxy. Port 0 takes a free one."""

    signing_secret: str = field(repr=False)
    host: str = "127.0.0.1"
    port: int = 8444


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackOptions:
    """The `platforms.slack` section."""

    bot_token: str = field(repr=False)
    app_token: str = field(default="", repr=False)
    base_url: str = BASE_URL
    events: Events | None = None
    call_s: float = 20.0
    """How long a call's answer may take."""
    connect_s: float = 5.0
    ping_s: float = 10.0
    """A silence on the socket after which we ping it."""
    deaf_s: float = 30.0
    """A silence after which the socket counts as deaf and is opened anew."""
    check_s: float = 30.0
    """How often HTTP events look whether Slack answers at all: silence alone says nothing."""
    backoff_s: float = 1.0
    """The first pause after a failed connection; it doubles with each further one."""
    backoff_cap_s: float = 30.0
    close_s: float = 3.0
    """How long closing may take."""
    saving_s: float = 2.0
    """A command or press not saved by then is answered "saving…": Slack waits for 3 s."""
    settle_s: float = 0.5
    """A silence after the connection by which the backlog counts as handed over."""
    name_s: float = 1.0
    """How long a person's name is waited for before their message goes on without it."""
    thread_s: float = 1.5
    """How long Slack is asked at a time whether a thread is ours; with a name's wait it stays
    below the 3 s that Slack gives an HTTP event."""
    progress_gap_s: float = 2.0
    """The least time between two progress updates in a chat."""
    extras_per_minute: int = 40
    """Progress updates and reactions a minute in the whole workspace: Slack limits edits and
    reactions to about 50 each, and answers may be edits too."""

    def __post_init__(self) -> None:
        if not self.bot_token.startswith("xoxb-"):
            raise UserError(
                "platforms.slack.bot_token is not a bot token (xoxb-…). Copy the Bot User OAuth "
                "Token from OAuth & Permissions at https://api.slack.com/apps."
            )
        if self.events is None and not self.app_token.startswith("xapp-"):
            raise UserError(
                "platforms.slack.app_token is not an app-level token (xapp-…). Make one with the "
                "scope connections:write under Basic Information at https://api.slack.com/apps, "
                "or configure platforms.slack.events."
            )
        if self.events is not None and not self.events.signing_secret:
            raise UserError(
                "platforms.slack.events.signing_secret is empty. Copy the Signing Secret from "
                "Basic Information at https://api.slack.com/apps."
            )

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no log and no error may show."""
        signing = self.events.signing_secret if self.events else ""
        return tuple(filter(None, (self.bot_token, self.app_token, signing)))
