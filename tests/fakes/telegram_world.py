"""What Telegram knows: people, chats, messages, files and the queue of updates.

Plain state with the rules of the Bot API, no HTTP and no waiting. `Refusal` is an error answer.
Lookups are by key, so that thousands of messages cost no more each than the first.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Obj: TypeAlias = dict[str, Any]

MAX_TEXT = 4096
MAX_CAPTION = 1024
MAX_ENTITIES = 100


class Refusal(Exception):
    """An error answer of the Bot API."""

    def __init__(self, description: str, code: int = 400, **parameters: int) -> None:
        super().__init__(description)
        self.description = description
        self.code = code
        self.parameters = parameters


@dataclass(frozen=True, slots=True)
class Person:
    """A Telegram user; their private chat has their id."""

    id: int
    name: str
    username: str = ""
    is_bot: bool = False

    def json(self) -> Obj:
        """As a Bot API `User`."""
        user: Obj = {"id": self.id, "is_bot": self.is_bot, "first_name": self.name}
        if self.username:
            user["username"] = self.username
        return user


ANNA = Person(1001, "Anna", "anna")
BOB = Person(1002, "Bob", "bob")


@dataclass(slots=True)
class Seen:
    """A message as the chat shows it now: edits are applied, `edits` counts them."""

    id: int
    chat: int
    author: Person
    text: str
    thread: int = 0
    entities: list[Obj] = field(default_factory=list)
    buttons: list[tuple[str, str]] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    """How many buttons stand in each row."""
    reply_to: int = 0
    document: str = ""
    content: bytes = b""
    edits: int = 0
    reaction: str = ""
    update_id: int = 0
    date: int = 0
    extra: Obj = field(default_factory=dict)

    @property
    def by_bot(self) -> bool:
        """Whether the bot under test wrote it."""
        return self.author.is_bot

    def marked(self, kind: str) -> list[str]:
        """The pieces of text under entities of that kind."""
        data = self.text.encode("utf-16-le")
        return [
            data[2 * e["offset"] : 2 * (e["offset"] + e["length"])].decode("utf-16-le")
            for e in self.entities
            if e["type"] == kind
        ]


@dataclass(slots=True)
class ChatState:
    """A chat and all its messages by id, in order."""

    id: int
    kind: str
    title: str
    forum: bool = False
    topics: dict[int, str] = field(default_factory=dict)
    messages: dict[int, Seen] = field(default_factory=dict)
    migrated_to: int = 0
    blocked: bool = False

    def json(self) -> Obj:
        """As a Bot API `Chat`."""
        if self.kind == "private":
            return {"id": self.id, "type": "private", "first_name": self.title}
        chat: Obj = {"id": self.id, "type": self.kind, "title": self.title}
        if self.forum:
            chat["is_forum"] = True
        return chat


def units(text: str) -> int:
    """Length in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def check_text(text: str, entities: list[Obj], limit: int, *, empty: bool = False) -> None:
    """Refuse what Telegram would not post as it was meant."""
    if not text.strip():
        if empty:
            return
        raise Refusal("Bad Request: message text is empty")
    length = units(text)
    if length > limit:
        what = "message is too long" if limit == MAX_TEXT else "message caption is too long"
        raise Refusal(f"Bad Request: {what}")
    if len(entities) > MAX_ENTITIES:  # Telegram drops the rest without a word
        raise Refusal(f"Bad Request: can't parse entities: {len(entities)} of them")
    data = text.encode("utf-16-le", "surrogatepass") if entities else b""
    for entity in entities:
        start, end = entity["offset"], entity["offset"] + entity["length"]
        if not 0 <= start < end <= length:
            raise Refusal(
                f"Bad Request: can't parse entities: {entity['type']} at {start}-{end} of {length}"
            )
        for place in (start, end):
            if (
                place < length
                and 0xDC00 <= int.from_bytes(data[2 * place :][:2], "little") < 0xE000
            ):
                raise Refusal(f"Bad Request: can't parse entities: {place} is inside a character")


class World:
    """All of Telegram that a bot can meet."""

    def __init__(self, bot: Person) -> None:
        self.bot = bot
        self.chats: dict[int, ChatState] = {}
        self.people: dict[int, Person] = {}
        self.files: dict[str, tuple[str, bytes]] = {}
        self.updates: deque[Obj] = deque()
        self.again: list[Obj] = []
        """Updates to deliver once more, whatever the offset."""
        self.history: dict[int, Obj] = {}
        self.commands: list[Obj] = []
        self.queries: dict[str, str | None] = {}
        """Callback queries with the toast that answered them, None while unanswered."""
        self.alerts: set[str] = set()
        """Those whose answer was shown as an alert."""
        self.drafts: list[tuple[int, int, str]] = []
        """(chat, draft id, text) of every draft shown."""
        self._message_ids = itertools.count(1)
        self._update_ids = itertools.count(500_001)
        self._file_ids = itertools.count(1)
        self._query_ids = itertools.count(9_000_001)
        self._group_ids = itertools.count(-1_000_000_000_001, -1)

    # Chats

    def private(self, person: Person) -> ChatState:
        """A person's private chat with the bot."""
        self.people[person.id] = person
        chat = self.chats.get(person.id)
        if chat is None:
            chat = self.chats[person.id] = ChatState(person.id, "private", person.name)
        return chat

    def group(self, title: str, *, forum: bool = False, basic: bool = False) -> ChatState:
        """A new group (a supergroup unless `basic`), with topics when `forum`."""
        number = next(self._group_ids)
        if basic:
            number = -(abs(number) % 1_000_000)
        chat = ChatState(number, "group" if basic else "supergroup", title, forum)
        self.chats[number] = chat
        return chat

    def topic(self, chat: int, name: str) -> int:
        """Open a topic; its thread id."""
        number = next(self._message_ids)
        self.chats[chat].topics[number] = name
        return number

    def writable(self, chat: int) -> ChatState:
        """The chat for a bot's call; refuses what Telegram refuses."""
        state = self.chats.get(chat)
        if state is None:
            raise Refusal("Bad Request: chat not found")
        if state.migrated_to:
            raise Refusal(
                "Bad Request: group chat was upgraded to a supergroup chat",
                migrate_to_chat_id=state.migrated_to,
            )
        if state.blocked:
            raise Refusal("Forbidden: bot was blocked by the user", 403)
        return state

    # Messages and updates

    def post(self, chat: ChatState, author: Person, text: str, **more: Any) -> Seen:
        """Put a message into a chat."""
        seen = Seen(next(self._message_ids), chat.id, author, text, date=int(time.time()), **more)
        chat.messages[seen.id] = seen
        return seen

    def update(self, kind: str, body: Obj) -> int:
        """Queue an update; its id."""
        number = next(self._update_ids)
        return self.raw({"update_id": number, kind: body})

    def raw(self, update: Obj) -> int:
        """Queue an update as it is, malformed ones too; one without an id gets the next."""
        number = update.setdefault("update_id", next(self._update_ids))
        self.updates.append(update)
        self.history[number] = update
        return int(number)

    def press(self, message: Seen, data: str, person: Person) -> str:
        """Press a button; the callback query's id."""
        query = str(next(self._query_ids))
        self.queries[query] = None
        self.update(
            "callback_query",
            {
                "id": query,
                "from": person.json(),
                "chat_instance": "1",
                "message": self.message_json(message),
                "data": data,
            },
        )
        return query

    def migrate(self, chat: int, *, announce: bool) -> int:
        """Upgrade a group; its new id. The service messages come with `announce`."""
        old = self.chats[chat]
        new = self.group(old.title)
        old.migrated_to = new.id
        new.messages = dict(old.messages)
        if announce:
            for place, field_name, other in (
                (old, "migrate_to_chat_id", new.id),
                (new, "migrate_from_chat_id", old.id),
            ):
                seen = self.post(place, ANNA, "", extra={field_name: other})
                self.update("message", self.message_json(seen))
        return new.id

    def store_file(self, name: str, content: bytes) -> str:
        """Keep a file; its file_id."""
        number = next(self._file_ids)
        suffix = name.rpartition(".")[2] if "." in name else "bin"
        self.files[f"FILE{number}"] = (f"documents/file_{number}.{suffix}", content)
        return f"FILE{number}"

    def message_json(self, seen: Seen, *, shallow: bool = False) -> Obj:
        """As a Bot API `Message`."""
        chat = self.chats[seen.chat]
        body: Obj = {
            "message_id": seen.id,
            "date": seen.date,
            "chat": chat.json(),
            "from": seen.author.json(),
        }
        if seen.thread:
            body["message_thread_id"] = seen.thread
            body["is_topic_message"] = True
        has_file = bool(seen.document) or any(k in seen.extra for k in ("photo", "voice", "video"))
        if seen.text:
            body["caption" if has_file else "text"] = seen.text
        if seen.entities:
            body["caption_entities" if has_file else "entities"] = seen.entities
        if seen.buttons:
            keys = [{"text": label, "callback_data": data} for label, data in seen.buttons]
            body["reply_markup"] = {"inline_keyboard": [keys]}
        if seen.reply_to in chat.messages and not shallow:
            target = chat.messages[seen.reply_to]
            body["reply_to_message"] = self.message_json(target, shallow=True)
        elif seen.thread and not shallow and not seen.by_bot:
            body["reply_to_message"] = self._opening(chat, seen.thread)
        return body | seen.extra

    def _opening(self, chat: ChatState, topic: int) -> Obj:
        """A topic's first message, to which every other one of it replies."""
        made = {"name": chat.topics.get(topic, ""), "icon_color": 1}
        first = Seen(topic, chat.id, ANNA, "", topic, date=1, extra={"forum_topic_created": made})
        return self.message_json(first, shallow=True)
