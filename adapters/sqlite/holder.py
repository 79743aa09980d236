"""Who keeps the database from being written. Reads /proc only, and never raises: this is for
sentences, not for decisions."""

from __future__ import annotations

from pathlib import Path

WRITE_LOCK = 120
"""The byte of the shared memory file that a writer of a WAL database locks."""
NOBODY_KNOWN = "another program (a backup, or a shell that was left open?)"


def holder_of(database: str) -> str:
    """The program that has the database locked, as words for a person."""
    try:
        inode = Path(f"{database}-shm").stat().st_ino
        locks = Path("/proc/locks").read_text(encoding="ascii").splitlines()
        for pid in (_writer(line.split(), inode) for line in locks):
            if pid:
                name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace")
                return f"{name.strip()} (process {pid})"
    except (OSError, ValueError):
        pass
    return NOBODY_KNOWN


def _writer(fields: list[str], inode: int) -> int:
    """The process of a line of /proc/locks that holds the write lock, 0 for any other line.

    A line: `11: POSIX ADVISORY WRITE 23820 fe:00:2165036 120 120`; one that only waits has an
    arrow after its number.
    """
    if len(fields) != 8 or fields[3] != "WRITE" or fields[5].rpartition(":")[2] != str(inode):
        return 0
    first, last = int(fields[6]), int(fields[7]) if fields[7].isdigit() else WRITE_LOCK
    return int(fields[4]) if first <= WRITE_LOCK <= last else 0
