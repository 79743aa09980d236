"""The people's side of the fake Bot API: everything a test lets somebody do in a chat.

A part of `FakeTelegram`, kept apart for its size; it only writes to the world and queues updates.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Any

from tests.fakes.telegram_updates import UpdateQueue
from tests.fakes.telegram_world import ANNA, ChatState, Obj, Person, Seen, World, units

ENTITY = re.compile(r"(?P<bot_command>(?<!\S)/[A-Za-z0-9_]+(?:@\w+)?)|(?P<mention>(?<!\w)@\w{3,})")
MIMES = {
    "voice": "audio/ogg",
    "video": "video/mp4",
    "audio": "audio/mpeg",
    "document": "application/octet-stream",
}


def detected(text: str) -> list[Obj]:
    """The commands and mentions that Telegram marks in a person's text."""
    return [
        {
            "type": str(match.lastgroup),
            "offset": units(text[: match.start()]),
            "length": units(match[0]),
        }
        for match in ENTITY.finditer(text)
    ]


class Populace(ABC):
    """What people do. `chat` defaults to the person's private chat with the bot."""

    world: World
    queue: UpdateQueue

    @abstractmethod
    def changed(self) -> None:
        """Ask every waiting predicate again."""

    def say(
        self,
        text: str,
        *,
        user: Person = ANNA,
        chat: int | None = None,
        topic: int = 0,
        reply_to: Seen | None = None,
        entities: list[Obj] | None = None,
        extra: Obj | None = None,
    ) -> Seen:
        """Write a message. `extra` goes into its JSON as it is (forward_origin, quote, …)."""
        return self._post(
            self._place(user, chat),
            user,
            text,
            thread=topic,
            reply_to=reply_to.id if reply_to else 0,
            entities=detected(text) if entities is None else entities,
            extra=extra or {},
        )

    def upload(
        self,
        name: str,
        content: bytes,
        *,
        kind: str = "document",
        caption: str = "",
        user: Person = ANNA,
        chat: int | None = None,
        topic: int = 0,
    ) -> Seen:
        """Send a file: a document, photo, voice, video or audio."""
        file: Obj = {"file_id": self.world.store_file(name, content), "file_unique_id": name}
        file["file_size"] = len(content)
        body: object = file
        if kind == "photo":
            small = file | {"file_id": "SMALL", "width": 90, "height": 90, "file_size": 1}
            body = [small, file | {"width": 800, "height": 800}]
        else:
            file |= {"mime_type": MIMES[kind], "file_name": name}
        if kind in {"voice", "video", "audio"}:
            file["duration"] = 3
        if kind == "video":
            file |= {"width": 320, "height": 240}
        if kind == "voice":
            del file["file_name"]
        return self._post(
            self._place(user, chat),
            user,
            caption,
            thread=topic,
            document=name,
            content=content,
            entities=detected(caption),
            extra={kind: body},
        )

    def edit(self, seen: Seen, text: str) -> int:
        """Let the author change their message; the update's id."""
        seen.text, seen.entities, seen.edits = text, detected(text), seen.edits + 1
        body = self.world.message_json(seen) | {"edit_date": seen.date + 1}
        return self._queued(self.world.update("edited_message", body))

    def press(self, message: Seen, label: str, *, user: Person = ANNA) -> str:
        """Press the button with that label; the callback query's id, for `toast`."""
        return self.press_data(message, dict(message.buttons)[label], user=user)

    def press_data(self, message: Seen, data: str, *, user: Person = ANNA) -> str:
        """Press a button that carries that data, whether the message has it or not."""
        query = self.world.press(message, data, user)
        self._queued(0)
        return query

    def push(self, update: Obj) -> int:
        """Queue any update, malformed ones too; its id, the next one when it names none."""
        return self._queued(self.world.raw(update))

    def redeliver(self, update_id: int) -> None:
        """Deliver an update once more, as Telegram does when its own memory slips."""
        self.world.again.append(self.world.history[update_id])
        self._queued(0)

    def group(self, title: str = "Team", *, forum: bool = False, basic: bool = False) -> int:
        """A new group's id: a supergroup, with topics when `forum`, an old group when `basic`."""
        return self.world.group(title, forum=forum, basic=basic).id

    def topic(self, chat: int, name: str = "Topic") -> int:
        """A new topic's thread id."""
        return self.world.topic(chat, name)

    def drop_topic(self, chat: int, topic: int) -> None:
        """Delete a topic."""
        del self.world.chats[chat].topics[topic]

    def migrate(self, chat: int, *, announce: bool = True) -> int:
        """Upgrade a group to a supergroup; its new id. Calls to the old one are refused."""
        return self._queued(self.world.migrate(chat, announce=announce))

    def block(self, user: Person) -> None:
        """Let a person block the bot."""
        self.world.private(user).blocked = True

    def meet(self, user: Person) -> int:
        """A person opens the chat without a word; its id."""
        return self.world.private(user).id

    def chat(self, chat: int) -> list[Seen]:
        """All that a chat shows, in order."""
        state = self.world.chats.get(chat)
        return list(state.messages.values()) if state else []

    def by_bot(self, chat: int) -> list[Seen]:
        """The bot's messages in a chat, as shown now."""
        return [seen for seen in self.chat(chat) if seen.by_bot]

    def _place(self, user: Person, chat: int | None) -> ChatState:
        self.world.people[user.id] = user
        return self.world.private(user) if chat is None else self.world.chats[chat]

    def _post(self, chat: ChatState, user: Person, text: str, **more: Any) -> Seen:
        seen = self.world.post(chat, user, text, **more)
        seen.update_id = self.world.update("message", self.world.message_json(seen))
        self._queued(0)
        return seen

    def _queued(self, value: int) -> int:
        self.queue.wake()
        self.changed()
        return value
