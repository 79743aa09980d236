"""The configuration's file and the data folder: whose they are, and who can read them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from core.findings import Finding, fault, warning, well

FILE, FOLDER = "configuration file", "data folder"


def check_file(file: Path | None, secrets: Iterable[str]) -> Iterator[Finding]:
    """The configuration's file; `secrets` are those in effect."""
    if file is None:
        yield well(FILE, "there is none; the defaults are in effect")
        return
    status, text = file.stat(), file.read_text(encoding="utf-8", errors="replace")
    if status.st_mode & 0o022:
        yield fault(
            FILE,
            f"{file} can be changed by others",
            why="whoever writes it may add themselves to the owners",
            fix=f"chmod go-w {file}",
        )
    elif status.st_mode & 0o044 and any(secret in text for secret in secrets if len(secret) > 5):
        yield fault(
            FILE,
            f"{file} holds a token or key, and others can read it",
            why="whoever has a bot's token is that bot",
            fix=f"chmod 600 {file} (and get new tokens if others use this machine)",
        )
    else:
        yield well(FILE, f"{file} is safe from others")


def check_folder(folder: Path) -> Iterator[Finding]:
    """The data folder, which a start makes where it is missing."""
    if not folder.exists():
        yield from _can_be_made(folder)
        return
    status = folder.stat()
    if not folder.is_dir() or not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield fault(
            FOLDER,
            f"{folder} cannot be written by this user",
            why="Pursuit keeps everything there, and does not start without it",
            fix=f"chown -R {_me()} {folder}, or run as its owner, or name another with --data.",
        )
    elif status.st_mode & 0o077 and not status.st_mode & stat.S_ISVTX:
        yield fault(
            FOLDER,
            f"{folder} is open to others (mode {stat.S_IMODE(status.st_mode):o})",
            why="conversations and files of chats are in it",
            fix=f"chmod 700 {folder}",
        )
    else:
        yield from _foreign(folder)


def _foreign(folder: Path) -> Iterator[Finding]:
    """Files that a run as another user has left."""
    shut = [path.name for path in folder.glob("pursuit.*") if not os.access(path, os.W_OK)]
    if shut:
        yield fault(
            FOLDER,
            f"{', '.join(sorted(shut))} in {folder} cannot be written by this user",
            why="the database must be written; a run with sudo leaves such files",
            fix=f"chown -R {_me()} {folder}",
        )
    else:
        yield well(FOLDER, f"{folder} is for this user alone")


def _can_be_made(folder: Path) -> Iterator[Finding]:
    above = next(parent for parent in folder.parents if parent.exists())
    if os.access(above, os.W_OK | os.X_OK):
        yield well(FOLDER, f"{folder} will be made at the first start")
        return
    yield warning(
        FOLDER,
        f"{folder} is not there and cannot be made by this user",
        why=f"{above} cannot be written",
        fix="Name a folder of yours with --data, or make it and give it to this user.",
    )


def _me() -> str:
    return str(os.geteuid())
