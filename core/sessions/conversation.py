"""What a lane's chat looks like, read back: for platforms that keep no messages of their own.

Values and the port that a chat is read through; nothing here writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from core.messages import Attachment, LaneKey, Outbound, PlatformName, Principal, RemoteId


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a person said there: a message, or a command line as it was understood.

    `at` is wall time, `dedupe` the key it was accepted under.
    """

    dedupe: str
    by: Principal
    text: str
    at: float
    attachments: tuple[Attachment, ...] = ()
    command: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """What the bot posted there, as it was sent first; `card` marks a goal's status message."""

    remote: RemoteId
    what: Outbound
    at: float
    card: bool = False


Line: TypeAlias = Told | Posted


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a conversation an earlier page ends; only the store reads it."""

    inbox: int
    outbox: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """A page of a conversation, oldest first; `earlier` is where more of it is, None for no
    more."""

    lines: tuple[Line, ...]
    earlier: Place | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFact:
    """One chat in a list. `first` is what it began with, `last` the wall time of the last thing
    said by a person, `goal` the status of its session's goal, "" for none."""

    lane: LaneKey
    first: str
    last: float
    busy: bool = False
    goal: str = ""


class Archive(Protocol):
    """The part of the store that a chat is read back from."""

    async def conversation(
        self, lane: LaneKey, *, before: Place | None = None, limit: int = 200
    ) -> Conversation:
        """What was said and shown in a lane, newest page first, each page oldest first.

        Lanes of the web chat are kept for good and read by an index; other platforms keep their
        chats themselves, and of theirs a week is left.
        """
        ...

    async def chats(self, platform: PlatformName) -> tuple[ChatFact, ...]:
        """A platform's lanes in which anything was said, the one spoken in last first."""
        ...
