"""Looks at a lane's workspace for the acceptance of a child's work, under the rules of the tools:
their borders, their sandbox and their policy. Nothing here raises for what it finds.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from adapters.workspace.paths import Borders, opened, parent, regular, told
from adapters.workspace.spool import Spool, prepare
from adapters.workspace.terminal import TIMED_OUT, Terminal
from core.delegation.ports import Finding
from core.errors import UserError
from core.ports import ToolContext
from core.tools.definitions import Run
from core.tools.tool import one_line

MAX_BYTES = 64 * 1024 * 1024
BLOCK = 1024 * 1024
BINARY_PROBE = 8192
LINE_CHARS = 200


class WorkspaceChecks:
    """`Checks` of `core.delegation.ports`; `borders` gives the folders of a call's lane."""

    def __init__(self, borders: Callable[[ToolContext], Borders], terminal: Terminal) -> None:
        self._borders = borders
        self._terminal = terminal

    async def exists(self, context: ToolContext, path: str) -> Finding:
        """See `Checks.exists`."""
        return await asyncio.to_thread(lambda: _looked(_exists, self._borders(context), path))

    async def contains(self, context: ToolContext, path: str, text: str) -> Finding:
        """See `Checks.contains`. A binary file holds no text."""

        def look(borders: Borders, path: str) -> Finding:
            return _contains(borders, path, text)

        return await asyncio.to_thread(lambda: _looked(look, self._borders(context), path))

    async def succeeds(self, context: ToolContext, command: str) -> Finding:
        """See `Checks.succeeds`; it has the time that a command has by the settings."""
        try:
            outcome = await self._terminal.run_unasked(Run(command=command), context)
        except UserError as error:
            return Finding(None, one_line(str(error), LINE_CHARS))
        code = outcome.receipt.exit_code
        if code is None:
            return Finding(None, one_line(outcome.text, 2 * LINE_CHARS))
        if code == 0:
            return Finding(met=True, why="the command exited with 0")
        output, mark, ending = outcome.text.rpartition("\n[")
        last = one_line(output.rstrip().rpartition("\n")[2], LINE_CHARS)
        said = f"; its output ends: {last}" if mark and last != "(no output)" else ""
        if code == TIMED_OUT and ending.startswith("killed"):
            return Finding(met=False, why=f"the command took too long and was killed{said}")
        return Finding(met=False, why=f"the command exited with {code}{said}")

    async def keep(self, context: ToolContext, text: str) -> str:
        """See `Checks.keep`."""
        return await asyncio.to_thread(_keep, context.workspace, text)


def _looked(look: Callable[[Borders, str], Finding], borders: Borders, path: str) -> Finding:
    try:
        return look(borders, path)
    except UserError as error:
        return Finding(None, str(error))


def _exists(borders: Borders, path: str) -> Finding:
    place = borders.place(path)
    try:
        with parent(place) as folder:
            status = os.stat(place.name or ".", dir_fd=folder, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return Finding(met=False, why=f"there is no {place.shown}")
    except OSError as error:
        return Finding(None, f"{place.shown}: {error.strerror or error}")
    return Finding(met=True, why=f"{place.shown} is there ({status.st_size} bytes)")


def _contains(borders: Borders, path: str, text: str) -> Finding:
    found = _exists(borders, path)
    if not found.met:
        return found
    place = borders.place(path)
    with told(place.shown), opened(place) as descriptor:
        try:
            size = regular(descriptor, place.shown).st_size
        except UserError as error:
            return Finding(met=False, why=str(error))
        if size > MAX_BYTES:
            limit = MAX_BYTES // (1024 * 1024)
            return Finding(None, f"{place.shown} is too large to look at (over {limit} MB)")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            if b"\0" in file.read(BINARY_PROBE):
                return Finding(met=False, why=f"{place.shown} is a binary file")
            held = _holds(file, text.encode())
    if held:
        return Finding(met=True, why=f"{place.shown} holds the text")
    return Finding(met=False, why=f"the text is not in {place.shown} ({size} bytes)")


def _holds(file: BinaryIO, wanted: bytes) -> bool:
    """Whether a file has the text, also where its lines end otherwise."""
    if _found(_blocks(file), wanted):
        return True
    return b"\n" in wanted and _found(_unix_ends(_blocks(file)), wanted)


def _found(blocks: Iterable[bytes], wanted: bytes) -> bool:
    tail = b""
    for block in blocks:
        seen = tail + block
        if wanted in seen:
            return True
        tail = seen[max(0, len(seen) - len(wanted) + 1) :]
    return False


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """The file from its start, as far as is looked at even if it grows meanwhile."""
    file.seek(0)
    left = MAX_BYTES
    while left > 0 and (block := file.read(min(BLOCK, left))):
        left -= len(block)
        yield block


def _unix_ends(blocks: Iterable[bytes]) -> Iterator[bytes]:
    held = b""
    for block in blocks:
        seen = held + block
        held = b"\r" if seen.endswith(b"\r") else b""  # its line feed may come next
        yield seen[: len(seen) - len(held)].replace(b"\r\n", b"\n")
    yield held


def _keep(workspace: Path, text: str) -> str:
    prepare(workspace)
    spool = Spool(workspace)
    spool.write(text.encode(errors="replace"))
    spool.close()
    return spool.kept
