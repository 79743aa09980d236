"""The files and other non-text content of a Telegram message. Pure: no I/O."""

from __future__ import annotations

import re
from typing import Protocol

from telegram import Message

from core.messages import Attachment

UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\:*?\"<>|]+")
MAX_NAME = 120


class _File(Protocol):
    """What Telegram says of every kind of file."""

    file_id: str
    file_size: int | None


def attachments(message: Message) -> tuple[Attachment, ...]:
    """The message's files, photos in their largest size; the ref is Telegram's file_id."""
    found: list[Attachment] = []
    number = message.message_id
    if message.photo:
        found.append(_file(message.photo[-1], f"photo-{number}.jpg", "image/jpeg"))
    if message.voice is not None:
        voice = message.voice
        found.append(_file(voice, f"voice-{number}.ogg", voice.mime_type or "audio/ogg"))
    if message.video_note is not None:
        found.append(_file(message.video_note, f"video-{number}.mp4", "video/mp4"))
    # An animation comes a second time as a document, for clients that know no animations.
    for named, default, mime in (
        (message.audio, f"audio-{number}.mp3", "audio/mpeg"),
        (message.video, f"video-{number}.mp4", "video/mp4"),
        (message.animation, f"animation-{number}.mp4", "video/mp4"),
        (
            message.document if message.animation is None else None,
            f"file-{number}",
            "application/octet-stream",
        ),
    ):
        if named is not None:
            found.append(
                _file(named, safe_name(named.file_name, default), named.mime_type or mime)
            )
    return tuple(found)


def described(message: Message) -> str:
    """Content that is neither text nor file, in words; "" for service messages."""
    if message.sticker is not None:
        return message.sticker.emoji or ""
    if message.venue is not None:
        place = message.venue
        return f"Place: {place.title}, {place.address} ({_point(message)})"
    if message.location is not None:
        return f"Location: {_point(message)}"
    if message.contact is not None:
        person = message.contact
        name = " ".join(filter(None, (person.first_name, person.last_name)))
        return f"Contact: {name}, {person.phone_number}"
    if message.poll is not None:
        choices = "; ".join(option.text for option in message.poll.options)
        return f"Poll: {message.poll.question} ({choices})"
    return ""


def safe_name(name: str | None, default: str) -> str:
    """A file name without folders, control or shell-hostile characters, of bounded length."""
    plain = UNSAFE.sub("_", (name or "").replace("\\", "/").rpartition("/")[2]).strip(" .")
    if not plain:
        return default
    stem, dot, suffix = plain.rpartition(".")
    if not dot or len(suffix) > 16:
        return plain[:MAX_NAME]
    return f"{stem[: MAX_NAME - len(suffix) - 1]}.{suffix}"


def _file(file: _File, name: str, mime: str) -> Attachment:
    return Attachment(ref=file.file_id, name=name, mime=mime, size=file.file_size or 0)


def _point(message: Message) -> str:
    point = message.location
    return "" if point is None else f"{point.latitude}, {point.longitude}"
