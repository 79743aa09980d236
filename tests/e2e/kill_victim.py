"""The program under test in a process of its own, with the handle that kills it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parents[2]
START_S = 30.0
ENTRY = "tests.e2e.kill_entry"


class Victim:
    """One life after the other of the program, started by `kill_entry`."""

    def __init__(self, starter: asyncio.subprocess.Process, log: Path) -> None:
        self._starter = starter
        self._log = log
        self.pid = 0
        """The living process, 0 for none."""
        self.lives = 0
        self._killed = False

    @property
    def starter(self) -> int:
        """The process that starts the lives and adopts what they leave behind."""
        return self._starter.pid

    async def start(self) -> None:
        """Begin a life; returns when its process exists, long before it is ready."""
        assert not self.pid
        assert self._starter.stdin is not None
        self._starter.stdin.write(b"start\n")
        self.pid = int(await self._told("started"))
        self._killed = False
        self.lives += 1

    def kill(self) -> None:
        """kill -9, now, once a life."""
        if not self._killed:
            self._killed = True
            self._send(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self._send(signal.SIGTERM)

    async def ended(self) -> int:
        """The exit status of this life, once it is over; -9 for a kill."""
        status = int(await self._told("ended"))
        self.pid = 0
        return status

    def log(self, lines: int = 60) -> str:
        """The end of what all lives have logged."""
        text = self._log.read_text(encoding="utf-8") if self._log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def _send(self, number: signal.Signals) -> None:
        if self.pid:
            with suppress(ProcessLookupError):  # it has just ended by itself
                os.kill(self.pid, number)

    async def _told(self, word: str) -> str:
        assert self._starter.stdout is not None
        line = (await self._starter.stdout.readline()).decode().split()
        assert line, f"the starter is gone\n{self.log()}"
        assert line[0] == word, line
        return line[1]


@asynccontextmanager
async def victim(
    folder: Path, data: Path, settings: Mapping[str, object]
) -> AsyncIterator[Victim]:
    """A program that has not been started yet; nothing of it is left at the end."""
    config, log = folder / "settings.json", folder / "bot.log"
    config.write_text(json.dumps(settings), encoding="utf-8")
    starter = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", ENTRY, str(config), str(data), str(log)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "XDG_STATE_HOME": str(folder / "state"), "HOME": str(folder)},
    )
    made = Victim(starter, log)
    try:
        yield made
    finally:
        if starter.returncode is None:
            starter.kill()  # its child, the program, dies with it
        await starter.wait()
