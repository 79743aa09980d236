"""Other processes of Pursuit on this machine, told by the locks they hold.

The kernel's list is read and no lock is taken: to try one might get in the way of a start.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from core.findings import Finding, fault, well
from gateway.token_lock import lock_file

PROCESS = "second process"
LOCKS = Path("/proc/locks")


def holder(file: Path, locks: Path = LOCKS) -> int | None:
    """The process that holds a lock on the file; None for nobody, 0 for one of another
    container."""
    try:
        status = file.stat()
        lines = locks.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    for line in lines:
        # 12: FLOCK  ADVISORY  WRITE 4711 fe:01:393241 0 EOF
        words = line.split()
        if "->" not in words and device in words:
            return max(0, int(words[words.index(device) - 1]))
    return None


def check_processes(
    data_lock: Path, token_locks: Path, tokens: Mapping[str, str]
) -> Iterator[Finding]:
    """Who works in the data folder, and whether another one uses a bot's token; `tokens` are
    those in use, by platform."""
    own = holder(data_lock)
    for platform, token in tokens.items():
        other = holder(lock_file(token_locks, platform, token))
        if other is not None and other != own:
            yield fault(
                PROCESS,
                f"process {other} runs the {platform} bot with another data folder",
                why="two of them would take each other's messages, so a second one does not start",
                fix=f"Stop it (kill {other}, or systemctl stop pursuit), or give this one a token "
                "of its own.",
            )
            return
    running = "no Pursuit runs here" if own is None else f"Pursuit runs here as process {own}"
    yield well(PROCESS, running)
