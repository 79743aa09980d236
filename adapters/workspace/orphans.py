"""Ends the commands, and other programs with its mark, that an earlier life of the program left
running.

A sandbox dies with the program, but one that is just being built does not: bubblewrap ties its
processes to their parents one after the other, and whoever is between two ties when the program
is killed waits for ever, or runs its command to the end. Bare commands are not tied at all.
Blocking; call it off the loop.
"""

from __future__ import annotations

import hashlib
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

OWNER = "PURSUIT_OWNER"
PATIENCE_S = 2.0
PAUSE_S = 0.01


def owner_of(data_dir: Path) -> str:
    """What marks the commands of the program that works in a data folder."""
    return hashlib.sha256(os.fsencode(os.path.realpath(data_dir))).hexdigest()[:16]


def end_orphans(data_dir: Path) -> int:
    """SIGKILL them; how many there were.

    Only for whoever holds the data folder's lock and has not started a command yet.
    """
    wanted = f"{OWNER}={owner_of(data_dir)}".encode()
    ended: set[int] = set()
    deadline = time.monotonic() + PATIENCE_S
    while (found := _marked(wanted)) and time.monotonic() < deadline:
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        ended.update(found)
        time.sleep(PAUSE_S)
    return len(ended)


def _marked(wanted: bytes) -> list[int]:
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # it is another user's, or has ended meanwhile
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found
