"""Files of the web chat: what browsers upload and what the bot sends, under ids of our own.

No name that came from outside ever becomes a path. A file is two: `<id>` holds the bytes and
`<id>.json` what it is called. An upload that belongs to no message yet is `<id>.new`, and goes
after a day.
"""

from __future__ import annotations

import asyncio
import json
import mimetypes
import os
import re
import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from adapters.web.decode import is_file
from adapters.web.encode import Kept
from adapters.web.markdown import clean
from core.errors import PermanentError, TransientError, UserError
from core.messages import Attachment, SendFile

FORGOTTEN_S = 24 * 3600.0
MAX_NAME = 120
BLOCK = 1 << 20
GONE = "That file is not there any more; choose it again."
TOO_LARGE = "A file may have {limit} MB at the most."

_UNSAFE = re.compile(r'[\x00-\x1f<>:"|?*\\/]')


def safe_name(name: str) -> str:
    """A file's name without folders and control characters, of bounded length."""
    last = clean(name).replace("\\", "/").rpartition("/")[2]
    plain = _UNSAFE.sub("_", last).strip(" .") or "file"
    stem, dot, suffix = plain.rpartition(".")
    if not dot or len(suffix) > 16:
        return plain[:MAX_NAME]
    return f"{stem[: MAX_NAME - len(suffix) - 1]}.{suffix}"


def mime_of(name: str) -> str:
    """The type by the name; what a browser claims is not asked."""
    return mimetypes.guess_type(name)[0] or "application/octet-stream"


class Files:
    """The files below one folder, which is the process's own."""

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self.limit = limit

    async def receive(self, name: str, stream: AsyncIterator[bytes]) -> Kept:
        """Take an upload in, block by block.

        Raises UserError when it is too large and TransientError when it cannot be written; then
        nothing of it is left.
        """
        id_ = secrets.token_urlsafe(16)
        part = self._folder / f"{id_}.part"
        try:
            size = await self._take(part, stream)
            kept = Kept(id_, safe_name(name), mime_of(safe_name(name)), size)
            await asyncio.to_thread(self._finish, part, kept)
        except OSError as error:
            reason = error.strerror or "it broke off"
            raise TransientError(f"The file cannot be saved: {reason}.") from error
        finally:
            with suppress(FileNotFoundError):
                await asyncio.to_thread(part.unlink)
        return kept

    async def _take(self, part: Path, stream: AsyncIterator[bytes]) -> int:
        size = 0
        await asyncio.to_thread(self._folder.mkdir, 0o700, parents=True, exist_ok=True)
        with await asyncio.to_thread(_create, part) as file:
            async for block in stream:
                size += len(block)
                if size > self.limit:
                    raise UserError(self.too_large)
                await asyncio.to_thread(file.write, block)
            await asyncio.to_thread(_safe, file)
        return size

    @property
    def too_large(self) -> str:
        """What to say to more than may come."""
        return TOO_LARGE.format(limit=self.limit // (1024 * 1024))

    def _finish(self, part: Path, kept: Kept) -> None:
        self._describe(kept)
        part.replace(self._folder / f"{kept.id}.new")

    def attach(self, id_: str) -> Attachment:
        """An upload as part of a message, from now on kept; twice is once.

        Raises UserError when there is no such upload.
        """
        with suppress(FileNotFoundError):
            (self._folder / f"{id_}.new").replace(self._folder / id_)
        found = self.find(id_)
        if found is None:
            raise UserError(GONE)
        kept, _ = found
        return Attachment(ref=kept.id, name=kept.name, mime=kept.mime, size=kept.size)

    def find(self, id_: str) -> tuple[Kept, Path] | None:
        """A kept file and where its bytes are; None for none."""
        path = self._folder / id_
        if not is_file(id_) or not path.is_file():
            return None
        try:
            told = json.loads((self._folder / f"{id_}.json").read_text(encoding="utf-8"))
            return Kept(id_, str(told["name"]), str(told["mime"]), int(told["size"])), path
        except (OSError, ValueError, KeyError):
            return None

    def keep(self, what: SendFile) -> Kept:
        """Hold a copy of what the bot sends: its own goes after some days.

        Raises PermanentError when the file is gone and TransientError when there is no room.
        """
        id_ = secrets.token_urlsafe(16)
        path = self._folder / id_
        name = safe_name(what.name)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _create(path) as file:
                if what.path:
                    with Path(what.path).open("rb") as source:
                        shutil.copyfileobj(source, file, BLOCK)
                else:
                    file.write(what.content.encode("utf-8", "replace"))
                _safe(file)
            kept = Kept(id_, name, mime_of(name), path.stat().st_size)
            self._describe(kept)
        except FileNotFoundError as error:
            path.unlink(missing_ok=True)
            raise PermanentError(f"The file {what.name} is not there any more.") from error
        except OSError as error:
            path.unlink(missing_ok=True)
            raise TransientError(f"{what.name} cannot be saved: {error.strerror}.") from error
        return kept

    def fetch(self, attachment: Attachment, to: Path) -> None:
        """Copy an attached file. Raises PermanentError when it is gone or cannot be copied."""
        found = self.find(attachment.ref)
        if found is None:
            raise PermanentError(f"The file {attachment.name} is not there any more.")
        try:
            shutil.copyfile(found[1], to)
        except OSError as error:
            raise PermanentError(f"Cannot copy {attachment.name}: {error.strerror}.") from error

    def sweep(self, now: float) -> None:
        """Delete uploads that no message took up within a day, and halves of broken ones."""
        for path in (*self._folder.glob("*.part"), *self._folder.glob("*.new")):
            with suppress(FileNotFoundError):
                if now - path.stat().st_mtime > FORGOTTEN_S:
                    path.unlink()
                    path.with_suffix(".json").unlink(missing_ok=True)

    def _describe(self, kept: Kept) -> None:
        told = {"name": kept.name, "mime": kept.mime, "size": kept.size}
        with _create(self._folder / f"{kept.id}.json") as file:
            file.write(json.dumps(told).encode())


def _create(path: Path) -> BinaryIO:
    """A new file that nobody else may read."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _safe(file: BinaryIO) -> None:
    """Return when the bytes are on the disk."""
    file.flush()
    os.fsync(file.fileno())
