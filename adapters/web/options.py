"""What the web chat is told at its start, and what it asks of the program. Plain values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from core.messages import LaneKey, PlatformName, RemoteId, Say
from core.sessions.conversation import ChatFact, Conversation, Place, Question

MAX_UPLOAD = 100 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """A command of the `/` menu: its name without the slash, what it does, how it is written,
    and its fixed words."""

    name: str
    summary: str
    usage: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


class Past(Protocol):
    """What was said before: the web chat keeps no messages itself, so it reads them back."""

    async def conversation(
        self, lane: LaneKey, *, before: Place | None = None, limit: int = 200
    ) -> Conversation:
        """See `Archive.conversation`."""
        ...

    async def chats(self, platform: PlatformName) -> tuple[ChatFact, ...]:
        """See `Archive.chats`."""
        ...

    async def questions(self, lane: LaneKey) -> tuple[Question, ...]:
        """See `Archive.questions`."""
        ...

    async def card(self, lane: LaneKey) -> tuple[RemoteId, Say] | None:
        """The goal's status message as it should read now; None without one."""
        ...


class Door(Protocol):
    """Who is told of strangers."""

    async def refused(self, peer: str) -> None:
        """A wrong token came from that address."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WebOptions:
    """The `platforms.web` section.

    `port` 0 takes a free one. `origins` are further addresses that browsers may use. `folder`
    is where files and logins are kept. `host_key` and `port_key` name the settings in errors.
    `announce` is told the address once it can be opened. Durations are in seconds.
    """

    token: str = field(repr=False)
    folder: Path
    announce: Callable[[str], None]
    host: str = "127.0.0.1"
    port: int = 8420
    origins: tuple[str, ...] = ()
    max_upload: int = MAX_UPLOAD
    host_key: str = "platforms.web.host"
    port_key: str = "platforms.web.port"
    close_s: float = 1.0
    """How long open requests get at the end."""
    ping_s: float = 15.0
    """How often an idle stream is written to, so that proxies keep it open."""
