"""The people's side of the fake Discord: everything a test lets somebody do in a channel.

A part of `FakeDiscord`, kept apart for its size; it only changes simcord's world, which tells the
gateway.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeAlias

from simcord.backend import Backend, serializers
from simcord.backend.models import Guild, Interaction, Message, User
from simcord.interactions import base_payload

from tests.fakes.discord_gateway import FakeGateway

Obj: TypeAlias = dict[str, Any]

ESCAPED = re.compile(r"\\([^0-9A-Za-z\s])")
CDN = "https://cdn.simcord.invalid"


@dataclass(frozen=True, slots=True)
class Shown:
    """A message of the bot as a person sees it; `text` without escapes, `raw` as it was sent."""

    id: int
    text: str
    raw: str
    buttons: tuple[str, ...]
    rows: tuple[int, ...]
    files: tuple[tuple[str, bytes], ...]
    edited: int
    reply_to: int
    flags: int
    pings: tuple[int, ...]
    from_interaction: bool
    ephemeral: bool


class Populace:
    """What people do. Anna and Bob exist from the start; `home` is Anna's private channel."""

    backend: Backend
    gateway: FakeGateway
    anna: User
    bob: User

    def direct(self, user: User) -> int:
        """The person's private channel with the bot."""
        return self.backend.get_dm_channel(user.id).id

    def guild(self, name: str = "Team") -> Guild:
        """A new server with Anna, Bob and the bot; its bot role is marked as Discord does."""
        made = self.backend.create_guild(name)
        for user in (self.anna, self.bob):
            self.backend.add_member(made.id, user.id)
        return made

    def channel(self, guild: Guild | None = None, name: str = "general") -> int:
        """A new text channel, in a new server unless one is given."""
        where = guild or self.guild()
        return self.backend.create_channel(where.id, name).id

    def thread(self, channel: int, *, joined: bool = True, archived: bool = False) -> int:
        """A new thread of Anna's in that channel, with the bot in it."""
        made = self.backend.create_thread(channel, "A thread", self.anna.id, broadcast=False)
        if joined:
            made.thread_members[self.backend.bot_user.id] = self.backend.now_iso()
        assert made.thread_metadata is not None
        made.thread_metadata.archived = archived
        self.backend.announce_thread_create(made)
        return made.id

    def say(
        self,
        text: str,
        *,
        user: User | None = None,
        channel: int | None = None,
        files: tuple[tuple[str, bytes], ...] = (),
        reply_to: int = 0,
        **more: Any,
    ) -> Message:
        """Write a message; `more` goes to simcord's `create_message` as it is."""
        who = user or self.anna
        where = channel or self.direct(who)
        if reply_to:
            more["reference"] = {"channel_id": str(where), "message_id": str(reply_to)}
        return self.backend.create_message(
            where,
            who.id,
            text,
            attachments=self.backend.store_attachments(where, files),
            **more,
        )

    def call(self) -> str:
        """A mention of the bot, as people write it."""
        return f"<@{self.backend.bot_user.id}>"

    def alter(self, message: Message, text: str) -> None:
        """A person changes their message."""
        self.backend.edit_message(message.channel_id, message.id, {"content": text})

    def command(
        self,
        name: str,
        text: str = "",
        *,
        user: User | None = None,
        channel: int | None = None,
    ) -> Interaction:
        """Give a native command; it need not be one that was offered."""
        options = [{"name": "text", "type": 3, "value": text}] if text else []
        data = {"id": "1", "name": name, "type": 1, "options": options}
        return self._interact(2, data, user or self.anna, channel)

    def complete(
        self, name: str, typed: str, *, user: User | None = None, channel: int | None = None
    ) -> Interaction:
        """Type an argument and ask what may stand there."""
        options = [{"name": "text", "type": 3, "value": typed, "focused": True}]
        data = {"id": "1", "name": name, "type": 1, "options": options}
        return self._interact(4, data, user or self.anna, channel)

    def press(
        self, channel: int, message: int, label: str, *, user: User | None = None
    ) -> Interaction:
        """Press the button with that label on a message."""
        found = self.backend.get_message(channel, message)
        custom_id = next(b["custom_id"] for b in _buttons(found) if b["label"] == label)
        return self.press_id(channel, message, custom_id, user=user)

    def press_id(
        self,
        channel: int,
        message: int,
        custom_id: str,
        *,
        user: User | None = None,
        untold: frozenset[str] = frozenset(),
    ) -> Interaction:
        """Press a button with that custom id, whether the message has it or not; `untold` is
        what Discord leaves out of the event."""
        found = self.backend.get_message(channel, message)
        data = {"custom_id": custom_id, "component_type": 2}
        return self._interact(3, data, user or self.anna, channel, found, untold)

    def shown(self, channel: int) -> list[Shown]:
        """The bot's messages in a channel as they are shown now."""
        messages = self.backend.messages.get(channel, {})
        bot = self.backend.bot_user.id
        return [self._as_shown(m) for m in messages.values() if m.author_id == bot]

    def reactions(self, channel: int, message: int) -> list[str]:
        """What a message is marked with."""
        found = self.backend.get_message(channel, message)
        return [each.emoji for each in found.reactions if each.user_ids]

    def forbid(self, channel: int) -> None:
        """Nobody may write there any more: the channel is deleted."""
        self.backend.delete_channel(channel)

    def _interact(
        self,
        kind: int,
        data: Obj,
        user: User,
        channel: int | None,
        message: Message | None = None,
        untold: frozenset[str] = frozenset(),
    ) -> Interaction:
        where = self.backend.get_channel(channel or self.direct(user))
        record, payload = base_payload(
            self.backend,
            type=kind,
            channel_id=where.id,
            guild_id=where.guild_id,
            user_id=user.id,
            data=data,
        )
        if message is not None:
            record.source_message_id = message.id
            payload["message"] = self.payload(message)
        told = {key: value for key, value in payload.items() if key not in untold}
        self.backend.emit("INTERACTION_CREATE", told)
        return record

    def payload(self, message: Message) -> Obj:
        """A message's JSON."""
        return dict(serializers.message_payload(self.backend, message))

    def _as_shown(self, message: Message) -> Shown:
        files = tuple(
            (str(f["filename"]), self.backend.cdn.get(str(f["url"])) or b"")
            for f in message.attachments
        )
        return Shown(
            id=message.id,
            text=ESCAPED.sub(r"\1", message.content),
            raw=message.content,
            buttons=tuple(b["label"] for b in _buttons(message)),
            rows=tuple(len(row.get("components", ())) for row in message.components),
            files=files,
            edited=1 if message.edited_timestamp else 0,
            reply_to=int(message.reference["message_id"]) if message.reference else 0,
            flags=message.flags,
            pings=(*message.ping_user_ids, *message.ping_role_ids),
            from_interaction=message.interaction_metadata is not None,
            ephemeral=message.is_ephemeral,
        )


def _buttons(message: Message) -> list[Obj]:
    return [button for row in message.components for button in row.get("components", ())]
