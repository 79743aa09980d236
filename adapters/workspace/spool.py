"""Keeps a long output whole in a file of the workspace, up to a limit. Blocking.

The agent owns the folder it writes to, so every component is opened without following links.
"""

from __future__ import annotations

import os
import secrets
import threading
from contextlib import suppress
from pathlib import Path

from adapters.workspace.listing import OWN_FOLDER
from adapters.workspace.paths import Place, parent

MAX_BYTES = 64 * 1024 * 1024
KEPT_FILES = 20
IGNORE = b"*\n"

NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def prepare(workspace: Path) -> None:
    """Make the tools' own folder, with a home for commands, and keep it out of git."""
    root = Path(os.path.realpath(workspace))
    with suppress(OSError), parent(Place(root, (OWN_FOLDER, "home", ""), ""), make=True):
        pass
    with (
        suppress(OSError),
        parent(Place(root, (OWN_FOLDER, ".gitignore"), "")) as folder,
        os.fdopen(os.open(".gitignore", NEW, 0o666, dir_fd=folder), "wb") as file,
    ):
        file.write(IGNORE)


class Spool:
    """A file that comes to be with the first write; written by threads, closed by the loop."""

    def __init__(self, workspace: Path) -> None:
        name = f"{secrets.token_hex(4)}.txt"
        root = Path(os.path.realpath(workspace))
        self._place = Place(root, (OWN_FOLDER, "output", name), f"{OWN_FOLDER}/output/{name}")
        self._lock = threading.Lock()  # a descriptor closed under a write may be another's by then
        self._descriptor: int | None = None
        self._written = 0
        self._fault = ""
        self.full = False

    def write(self, data: bytes) -> None:
        """Append; a fault is kept and ends the file, never raised."""
        with self._lock:
            if self.full:
                return
            try:
                self._append(data[: MAX_BYTES - self._written])
            except OSError as error:
                self._fault, self.full = error.strerror or str(error), True
            if self._written >= MAX_BYTES:
                self._fault = f"only the first {MAX_BYTES // (1024 * 1024)} MB"
                self.full = True

    def _append(self, data: bytes) -> None:
        if self._descriptor is None:
            with parent(self._place, make=True) as folder:
                _prune(folder)
                self._descriptor = os.open(self._place.name, NEW, 0o666, dir_fd=folder)
        while data:
            done = os.write(self._descriptor, data)
            self._written += done
            data = data[done:]

    def close(self) -> None:
        """Let the file go; more writes are ignored."""
        with self._lock:
            self.full = True
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    @property
    def kept(self) -> str:
        """The file's path as the agent reads it, "" unless all that was written is in it."""
        return self._place.shown if self._written and not self._fault else ""

    def where(self) -> str:
        """The end of a sentence that says where the whole output is."""
        if not self._written:
            return f" (it could not be kept: {self._fault})" if self._fault else ""
        partly = f" ({self._fault})" if self._fault else ""
        return f"; the whole is in {self._place.shown}{partly}"


def _prune(folder: int) -> None:
    """Leave room for one more file; the oldest go."""
    aged: list[tuple[int, str]] = []
    for name in os.listdir(folder):
        with suppress(OSError):
            aged.append((os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime_ns, name))
    for _, name in sorted(aged)[: -(KEPT_FILES - 1)]:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
