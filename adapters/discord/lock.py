"""One process per bot token on a machine: two connections would answer everything twice."""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import UserError


@contextmanager
def token_lock(token: str, folder: Path) -> Iterator[None]:
    """Hold the token's lock file; the kernel frees it when the process dies.

    Raises UserError when another process holds it. The file's name is a hash: a listing of the
    folder gives no token away.
    """
    digest = hashlib.sha256(token.encode()).hexdigest()[:24]
    path = folder / f"discord-{digest}.lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = path.open("a", encoding="utf-8")
    except OSError as err:
        raise UserError(f"The lock file {path} cannot be made: {err.strerror}.") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                "Another process on this machine already runs the bot of "
                f"platforms.discord.token (lock file {path}). Stop it, or use another token."
            ) from None
        yield
