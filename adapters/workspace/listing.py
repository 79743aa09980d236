"""What lies in a folder: the listing tool's text and the facts a judge is shown.

Descends by folder descriptors and never through a link. Blocking; call it off the loop.
"""

from __future__ import annotations

import heapq
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from adapters.workspace.paths import FOLDER, READ, Borders, Place, opened, told
from core.errors import UserError
from core.tools.facts import FileFact
from core.tools.tool import Outcome
from core.transcript import Receipt

OWN_FOLDER = ".pursuit"
"""Where the workspace keeps what the tools themselves write (long outputs, the home folder)."""

UNLISTED = frozenset(
    {OWN_FOLDER, ".git", ".venv", "__pycache__", "node_modules", ".mypy_cache", ".pytest_cache"}
)
LISTED_ENTRIES = 200
SCANNED_ENTRIES = 5_000
FACTS = 20
START_CHARS = 80
SMALL_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Item:
    """A directory entry: its path below the root, and its status (never a link's target's)."""

    path: str
    status: os.stat_result

    @property
    def is_folder(self) -> bool:
        """Whether it is a real folder."""
        return stat.S_ISDIR(self.status.st_mode)


def walk(folder: int, prefix: str = "", depth: int = 12) -> Iterator[tuple[int, Item]]:
    """All below an open folder, in order of name; each with its folder's descriptor.

    Unlisted folders are named but not entered; what vanishes meanwhile is left out.
    """
    for name in sorted(os.listdir(folder)):
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            continue
        item = Item(prefix + name, status)
        yield folder, item
        if item.is_folder and name not in UNLISTED and depth:
            with suppress(OSError):
                below = os.open(name, FOLDER, dir_fd=folder)
                try:
                    yield from walk(below, f"{prefix}{name}/", depth - 1)
                finally:
                    os.close(below)


def listing(borders: Borders, path: str) -> Outcome:
    """The files below a folder with their sizes, capped."""
    place = borders.place(path)
    lines: list[str] = []
    with told(place.shown), opened(place) as descriptor:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise UserError(f"{place.shown} is a file; read_file shows it.")
        for _, item in walk(descriptor):
            if borders.hides(place.path / item.path, place.root) or item.path == OWN_FOLDER:
                continue
            if len(lines) == LISTED_ENTRIES:
                lines.append("[more is not listed: name a folder]")
                break
            lines.append(_line(item))
    return Outcome("\n".join(lines) or "(empty)", Receipt(ok=True, summary=place.shown))


def _line(item: Item) -> str:
    mode = item.status.st_mode
    if stat.S_ISLNK(mode):
        return f"{item.path} (link)"
    if item.is_folder:
        closed = item.path.rpartition("/")[2] in UNLISTED
        return f"{item.path}/ (not listed)" if closed else f"{item.path}/"
    return f"{item.path} ({item.status.st_size} bytes)"


def snapshot(workspace: Path, hidden: tuple[Path, ...] = ()) -> tuple[FileFact, ...]:
    """The newest files of a workspace, at most `FACTS`, by path; () when there is no folder."""
    borders = Borders.of(workspace, (), hidden)
    root = Place(Path(os.path.realpath(workspace)), (), ".")
    newest: list[tuple[int, str, FileFact]] = []
    try:
        with opened(root) as descriptor:
            for scanned, (folder, item) in enumerate(walk(descriptor)):
                if scanned == SCANNED_ENTRIES:
                    break
                if not stat.S_ISREG(item.status.st_mode):
                    continue
                if not borders.hides(root.path / item.path, root.root):
                    _keep(newest, folder, item)
    except OSError:
        return ()
    return tuple(sorted((fact for _, _, fact in newest), key=lambda fact: fact.path))


def _keep(newest: list[tuple[int, str, FileFact]], folder: int, item: Item) -> None:
    """Put the file among the newest, unless all of those are newer still."""
    age = item.status.st_mtime_ns
    if len(newest) == FACTS and newest[0][0] >= age:
        return
    path = item.path.encode("utf-8", "replace").decode()
    fact = FileFact(path, item.status.st_size, _start(folder, item))
    push = heapq.heappushpop if len(newest) == FACTS else heapq.heappush
    push(newest, (age, item.path, fact))


def _start(folder: int, item: Item) -> str:
    if item.status.st_size > SMALL_BYTES:
        return ""
    try:
        descriptor = os.open(item.path.rpartition("/")[2], READ, dir_fd=folder)
    except OSError:
        return ""
    try:
        data = os.read(descriptor, START_CHARS * 4)
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    if b"\0" in data:
        return ""
    return data.decode("utf-8", "ignore")[:START_CHARS]
