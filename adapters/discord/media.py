"""The files and other non-text content of a Discord message. Pure: no I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass

import discord

from core.messages import Attachment

UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\:*?\"<>|]+")
MAX_NAME = 120


@dataclass(frozen=True, slots=True)
class Place:
    """Where a sent file is found: its address, which Discord lets expire after a day, and the
    message that names a fresh one."""

    channel: int
    message: int
    file: int
    url: str


def attachments(message: discord.Message) -> tuple[Attachment, ...]:
    """The message's files, those of a forwarded message among them."""
    forwarded = [file for shot in message.message_snapshots for file in shot.attachments]
    return tuple(
        Attachment(
            ref=f"{message.channel.id}/{message.id}/{file.id} {file.url}",
            name=safe_name(file.filename, f"file-{file.id}"),
            mime=(file.content_type or "application/octet-stream").partition(";")[0],
            size=file.size,
        )
        for file in (*message.attachments, *forwarded)
    )


def place_of(ref: str) -> Place | None:
    """Where the ref of an attachment points, None for no ref of ours."""
    found = re.fullmatch(r"(\d+)/(\d+)/(\d+) (\S+)", ref)
    if found is None:
        return None
    return Place(int(found[1]), int(found[2]), int(found[3]), found[4])


def described(message: discord.Message) -> str:
    """Content that is neither text nor file, in words; "" for none."""
    if message.poll is not None:
        choices = "; ".join(answer.text or "" for answer in message.poll.answers)
        return f"Poll: {message.poll.question} ({choices})"
    return " ".join(f"[sticker: {sticker.name}]" for sticker in message.stickers)


def safe_name(name: str, default: str) -> str:
    """A file name without folders, control or shell-hostile characters, of bounded length."""
    plain = UNSAFE.sub("_", name.replace("\\", "/").rpartition("/")[2]).strip(" .")
    if not plain:
        return default
    stem, dot, suffix = plain.rpartition(".")
    if not dot or len(suffix) > 16:
        return plain[:MAX_NAME]
    return f"{stem[: MAX_NAME - len(suffix) - 1]}.{suffix}"
