"""One process per bot on a machine: two with one token would take each other's messages, or
answer each of them twice.
"""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from core.errors import UserError


def locks_folder() -> Path:
    """Where all of this user's processes keep their locks, whatever their data folders."""
    return platformdirs.user_state_path("pursuit") / "locks"


def lock_file(folder: Path, platform: str, token: str) -> Path:
    """The lock of a platform's token. A hash: a listing of the folder gives no token away."""
    digest = hashlib.sha256(token.encode()).hexdigest()[:24]
    return folder / f"{platform}-{digest}.lock"


@contextmanager
def token_lock(path: Path, *, runs: str, instead: str) -> Iterator[None]:
    """Hold a token's lock file, made with its folder; the kernel frees it when the process dies.

    Raises UserError when another process holds it, or the file cannot be made. For the text,
    `runs` says what runs with the token, and `instead` what a second process may use.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a", encoding="utf-8")
    except OSError as err:
        raise UserError(f"The lock file {path} cannot be made: {err.strerror}.") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"Another process on this machine already runs {runs} (lock file {path}). "
                f"Stop it, or use {instead}."
            ) from None
        yield
