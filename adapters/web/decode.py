"""From what a browser sends to values of the core. Pure: no I/O, no clock, no state."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.web.markdown import clean
from core.errors import UserError
from core.escalations import token
from core.messages import (
    Address,
    Attachment,
    Message,
    PlatformName,
    Press,
    RemoteId,
    Sender,
)

ACCOUNT = "web"
SENDER = Sender("owner", "You")
"""Whoever holds the token; there is one."""
MAX_FILES = 20
MAX_COMMAND = 200
PRESSED = "press."

_CHAT = re.compile(r"[a-z0-9]{6,40}")
_CLIENT_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
_FILE_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_UNREADABLE = "The browser sent something that cannot be read; reload the page."


@dataclass(frozen=True, slots=True)
class Wanted:
    """A message before its files are looked up."""

    id: str
    text: str
    files: tuple[str, ...]
    reply: str = ""
    """The message that it answers, "" for none."""


def is_chat(name: str) -> bool:
    """Whether this can be a chat's id."""
    return _CHAT.fullmatch(name) is not None


def is_file(name: str) -> bool:
    """Whether this can be a file's id."""
    return _FILE_ID.fullmatch(name) is not None


def address_of(chat: str) -> Address:
    """A chat's address."""
    return Address(PlatformName.WEB, ACCOUNT, chat)


def wanted(body: Any) -> Wanted:
    """What a message asks for. Raises UserError for one that nobody could mean."""
    fields = _fields(body)
    files = fields.get("files", [])
    if not isinstance(files, list) or not all(isinstance(f, str) and is_file(f) for f in files):
        raise UserError(_UNREADABLE)
    if len(files) > MAX_FILES:
        raise UserError(f"At most {MAX_FILES} files go with one message.")
    text = clean(_text(fields, "text")).strip()
    if not text and not files:
        raise UserError("There is nothing to send.")
    reply = fields.get("reply", "")
    if not isinstance(reply, str) or (reply and _CLIENT_ID.fullmatch(reply) is None):
        raise UserError(_UNREADABLE)
    return Wanted(_client_id(fields), text, tuple(files), reply)


def message(
    chat: str, what: Wanted, files: Sequence[Attachment], now: float, quoted: str = ""
) -> Message:
    """The message, with its files and the text that it answers."""
    return Message(
        address=address_of(chat),
        dedupe=f"web:{chat}:{what.id}",
        sender=SENDER,
        text=what.text,
        remote=RemoteId(what.id),
        sent_at=now,
        attachments=tuple(files),
        quoted=quoted,
        replies_to=RemoteId(what.reply),
    )


def press(chat: str, body: Any, now: float) -> Press:
    """A press on a button. Raises UserError for one that nobody could mean."""
    fields = _fields(body)
    command = clean(_text(fields, "command")).strip()
    known = command.startswith("/") or token.is_ours(command)
    if not known or len(command) > MAX_COMMAND:
        raise UserError(_UNREADABLE)
    return Press(
        address=address_of(chat),
        dedupe=f"web:{chat}:{PRESSED}{_client_id(fields)}",
        sender=SENDER,
        command=command,
        remote=RemoteId(_text(fields, "message")[:64]),
        sent_at=now,
    )


def client_id(dedupe: str) -> str:
    """The id that a browser gave to what was accepted under this key."""
    return dedupe.rpartition(":")[2]


def _fields(body: Any) -> Mapping[str, Any]:
    if not isinstance(body, dict):
        raise UserError(_UNREADABLE)
    return body


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise UserError(_UNREADABLE)
    return value


def _client_id(fields: Mapping[str, Any]) -> str:
    value = _text(fields, "id")
    if _CLIENT_ID.fullmatch(value) is None:
        raise UserError(_UNREADABLE)
    return value
