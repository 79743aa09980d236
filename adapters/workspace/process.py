"""A running command: its output as it comes, and its certain end.

The output is read by callbacks, so no task has to outlive a turn for a background process. What
is read is never more than one piece ahead of what the spool has written.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import time
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from adapters.workspace.output import SHOWN_CHARS, Capture
from adapters.workspace.spool import Spool

TERM_S = 1.4
"""How long processes have after SIGTERM; with what follows it stays below 2 s."""
LINGER_S = 0.3
"""How long the output of a command that has ended may stay open in another's hands."""

PIECE_BYTES = 256 * 1024
ROUNDS = 10

MARK = "PURSUIT_RUN"
"""A variable by which a bare command's processes are found when they leave its session."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What to execute: bubblewrap when `sandboxed`; `mark` is set for commands of the agent's that
    no sandbox holds together. The streams of one that is `spoken_to` are its starter's."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    sandboxed: bool = False
    mark: str = ""
    spoken_to: bool = False
    listens: bool = False
    """Standard input is a pipe too, for one that is `spoken_to`; else there is none."""

    def telling(self, descriptor: int) -> tuple[str, ...]:
        """The words, with bubblewrap writing its first inner process's id to a descriptor."""
        if not self.sandboxed:
            return self.argv
        return (self.argv[0], "--info-fd", str(descriptor), *self.argv[1:])


class Process:
    """One command, from `start` until it ended by itself or `end` has returned.

    Started without any await: a cancelled caller either has it or never began it.
    """

    def __init__(
        self, child: subprocess.Popen[bytes], launch: Launch, spool: Spool | None, told: int
    ) -> None:
        self.capture = Capture()
        self._child = child
        self._launch = launch
        self._spool = spool
        self._told = told
        self._first_inside: int | None = None
        self._loop = asyncio.get_running_loop()
        self._exited = asyncio.Event()
        self._closed = asyncio.Event()
        self._started = time.monotonic()
        self._ended: float | None = None
        self._pidfd: int | None = os.pidfd_open(child.pid)
        self._output: IO[bytes] | None = None if launch.spoken_to else child.stdout
        self._loop.add_reader(self._pidfd, self._on_exit)
        if self._output is not None:
            os.set_blocking(self._output.fileno(), False)
            self._loop.add_reader(self._output.fileno(), self._on_output)
        else:
            self._closed.set()

    @classmethod
    def start(cls, launch: Launch, spool: Spool | None = None) -> Process:
        """Raises OSError when the program cannot be executed; needs a running loop."""
        env = {**launch.env, **({MARK: launch.mark} if launch.mark else {})}
        told, tell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            child = subprocess.Popen(  # noqa: S603 (what runs is the caller's matter)
                launch.telling(tell),
                stdin=subprocess.PIPE if launch.listens else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if launch.spoken_to else subprocess.STDOUT,
                env=env,
                cwd=launch.cwd,
                start_new_session=True,
                pass_fds=(tell,) if launch.sandboxed else (),
            )
        except BaseException:
            os.close(told)
            raise
        finally:
            os.close(tell)
        return cls(child, launch, spool, told)

    @property
    def exit_code(self) -> int | None:
        """As a shell tells it (128 + the signal's number); None while it runs."""
        code = self._child.returncode
        return code if code is None or code >= 0 else 128 - code

    @property
    def seconds(self) -> float:
        """Wall time until now or until it ended."""
        return (self._ended or time.monotonic()) - self._started

    @property
    def output(self) -> str:
        """What it printed so far, for the model."""
        return self.capture.shown(self._spool.where() if self._spool is not None else "")

    @property
    def streams(self) -> tuple[IO[bytes] | None, IO[bytes] | None, IO[bytes] | None]:
        """Its standard input, output and error, for the starter of one that is `spoken_to`."""
        return self._child.stdin, self._child.stdout, self._child.stderr

    async def exited(self) -> None:
        """Until it has ended; what it started may go on."""
        await self._exited.wait()

    async def wait(self) -> None:
        """Until it has ended and its output is closed; ends what it left behind."""
        await self._exited.wait()
        await _within(LINGER_S, self._closed.wait())
        await self.end()

    async def end(self, patience_s: float = TERM_S) -> None:
        """SIGTERM to all its processes, SIGKILL to what is left after that; then it is gone.

        When this is cancelled while it waits, SIGKILL comes at once.
        """
        try:
            if self._signal(signal.SIGTERM):
                await _within(patience_s, self._gone())
        finally:
            self._kill()
        try:
            await _within(LINGER_S, self._gone())
            await _within(LINGER_S, self._closed.wait())
        finally:
            self._close_output()

    async def _gone(self) -> None:
        """Until none of its processes is left; only the first one's end comes as an event.

        bubblewrap's outer process may end a moment before its first inner one, with which all
        the others die.
        """
        await self._exited.wait()
        pause = 0.001
        while self._members() or _lives(self._first_inside):
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.05)

    def _members(self) -> list[int]:
        """The process's descendants, and whatever carries its mark; never itself."""
        own = self._child.pid
        found = _marked(self._launch.mark) if self._launch.mark else []
        if not self._exited.is_set():
            found += [pid for pid in _descendants(own) if pid not in found]
        return [pid for pid in found if pid != own]

    def _signal(self, number: signal.Signals) -> bool:
        """Signal all processes but the sandbox's outermost, which waits for the others; True when
        there were any."""
        members = self._members()
        for pid in members:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        bare = bool(self._launch.mark) and self._signal_own(number)
        return bool(members) or bare

    def _signal_own(self, number: signal.Signals) -> bool:
        if self._exited.is_set():
            return False
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, number)
        return True

    def _kill(self) -> None:
        """In a sandbox the death of its first process takes all others along; the outer one
        then sees it and ends. Killing that too covers a sandbox that is still being built, and
        looking again finds what a bare process started while it was being looked for."""
        for _ in range(ROUNDS):
            if not self._signal(signal.SIGKILL):
                break
            self._signal_own(signal.SIGKILL)
        self._signal_own(signal.SIGKILL)

    # The loop's callbacks

    def _on_output(self) -> None:
        """A piece of output, or its end; reading pauses until the spool has it."""
        if self._output is None:
            return
        try:
            data = os.read(self._output.fileno(), PIECE_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._close_output()
            return
        short = self.capture.total <= SHOWN_CHARS
        self.capture.feed(data)
        if self.capture.total <= SHOWN_CHARS or self._spool is None or self._spool.full:
            return
        before = bytes(self.capture.head[: self.capture.total - len(data)]) if short else b""
        self._loop.remove_reader(self._output.fileno())
        writing = self._loop.run_in_executor(None, self._spool.write, before + data)
        writing.add_done_callback(lambda _: self._resume())

    def _resume(self) -> None:
        if self._output is not None:
            self._loop.add_reader(self._output.fileno(), self._on_output)

    def _close_output(self) -> None:
        if self._output is not None:
            self._loop.remove_reader(self._output.fileno())
            self._output.close()
            self._output = None
        if self._spool is not None:
            self._spool.close()
        self._closed.set()

    def _on_exit(self) -> None:
        """The process itself has ended; its output may still be open."""
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        self._child.wait()  # returns at once: it has ended
        with suppress(BlockingIOError):
            found = re.search(rb'"child-pid": *(\d+)', os.read(self._told, 1000))
            self._first_inside = int(found[1]) if found else None
        os.close(self._told)
        self._ended = time.monotonic()
        self._exited.set()


async def _within(seconds: float, waiting: Awaitable[object]) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await waiting


def _descendants(pid: int) -> list[int]:
    """Children before their own children; [] where the kernel does not list them."""
    found: list[int] = []
    for task in _listed(f"/proc/{pid}/task"):
        with suppress(OSError):
            for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
                found += [int(child), *_descendants(int(child))]
    return found


def _lives(pid: int | None) -> bool:
    """Whether the process is there and no mere entry that nobody has collected."""
    try:
        return pid is not None and b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False


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
