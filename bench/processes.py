"""Processes of a run: starting them, what memory they hold, and ending them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 60.0
END_S = 10.0


class Child:
    """A process that ends with its block; `started` is when it was spawned.

    Its standard error goes to `log`; with `speaks`, lines can be written to it and read from it.
    """

    def __init__(self, command: Sequence[str], log: Path, *, speaks: bool = False) -> None:
        self._log = log
        self._file = log.open("ab")
        pipe = subprocess.PIPE if speaks else None
        self.started = time.monotonic()
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=pipe,
            stdout=pipe or subprocess.DEVNULL,
            stderr=self._file,
            text=True,
        )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def read(self) -> str:
        """Its next line. Raises RuntimeError with its log when it has ended."""
        line = _pipe(self._process.stdout).readline()
        if not line:
            raise self.failure("ended")
        return line.strip()

    def write(self, line: str) -> None:
        """Give it a line."""
        pipe = _pipe(self._process.stdin)
        pipe.write(f"{line}\n")
        pipe.flush()

    def check(self) -> None:
        """Raise RuntimeError with its log when it has ended."""
        if self._process.poll() is not None:
            raise self.failure(f"ended with {self._process.returncode}")

    def failure(self, what: str) -> RuntimeError:
        """An error that shows the end of its log."""
        tail = self._log.read_text(errors="replace")[-2000:]
        return RuntimeError(f"{self._process.args!r} {what}:\n{tail}")

    def end(self) -> None:
        """Ask it to end, then make it."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()


def python(*arguments: str) -> list[str]:
    """This interpreter with arguments."""
    return [sys.executable, *arguments]


def resident_mb(pid: int) -> float:
    """A process's own memory in MB: private pages, and shared ones by its share (PSS)."""
    return _kilobytes(Path(f"/proc/{pid}/smaps_rollup"), "Pss:") / 1024


def peak_mb(pid: int) -> float:
    """The most that a process ever held resident, in MB."""
    return _kilobytes(Path(f"/proc/{pid}/status"), "VmHWM:") / 1024


def rss_mb(pid: int) -> float:
    """What a process holds resident, in MB, shared libraries included."""
    return _kilobytes(Path(f"/proc/{pid}/status"), "VmRSS:") / 1024


def ask(
    url: str, body: Mapping[str, object] | None = None, within_s: float = PATIENCE_S
) -> dict[str, Any]:
    """Call a control API: POST with a body, else GET."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=within_s) as response:
        told: dict[str, Any] = json.load(response)
    return told


def _kilobytes(path: Path, name: str) -> float:
    for line in path.read_text().splitlines():
        if line.startswith(name):
            return float(line.split()[1])
    raise ValueError(f"{path} has no {name}")


def _pipe(stream: IO[str] | None) -> IO[str]:
    if stream is None:
        raise ValueError("this process was started without pipes")
    return stream
