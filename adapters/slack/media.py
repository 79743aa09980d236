"""The files of a Slack message. Pure: no I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from core.messages import Attachment
from core.transcript import Json

Obj: TypeAlias = Mapping[str, Json]

UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\:*?\"<>|]+")
MAX_NAME = 120
GONE = frozenset({"tombstone", "hidden_by_limit"})
EXTERNAL = "external"
"""A file on another site: the bot's token must not be sent there."""


def attachments(event: Obj) -> tuple[Attachment, ...]:
    """The files that Slack keeps; the ref is the file's id."""
    return tuple(
        Attachment(
            ref=str(file["id"]),
            name=safe_name(str(file.get("name") or ""), str(file["id"])),
            mime=str(file.get("mimetype") or "application/octet-stream"),
            size=size if isinstance(size := file.get("size"), int) else 0,
        )
        for file in _files(event)
        if file.get("mode") not in {*GONE, EXTERNAL}
    )


def linked(event: Obj) -> tuple[str, ...]:
    """Files that are kept elsewhere, in words."""
    return tuple(
        f"File: {file.get('title') or file.get('name')} ({file.get('url_private')})"
        for file in _files(event)
        if file.get("mode") == EXTERNAL
    )


def safe_name(name: str, default: str) -> str:
    """A file name without folders, control or shell-hostile characters, of bounded length."""
    plain = UNSAFE.sub("_", name.replace("\\", "/").rpartition("/")[2]).strip(" .")
    if not plain:
        return default
    stem, dot, suffix = plain.rpartition(".")
    if not dot or len(suffix) > 16:
        return plain[:MAX_NAME]
    return f"{stem[: MAX_NAME - len(suffix) - 1]}.{suffix}"


def _files(event: Obj) -> list[Obj]:
    files = event.get("files") or []
    if not isinstance(files, list):
        raise TypeError("files is no list")
    return [file for file in files if isinstance(file, dict)]
