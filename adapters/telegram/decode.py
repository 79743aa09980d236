"""A Telegram update as a value of the core. Pure: no I/O, no clock, no state.

What starts nothing decodes to None: edits, channel posts, other bots, service messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from telegram import (
    CallbackQuery,
    Chat,
    MaybeInaccessibleMessage,
    MessageEntity,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
    Update,
    User,
)
from telegram import Message as TelegramMessage

from adapters.telegram.media import attachments, described
from core.messages import Address, Inbound, Message, Moved, PlatformName, Press, RemoteId, Sender

FULL_LENGTH = 4096
"""Clients cut a longer text into messages of this many UTF-16 units."""
COMMAND = re.compile(r"/([A-Za-z0-9_]{1,64})(?:@([A-Za-z0-9_]+))?(?=\s|$)")
UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\ud800-\udfff\ufffe\uffff]")
START = re.compile(r"/start(?:\s+(\S+))?\s*")
LINKED = frozenset({"goal", "help", "sessions", "status", "whoami"})
"""Commands a `t.me/<bot>?start=<name>` link may run: the person who taps it does not see the
name, so only those that change nothing."""


@dataclass(frozen=True, slots=True)
class Me:
    """The bot itself, from getMe."""

    id: int
    username: str

    def is_called(self, name: str) -> bool:
        """Whether `@name` means this bot."""
        return name.casefold() == self.username.casefold()


def decode(update: Update, me: Me) -> Inbound | None:
    """The update's value, None for one that starts nothing."""
    if update.callback_query is not None:
        return _press(update.callback_query, update.update_id, me)
    if update.message is not None:
        return _message(update.message, update.update_id, me)
    return None


def units(text: str) -> int:
    """The length as Telegram counts it, in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cleaned(text: str) -> str:
    """The text with Unix line ends and without control characters and lone surrogates."""
    return UNWANTED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def moved(me_id: int | str, old: int, new: int) -> Moved:
    """A group's upgrade; one dedupe key, whoever tells of it first."""
    account = str(me_id)
    return Moved(
        dedupe=f"tg:{account}:moved:{old}:{new}",
        old=Address(PlatformName.TELEGRAM, account, str(old)),
        new=Address(PlatformName.TELEGRAM, account, str(new)),
    )


def _press(query: CallbackQuery, update_id: int, me: Me) -> Press | None:
    if query.message is None or not query.data or query.from_user.is_bot:
        return None
    return Press(
        address=_address(query.message, me),
        dedupe=f"tg:{me.id}:{update_id}",
        sender=_sender(query.from_user),
        command=cleaned(query.data),
        remote=RemoteId(str(query.message.message_id)),
        sent_at=0.0,
        private=query.message.chat.type == Chat.PRIVATE,
    )


def _message(message: TelegramMessage, update_id: int, me: Me) -> Inbound | None:
    if message.migrate_to_chat_id:
        return moved(me.id, message.chat.id, message.migrate_to_chat_id)
    if message.migrate_from_chat_id:
        return moved(me.id, message.migrate_from_chat_id, message.chat.id)
    author = message.from_user
    if author is None or author.is_bot or message.sender_chat is not None:
        return None  # channels, bots, and admins who speak as the group
    files = attachments(message)
    told = _told(message, me)
    if told is None or not (told.text or files):
        return None
    return Message(
        address=_address(message, me),
        dedupe=f"tg:{me.id}:{update_id}",
        sender=_sender(author),
        text=told.text,
        remote=RemoteId(str(message.message_id)),
        sent_at=message.date.timestamp(),
        private=message.chat.type == Chat.PRIVATE,
        addressed=told.addressed,
        may_continue=units(message.text or "") >= FULL_LENGTH,
        attachments=files,
        quoted=_quoted(message),
        replies_to=_target(message),
    )


@dataclass(frozen=True, slots=True)
class _Told:
    text: str
    addressed: bool


def _told(message: TelegramMessage, me: Me) -> _Told | None:
    """What the person says, and whether to us; None for a command to another bot."""
    private = message.chat.type == Chat.PRIVATE
    if message.forward_origin is not None:
        # Somebody else's words: whatever they begin with, they command nothing.
        text = f"Forwarded from {_origin(message)}:\n{cleaned(_spelled_out(message))}".rstrip()
        return _Told(text, addressed=private)
    text, mentioned = _without_mentions(message, me)
    command = COMMAND.match(text)
    if command is None:
        return _Told(text, addressed=private or mentioned or _replies_to(message, me))
    if command[2] and not me.is_called(command[2]):
        return None
    return _Told(_command(text, command), addressed=True)


def _command(text: str, command: re.Match[str]) -> str:
    """The command line without the bot's name; a deep link as the command it stands for."""
    line = f"/{command[1]}{text[command.end() :]}"
    start = START.fullmatch(line)
    if start is None:
        return line
    return f"/{start[1]}" if start[1] in LINKED else "/help"


def _without_mentions(message: TelegramMessage, me: Me) -> tuple[str, bool]:
    text = _spelled_out(message, leave_out=lambda entity, part: _names(entity, part, me))
    mentioned = any(_names(entity, part, me) for entity, part in _entities(message))
    text = cleaned(text)
    return (text.strip(" ,:\n\t") if mentioned else text.strip()), mentioned


def _names(entity: MessageEntity, part: str, me: Me) -> bool:
    if entity.type == MessageEntity.TEXT_MENTION:
        return entity.user is not None and entity.user.id == me.id
    return entity.type == MessageEntity.MENTION and me.is_called(part.removeprefix("@"))


def _entities(message: TelegramMessage) -> list[tuple[MessageEntity, str]]:
    """Each entity with the text it covers, in order."""
    content = (message.text or message.caption or "").encode("utf-16-le", "surrogatepass")
    found = message.entities or message.caption_entities
    return [
        (entity, _slice(content, entity.offset, entity.offset + entity.length))
        for entity in sorted(found, key=lambda e: (e.offset, -e.length))
    ]


def _slice(content: bytes, start: int, end: int) -> str:
    return content[2 * start : 2 * end].decode("utf-16-le", "surrogatepass")


def _spelled_out(
    message: TelegramMessage,
    leave_out: Callable[[MessageEntity, str], bool] = lambda _entity, _part: False,
) -> str:
    """The text with hidden links written behind their words, and some entities left out."""
    source = message.text or message.caption or described(message)
    content = source.encode("utf-16-le", "surrogatepass")
    pieces: list[str] = []
    done = 0
    for entity, part in _entities(message):
        if entity.offset < done:
            continue
        end = entity.offset + entity.length
        if leave_out(entity, part):
            pieces.append(_slice(content, done, entity.offset).rstrip(" "))
            done = end
        elif entity.type == MessageEntity.TEXT_LINK and entity.url and entity.url != part:
            pieces.append(f"{_slice(content, done, end)} ({entity.url})")
            done = end
    pieces.append(_slice(content, done, len(content) // 2))
    return "".join(pieces)


def _replies_to(message: TelegramMessage, me: Me) -> bool:
    """A reply to one of our messages, or a word in a topic that we opened."""
    target = message.reply_to_message
    return target is not None and target.from_user is not None and target.from_user.id == me.id


def _answered(message: TelegramMessage) -> TelegramMessage | None:
    """The message that the person chose to reply to."""
    target = message.reply_to_message
    if target is None or target.forum_topic_created is not None:
        return None  # every message of a topic "replies" to the topic's first one
    if message.is_topic_message and target.message_id == message.message_thread_id:
        return None
    return target


def _quoted(message: TelegramMessage) -> str:
    if message.quote is not None:
        return cleaned(message.quote.text)
    target = _answered(message)
    return "" if target is None else cleaned(target.text or target.caption or "")


def _target(message: TelegramMessage) -> RemoteId:
    target = _answered(message)
    return RemoteId("" if target is None else str(target.message_id))


def _origin(message: TelegramMessage) -> str:
    match message.forward_origin:
        case MessageOriginUser(sender_user=user):
            name = user.full_name
        case MessageOriginHiddenUser(sender_user_name=name):
            pass
        case MessageOriginChat(sender_chat=chat) | MessageOriginChannel(chat=chat):
            name = chat.title or ""
        case _:
            name = ""
    return " ".join(cleaned(name).split()) or "somebody"


def _address(message: MaybeInaccessibleMessage, me: Me) -> Address:
    thread = ""
    # Replies outside of topics carry a thread id too, and the General topic takes none.
    if isinstance(message, TelegramMessage) and message.is_topic_message:
        thread = str(message.message_thread_id or "")
    return Address(PlatformName.TELEGRAM, str(me.id), str(message.chat.id), thread)


def _sender(user: User) -> Sender:
    return Sender(str(user.id), " ".join(cleaned(user.full_name).split()))
