"""The values that cross the border between platforms and the core. Pure data, no behaviour
beyond their own text forms."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NewType, TypeAlias

LaneKey = NewType("LaneKey", str)
SessionId = NewType("SessionId", int)
TurnId = NewType("TurnId", int)
RemoteId = NewType("RemoteId", str)
"""A message's id on its platform, as text; unique within its chat."""


class PlatformName(StrEnum):
    """The platforms; the value is the key in config, SQL and addresses."""

    TELEGRAM = "telegram"
    DISCORD = "discord"
    SLACK = "slack"
    WEB = "web"
    CONSOLE = "console"


class Role(StrEnum):
    """What a person may do; see `lowest` for the order."""

    OWNER = "owner"
    MEMBER = "member"


def lowest(*roles: Role) -> Role:
    """The weakest of the given roles."""
    return Role.MEMBER if Role.MEMBER in roles else Role.OWNER


@dataclass(frozen=True, slots=True)
class Address:
    """A place in a chat platform: where something came from and where answers go.

    `account` is the bot's own id there, `chat` the chat or channel, `thread` a topic or thread
    ("" for none). `user` is set only where a group's members have a lane each.
    """

    platform: PlatformName
    account: str
    chat: str
    thread: str = ""
    user: str = ""

    @property
    def key(self) -> LaneKey:
        """The lane's key: the parts joined by "|", which no platform id contains."""
        return LaneKey("|".join((self.platform, self.account, self.chat, self.thread, self.user)))

    @classmethod
    def of(cls, key: LaneKey) -> Address:
        """The address a lane key was made from."""
        platform, account, chat, thread, user = key.split("|")
        return cls(PlatformName(platform), account, chat, thread, user)


@dataclass(frozen=True, slots=True)
class Sender:
    """Who wrote: `id` is the platform's own, `name` is for display only and never a right."""

    id: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Principal:
    """An admitted person with the rights they act under."""

    id: str
    name: str
    role: Role


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that a person sent, not fetched yet; `ref` is what the adapter fetches it by.

    `size` is in bytes, 0 when the platform did not say.
    """

    ref: str
    name: str
    mime: str = "application/octet-stream"
    size: int = 0


# What people send in. Adapters decode platform updates into these.


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A person's message, commands (`/goal …`) among them.

    `dedupe` is the key of `spec lanes 2` (`tg:<bot>:<update_id>` and so on). `sent_at` is the
    platform's time in epoch seconds. `private` is true in a chat of two. `addressed` says that
    a group message is meant for the bot (mention, reply to it, command, its own thread).
    `may_continue` marks a text of the platform's full length, whose rest may be on its way.
    """

    address: Address
    dedupe: str
    sender: Sender
    text: str
    remote: RemoteId = RemoteId("")
    sent_at: float = 0.0
    private: bool = True
    addressed: bool = True
    may_continue: bool = False
    attachments: tuple[Attachment, ...] = ()
    quoted: str = ""
    """The text of the message this one replies to, "" for none."""
    replies_to: RemoteId = RemoteId("")
    """The id of that message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Press:
    """A press on a button; `command` is what the button stands for, see `Button`."""

    address: Address
    dedupe: str
    sender: Sender
    command: str
    remote: RemoteId
    """The message that carries the button."""
    sent_at: float = 0.0
    private: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A chat got a new id (Telegram's group upgrade): its lanes keep their state."""

    dedupe: str
    old: Address
    new: Address


Inbound: TypeAlias = Message | Press | Moved


# What the bot sends out. Adapters encode these into platform calls.


@dataclass(frozen=True, slots=True)
class Button:
    """A button that stands for a command line, such as `/goal pause`, or carries the token of a
    question to a person (`core.escalations.token`); at most 64 bytes of ASCII."""

    label: str
    command: str


@dataclass(frozen=True, slots=True)
class Say:
    """One message that fits the platform's limits; `markdown` false means verbatim text."""

    text: str
    markdown: bool = False
    buttons: tuple[Button, ...] = ()
    reply_to: RemoteId = RemoteId("")


@dataclass(frozen=True, slots=True)
class SendFile:
    """A file: from `path` on disk, or made of `content` when `path` is empty."""

    name: str
    caption: str = ""
    path: str = ""
    content: str = ""


Outbound: TypeAlias = Say | SendFile


# What became of an inbound value, told to the adapter after the commit.


@dataclass(frozen=True, slots=True)
class Queued:
    """It will get a turn; `behind` counts what stands before it."""

    behind: int


@dataclass(frozen=True, slots=True)
class Handled:
    """A command took effect; its reply is in the outbox. `text` may serve as a toast."""

    text: str


@dataclass(frozen=True, slots=True)
class Duplicate:
    """It had been accepted before; nothing happened now."""


@dataclass(frozen=True, slots=True)
class Refused:
    """It was not taken; `text` says why, and is empty where a stranger gets no answer."""

    text: str


Ack: TypeAlias = Queued | Handled | Duplicate | Refused
