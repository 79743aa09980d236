"""Makes commits safe from a power cut, on a thread of its own.

The writer commits to the write-ahead log without waiting for the disk and goes on with the next
jobs; this thread waits for the disk, once for all commits made meanwhile, and then tells those
who asked. It knows nothing of jobs or SQL. The log is only ever appended to between two syncs,
so a commit that is safe has made every earlier one safe.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

log = logging.getLogger(__name__)

LAZY_S = 0.02
"""How long a commit for which nobody waits may stay unsafe, in wait for one that is asked for."""
FATAL_EXIT = 75
"""Exit status when a commit's outcome is unknown: a supervisor starts us again."""


@dataclass(frozen=True, slots=True)
class _Commit:
    changed: bool
    then: Callable[[], None] | None


@dataclass(slots=True)
class _Gathered:
    """What the next sync is for."""

    dirty: bool = False
    last: bool = False
    thens: list[Callable[[], None]] = field(default_factory=list)

    def add(self, commit: _Commit | None) -> None:
        """One more; None ends the thread after this sync."""
        if commit is None:
            self.last = True
            return
        self.dirty = self.dirty or commit.changed
        if commit.then is not None:
            self.thens.append(commit.then)


class Syncer:
    """Syncs the file `wal`, which must be there when `start` is called."""

    def __init__(self, wal: Path) -> None:
        self._wal = wal
        self._queue: queue.SimpleQueue[_Commit | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="sqlite-syncer", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def committed(self, *, changed: bool, then: Callable[[], None] | None) -> None:
        """A commit was made; `then` is called on the thread once it is safe.

        One that changed nothing waits only for the earlier ones.
        """
        self._queue.put(_Commit(changed, then))

    def close(self) -> None:
        """Make everything safe and end the thread."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        handle = os.open(self._wal, os.O_RDONLY)
        try:
            while True:
                gathered = self._gather()
                if gathered.dirty:
                    _sync(handle)
                for then in gathered.thens:
                    then()
                if gathered.last:
                    return
        finally:
            os.close(handle)

    def _gather(self) -> _Gathered:
        gathered = _Gathered()
        gathered.add(self._queue.get())
        ends = monotonic() + LAZY_S
        while not gathered.last:
            try:
                idle = not gathered.thens and gathered.dirty
                wait = ends - monotonic() if idle else 0.0
                gathered.add(self._queue.get(block=wait > 0.0, timeout=max(wait, 0.0)))
            except queue.Empty:
                break
        return gathered


def _sync(handle: int) -> None:
    try:
        os.fdatasync(handle)
    except OSError as error:
        log.critical("the log was not synced, its state is unknown: %s", error)
        os._exit(FATAL_EXIT)
