"""What the pages are shown live: each chat's events in order, and what its messages read now.

In memory only. A page that missed more than is kept here, or whose events are another
process's, is told to read the chat again; so nothing is lost and nothing comes twice.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from adapters.web.encode import Object, Shown
from core.messages import RemoteId, Say

EVENTS = 200
MESSAGES = 200
CHATS = 500


@dataclass(frozen=True, slots=True)
class Event:
    """One change of a chat, as JSON; `number` grows over all chats."""

    number: int
    name: str
    data: str


@dataclass(slots=True)
class Activity:
    """What runs in a chat: since when (wall time), and the lines of its progress."""

    since: float = 0.0
    turn: int = 0
    text: str = ""
    version: int = 0

    @property
    def told(self) -> Object:
        """As the page is told."""
        return {"working": self.since > 0, "since": self.since, "text": self.text}


@dataclass(slots=True)
class Feed:
    """One chat. Events up to `missing` are not kept."""

    missing: int
    events: deque[Event] = field(default_factory=lambda: deque(maxlen=EVENTS))
    shown: OrderedDict[RemoteId, Shown] = field(default_factory=OrderedDict)
    marks: OrderedDict[RemoteId, str] = field(default_factory=OrderedDict)
    activity: Activity = field(default_factory=Activity)
    readers: int = 0

    def since(self, number: int) -> Iterator[Event] | None:
        """The events after one; None where some of them are gone."""
        if number < self.missing:
            return None
        return (event for event in tuple(self.events) if event.number > number)

    def show(self, sent: Shown) -> None:
        """Remember what a message reads now."""
        self.shown[sent.remote] = sent
        if len(self.shown) > MESSAGES:
            self.shown.popitem(last=False)

    def text_of(self, remote: RemoteId) -> str:
        """What one of the bot's messages reads, "" for a file and where nothing is known."""
        shown = self.shown.get(remote)
        return shown.what.text if shown and isinstance(shown.what, Say) else ""

    def mark(self, remote: RemoteId, mark: str) -> None:
        """Remember what became of a person's message."""
        self.marks[remote] = mark
        self.marks.move_to_end(remote)
        if len(self.marks) > MESSAGES:
            self.marks.popitem(last=False)


class Hub:
    """All chats of this process. `run_id` differs at every start."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.chats_version = 0
        self.closing = False
        self._number = 0
        self._feeds: OrderedDict[str, Feed] = OrderedDict()
        self._stirred = asyncio.Event()

    @property
    def position(self) -> str:
        """Where the events of all chats stand now."""
        return self.position_of(self._number)

    def position_of(self, number: int) -> str:
        """An event's number as browsers repeat it."""
        return f"{self.run_id}.{number}"

    def number_of(self, position: str) -> int:
        """The number a browser repeats; -1 for one of another process, or for nonsense."""
        run_id, _, number = position.rpartition(".")
        known = run_id == self.run_id and number.isascii() and number.isdigit()
        found = int(number[:18]) if known else -1
        return found if found <= self._number else -1

    def feed(self, chat: str) -> Feed:
        """A chat's feed; the one used longest ago is dropped when there are too many."""
        if chat not in self._feeds:
            self._feeds[chat] = Feed(missing=self._number)
            self._forget()
        self._feeds.move_to_end(chat)
        return self._feeds[chat]

    def _forget(self) -> None:
        excess = len(self._feeds) - CHATS
        idle = [c for c, feed in self._feeds.items() if not feed.readers]
        for chat in idle[: max(0, excess)]:
            del self._feeds[chat]

    def publish(self, chat: str, name: str, what: Object) -> None:
        """Tell the pages that show the chat."""
        feed = self.feed(chat)
        self._number += 1
        if len(feed.events) == EVENTS:
            feed.missing = feed.events[0].number
        feed.events.append(Event(self._number, name, json.dumps(what)))
        self.stir()

    def list_changed(self) -> None:
        """The list of chats reads differently now."""
        self.chats_version += 1
        self.stir()

    def stir(self) -> None:
        """Wake every stream."""
        self._stirred.set()
        self._stirred = asyncio.Event()

    def next_stir(self) -> asyncio.Event:
        """Set at the next change: take it, look, then wait for it."""
        return self._stirred

    def close(self) -> None:
        """End every stream."""
        self.closing = True
        self.stir()

    def reopen(self) -> None:
        """Streams may begin again."""
        self.closing = False
