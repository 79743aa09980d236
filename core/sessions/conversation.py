"""What a lane's chat looks like, read back: for platforms that keep no messages of their own.

Values and the port that a chat is read through; nothing here writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from core.messages import (
    Attachment,
    Button,
    LaneKey,
    Outbound,
    PlatformName,
    Principal,
    RemoteId,
)


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
    said by a person, `goal` the status of its session's goal, "" for none, `waiting` how many
    questions wait there for a person."""

    lane: LaneKey
    first: str
    last: float
    busy: bool = False
    goal: str = ""
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class TrailLine:
    """One thing that happened to a question: when (wall time), what (the value of a
    `core.escalations.events.Trail`), the name of who did it, "" for nobody, and the rest in the
    host's words."""

    at: float
    what: str
    who: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One escalation for a list of them: `id` as people call it (`E7`), on one line what it asks
    (`text`) and how it is answered by a command (`how`).

    `state` is the value of a `core.escalations.record.State`, `until` the wall time it expires
    at, `outcome` one line of what became of it, "" as long as it waits. `buttons` stand for
    command lines, and are empty once it is decided. `remotes` are the messages that show its
    card. The trail is oldest first.
    """

    id: str
    text: str
    how: str
    state: str
    until: float
    outcome: str = ""
    buttons: tuple[Button, ...] = ()
    trail: tuple[TrailLine, ...] = ()
    remotes: tuple[RemoteId, ...] = ()


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

    async def questions(self, lane: LaneKey) -> tuple[Question, ...]:
        """What was asked of people in a lane, newest first: all that wait for an answer, and
        those of the last week."""
        ...
