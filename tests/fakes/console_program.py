"""The console driver as a child process, on pipes or on a pseudo-terminal of its own."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import sys
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

_DRIVER = ("-m", "tests.fakes.console_driver")
_ROOT = Path(__file__).parents[2]


def accepted(folder: Path) -> list[tuple[str, str]]:
    """Key and text of what the driver accepted, after its end."""
    lines = (folder / "accepted.jsonl").read_text().splitlines()
    return [(key, text) for _, key, text in map(json.loads, lines)]


async def piped(
    folder: Path, *, stdin: int = asyncio.subprocess.PIPE, stdout: int = asyncio.subprocess.PIPE
) -> asyncio.subprocess.Process:
    """The driver on pipes."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *_DRIVER,
        str(folder),
        stdin=stdin,
        stdout=stdout,
        stderr=asyncio.subprocess.PIPE,
        cwd=_ROOT,
    )


class Seat:
    """A terminal of 80 columns with the driver on it; `written` is all that it showed."""

    def __init__(self, process: asyncio.subprocess.Process, master: int, slave: int) -> None:
        self.process = process
        self.written = b""
        self._master = master
        self._slave = slave
        self._news = asyncio.Event()
        self._answered = 0
        asyncio.get_running_loop().add_reader(master, self._read)

    def types(self, keys: str) -> None:
        data = keys.encode()
        while data:
            data = data[os.write(self._master, data) :]

    def modes(self) -> object:
        """The terminal's line discipline."""
        return termios.tcgetattr(self._slave)

    async def until(self, text: str, *, after: int = 0) -> int:
        """Where the output stands once `text` is in it."""
        async with asyncio.timeout(20):
            while (at := self.written.find(text.encode(), after)) < 0:
                self._news.clear()
                await self._news.wait()
        return at + len(text.encode())

    async def ended(self) -> int:
        """The exit code."""
        async with asyncio.timeout(10):
            return await self.process.wait()

    def hang_up(self) -> None:
        """The terminal window is closed."""
        asyncio.get_running_loop().remove_reader(self._master)
        os.close(self._master)
        self._master = -1

    def close(self) -> None:
        if self._master >= 0:
            self.hang_up()
        os.close(self._slave)

    def _read(self) -> None:
        with suppress(OSError):
            self.written += os.read(self._master, 1 << 16)
        # A terminal answers the question where its cursor is.
        while (at := self.written.find(b"\x1b[6n", self._answered)) >= 0:
            self._answered = at + 4
            self.types("\x1b[1;1R")
        self._news.set()


@asynccontextmanager
async def seated(folder: Path) -> AsyncIterator[Seat]:
    """A person before a real terminal, once the prompt is there."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *_DRIVER,
        str(folder),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=_ROOT,
        env={**os.environ, "TERM": "xterm-256color"},
        start_new_session=True,
    )
    seat = Seat(process, master, slave)
    try:
        await seat.until("›")
        yield seat
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        seat.close()
