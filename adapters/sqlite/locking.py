"""One process works in a data folder."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from core.errors import UserError

LOCK_NAME = "pursuit.lock"


def lock(folder: Path) -> int:
    """Hold the folder's lock file until the process ends, however it ends.

    Raises UserError where another one holds it.
    """
    handle = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        owner = os.pread(handle, 20, 0).decode(errors="replace").strip()
        os.close(handle)
        raise UserError(
            f"Another Pursuit (process {owner or 'unknown'}) works in {folder}. Stop it first, "
            "or name another folder with --data."
        ) from None
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    return handle
