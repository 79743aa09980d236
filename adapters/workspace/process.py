"""A running command: its output as it comes, and its certain end.

The output is read by callbacks, so no task has to outlive a turn for a background process. What
is read is never more than one piece ahead of what the spool has written.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from adapters.workspace.output import SHOWN_CHARS, Capture
from adapters.workspace.spool import Spool

TERM_S = 1.4
"""How long processes have after SIGTERM; with what follows it stays below 2 s."""
LINGER_S = 0.3
"""How long the output of a command that has ended may stay open in another's hands."""

MARK = "PURSUIT_RUN"
"""A variable by which a bare command's processes are found when they leave its session."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What to execute; `mark` is set for commands that no sandbox holds together."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    mark: str = ""


class Process(asyncio.SubprocessProtocol):
    """One command, from `start` until `end` has returned or it ended by itself."""

    def __init__(self, launch: Launch, spool: Spool) -> None:
        self.capture = Capture()
        self._launch = launch
        self._spool = spool
        self._transport: asyncio.SubprocessTransport | None = None
        self._exited = asyncio.Event()
        self._closed = asyncio.Event()
        self._started = time.monotonic()
        self._ended: float | None = None

    @classmethod
    async def start(cls, launch: Launch, spool: Spool) -> Process:
        """Raises OSError when the program cannot be executed."""
        process = cls(launch, spool)
        env = {**launch.env, **({MARK: launch.mark} if launch.mark else {})}
        await asyncio.get_running_loop().subprocess_exec(
            lambda: process,
            *launch.argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=env,
            cwd=launch.cwd,
            start_new_session=True,
        )
        return process

    @property
    def exit_code(self) -> int | None:
        """As a shell tells it (128 + the signal's number); None while it runs."""
        code = self._transport.get_returncode() if self._transport is not None else None
        return code if code is None or code >= 0 else 128 - code

    @property
    def seconds(self) -> float:
        """Wall time until now or until it ended."""
        return (self._ended or time.monotonic()) - self._started

    @property
    def output(self) -> str:
        """What it printed so far, for the model."""
        return self.capture.shown(self._spool.where())

    async def wait(self) -> None:
        """Until it has ended and its output is closed; ends what it left behind."""
        await self._exited.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_S):
                await self._closed.wait()
        await self.end()

    async def end(self) -> None:
        """SIGTERM to all its processes, SIGKILL to what is left after `TERM_S`; then it is gone.

        When this is cancelled while it waits, SIGKILL comes at once.
        """
        if self._signal(signal.SIGTERM) and not self._exited.is_set():
            try:
                async with asyncio.timeout(TERM_S):
                    await self._gone()
            except TimeoutError:
                pass
            finally:
                self._kill()
        self._kill()
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_S):
                await self._exited.wait()
        if self._transport is not None:
            self._transport.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_S):
                await self._closed.wait()

    async def _gone(self) -> None:
        await self._exited.wait()
        while self._members():  # noqa: ASYNC110 (the kernel tells nobody of a bare one's end)
            await asyncio.sleep(0.05)

    def _members(self) -> list[int]:
        """The process's descendants, and whatever carries its mark; never itself."""
        found = _marked(self._launch.mark) if self._launch.mark else []
        if self._transport is not None and not self._exited.is_set():
            own = self._transport.get_pid()
            found += [pid for pid in _descendants(own) if pid not in found]
            found = [pid for pid in found if pid != own]
        return found

    def _signal(self, number: signal.Signals) -> bool:
        """Signal all but the outermost, which waits for them; True when there were any."""
        members = self._members()
        for pid in members:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        return bool(members) or bool(self._launch.mark and self._signal_own(number))

    def _signal_own(self, number: signal.Signals) -> bool:
        if self._transport is None or self._exited.is_set():
            return False
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._transport.get_pid(), number)
        return True

    def _kill(self) -> None:
        """In a sandbox the death of its first process takes all others along; the outer one
        then sees it and ends. Killing that too covers a sandbox that is still being built."""
        self._signal(signal.SIGKILL)
        self._signal_own(signal.SIGKILL)

    # asyncio's callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The process runs."""
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """A piece of output; reading pauses until the spool has it."""
        first = self.capture.total <= SHOWN_CHARS
        self.capture.feed(data)
        if self.capture.total <= SHOWN_CHARS or self._spool.full or self._transport is None:
            return
        before = bytes(self.capture.head[: self.capture.total - len(data)]) if first else b""
        pipe = cast("asyncio.ReadTransport", self._transport.get_pipe_transport(fd))
        pipe.pause_reading()
        writing = asyncio.get_running_loop().run_in_executor(
            None, self._spool.write, before + data
        )
        writing.add_done_callback(lambda _: pipe.resume_reading())

    def process_exited(self) -> None:
        """It has ended; its output may still be open."""
        self._ended = time.monotonic()
        self._exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended and nobody holds its output."""
        self._spool.close()
        self._closed.set()


def _descendants(pid: int) -> list[int]:
    """Children before their own children; [] where the kernel does not list them."""
    found: list[int] = []
    for task in _listed(f"/proc/{pid}/task"):
        with suppress(OSError):
            for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
                found += [int(child), *_descendants(int(child))]
    return found


def _marked(mark: str) -> list[int]:
    wanted = f"{MARK}={mark}".encode()
    found: list[int] = []
    for name in _listed("/proc"):
        if name.isdigit():
            with suppress(OSError):
                if wanted in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    found.append(int(name))
    return found


def _listed(folder: str) -> list[str]:
    try:
        return [path.name for path in Path(folder).iterdir()]
    except OSError:
        return []
