"""Copies of files on their way to the chat, in the data directory, out of the agent's reach."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from contextlib import suppress
from pathlib import Path

from adapters.workspace.paths import Borders, opened, regular, told
from core.errors import UserError
from core.ports import ToolContext
from core.tools.send import MAX_FILE_BYTES, Staged

FOLDER = "outgoing"
KEPT_S = 7 * 24 * 3600
"""Longer than any delivery is tried; older copies go when a new one comes."""


class Outgoing:
    """A `Stage` (see `core.tools.send`) below the data directory."""

    def __init__(self, data_dir: Path, extra: tuple[Path, ...], hidden: tuple[Path, ...]) -> None:
        self._folder = data_dir.resolve() / FOLDER
        self._extra = extra
        self._hidden = hidden

    async def stage(self, context: ToolContext, path: str, call_id: str) -> Staged:
        """Copy the file as it is now."""
        key = hashlib.sha256(f"{context.turn}|{call_id}".encode()).hexdigest()[:24]
        return await asyncio.to_thread(self._copy, context.workspace, path, self._folder / key)

    def _copy(self, workspace: Path, path: str, to: Path) -> Staged:
        place = Borders.of(workspace, self._extra, self._hidden).place(path)
        name = place.name.encode("utf-8", "replace").decode()
        with told(place.shown), opened(place) as descriptor:
            size = regular(descriptor, place.shown).st_size
            if size == 0:
                raise UserError(f"{place.shown} is empty; chats take no empty files.")
            if size > MAX_FILE_BYTES:
                limit = MAX_FILE_BYTES // (1024 * 1024)
                raise UserError(
                    f"{place.shown} has {size} bytes; the limit is {limit} MB. Send a part of it,"
                    " or a compressed copy."
                )
            to.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside, final = to / ".part", to / "file"
            with os.fdopen(os.dup(descriptor), "rb") as source, beside.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
                target.flush()
                os.fsync(target.fileno())
                size = os.fstat(target.fileno()).st_size
            beside.replace(final)  # a second run of the call may not spoil the first's file
        self._prune(final.stat().st_mtime)
        return Staged(final, name, place.shown, size)

    def _prune(self, now: float) -> None:
        for folder in self._folder.iterdir():
            with suppress(OSError):
                if now - folder.stat().st_mtime > KEPT_S:
                    shutil.rmtree(folder)
