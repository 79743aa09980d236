"""What Slack knows: people, channels, messages and files. Plain state, no HTTP and no waiting."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Obj: TypeAlias = dict[str, Any]

TEAM = "T0FAKE001"
APP = "A0FAKE001"


@dataclass(frozen=True, slots=True)
class Person:
    """A member of the workspace; `bot` is the id of the app that a bot user is of."""

    id: str
    name: str
    bot: str = ""

    def json(self) -> Obj:
        """As users.info gives it."""
        return {
            "id": self.id,
            "team_id": TEAM,
            "name": self.name.lower(),
            "real_name": f"{self.name} Example",
            "is_bot": bool(self.bot),
            "profile": {"display_name": self.name, "real_name": f"{self.name} Example"},
        }


ANNA = Person("U0ANNA001", "Anna")
BOB = Person("U0BOB0001", "Bob")
BOT = Person("U0PURSUIT", "pursuit", "B0PURSUIT")
OTHER_BOT = Person("U0OTHER01", "otherbot", "B0OTHER01")


@dataclass(slots=True)
class Seen:
    """A message as the channel shows it now: edits are applied, `edits` counts them.

    `raw` is the text with Slack's own markup, as events carry it; `text` is what is read.
    `pings` is what in it notifies people.
    """

    ts: str
    channel: str
    author: Person
    text: str
    raw: str = ""
    thread: str = ""
    buttons: list[tuple[str, str]] = field(default_factory=list)
    blocks: list[Obj] = field(default_factory=list)
    formatted: bool = False
    pings: list[str] = field(default_factory=list)
    file: str = ""
    content: bytes = b""
    edits: int = 0
    reactions: list[str] = field(default_factory=list)
    unfurled: bool = True

    @property
    def by_bot(self) -> bool:
        """Whether the app under test wrote it."""
        return self.author.id == BOT.id

    def json(self) -> Obj:
        """As conversations.replies and a press give it."""
        body: Obj = {"type": "message", "user": self.author.id, "text": self.raw, "ts": self.ts}
        if self.author.bot:
            body["bot_id"] = self.author.bot
        if self.thread:
            body["thread_ts"] = self.thread
        if self.blocks:
            body["blocks"] = self.blocks
        return body


@dataclass(frozen=True, slots=True)
class Whisper:
    """What one person alone was shown in a channel, or in one of its threads."""

    channel: str
    user: str
    text: str
    thread: str = ""
    pings: tuple[str, ...] = ()


@dataclass(slots=True)
class Channel:
    """A place and all its messages by timestamp, in order."""

    id: str
    kind: str
    name: str
    archived: bool = False
    member: bool = True
    """Whether the app is in it."""
    messages: dict[str, Seen] = field(default_factory=dict)

    def thread(self, ts: str) -> list[Seen]:
        """A thread's first message and its replies."""
        return [m for m in self.messages.values() if ts in {m.ts, m.thread}]


@dataclass(slots=True)
class StoredFile:
    """A file that Slack keeps; `shared` once a message shows it."""

    id: str
    name: str
    content: bytes = b""
    mime: str = "application/octet-stream"
    mode: str = "hosted"
    shared: bool = False


class World:
    """All of Slack that an app can meet."""

    def __init__(self) -> None:
        self.people = {p.id: p for p in (ANNA, BOB, BOT, OTHER_BOT)}
        self.channels: dict[str, Channel] = {}
        self.files: dict[str, StoredFile] = {}
        self.ephemerals: list[tuple[str, Obj]] = []
        """(response address, body) of everything that was posted to a response_url."""
        self.whispers: list[Whisper] = []
        """What chat.postEphemeral has shown."""
        self.statuses: list[tuple[str, str, str]] = []
        """(channel, thread, status) of every status shown."""
        self.clock: Callable[[], float] = itertools.count(1_760_000_001).__next__
        """What time it is, in epoch seconds; by default each message takes a second."""
        self._stamps = itertools.count(1)
        self._numbers = itertools.count(1)

    def number(self) -> int:
        """One that was never given out before."""
        return next(self._numbers)

    def direct(self, person: Person) -> Channel:
        """A person's direct messages with the app."""
        number = f"D{person.id[1:]}"
        return self.channels.setdefault(number, Channel(number, "im", person.name))

    def channel(self, name: str = "team", kind: str = "channel") -> Channel:
        """A new channel with everybody in it."""
        made = Channel(f"C{self.number():08d}", kind, name)
        self.channels[made.id] = made
        return made

    def stamp(self) -> str:
        """A timestamp later than all before."""
        number = next(self._stamps)
        return f"{int(self.clock())}.{number:06d}"

    def post(self, channel: Channel, author: Person, text: str, **more: Any) -> Seen:
        """Put a message into a channel."""
        seen = Seen(self.stamp(), channel.id, author, text, **more)
        channel.messages[seen.ts] = seen
        return seen

    def keep(self, name: str, content: bytes = b"", **more: Any) -> StoredFile:
        """Keep a file."""
        file = StoredFile(f"F{self.number():08d}", name, content, **more)
        self.files[file.id] = file
        return file


def escape(text: str) -> str:
    """A person's text as events carry it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    """Slack's text as it is read."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
