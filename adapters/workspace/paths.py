"""Which files the tools may touch, and opening them so that no symlink leads elsewhere.

A path is resolved once and held against the borders; then it is opened one component at a time
below a root, never following a link. A link that is swapped in between makes the open fail: it
cannot carry it outside. Blocking; call it off the loop.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from adapters.workspace.guarded import Guarded, guard_of, guarded
from core.errors import UserError

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a FIFO must not hang it

OUTSIDE = (
    "{path} is outside the workspace ({workspace}): use a path relative to it. An owner can admit"
    " more in the config: `workspace.extra` lists folders that the tools may always use."
)


@dataclass(frozen=True, slots=True)
class Place:
    """A resolved path as a root and the components below it; `shown` is what people read."""

    root: Path
    parts: tuple[str, ...]
    shown: str

    @property
    def name(self) -> str:
        """The last component, "" for the root itself."""
        return self.parts[-1] if self.parts else ""

    @property
    def path(self) -> Path:
        """The whole path."""
        return self.root.joinpath(*self.parts)


@dataclass(frozen=True, slots=True)
class Borders:
    """The folders one lane's tools may use. `hidden` is never seen, even inside of a root,
    unless a root lies deeper still (a workspace in the data directory). `guards` are the places
    of people's home folders that these folders hold, see `guarded`."""

    workspace: Path
    extra: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    guards: tuple[Guarded, ...] = ()

    @classmethod
    def of(cls, workspace: Path, extra: tuple[Path, ...], hidden: tuple[Path, ...]) -> Borders:
        """The borders with all that this machine has to guard."""
        return cls(workspace, extra, hidden, guarded((workspace, *extra)))

    def place(self, text: str, *, writing: bool = False) -> Place:
        """Where a path leads after all links. Raises UserError when that is outside, or guarded
        against reading or, when `writing`, against being written."""
        workspace = _real(self.workspace)
        path = _real(workspace / text)
        roots = (workspace, *map(_real, self.extra))
        root = max((r for r in roots if path.is_relative_to(r)), key=_depth, default=None)
        if guard := guard_of(path, self.guards, self.extra, writing=writing):
            raise UserError(guard.refusal)
        if root is None or text.startswith("~") or self.hides(path, root):
            raise UserError(OUTSIDE.format(path=text, workspace=workspace))
        shown = path.relative_to(workspace) if path.is_relative_to(workspace) else path
        return Place(root, path.relative_to(root).parts, str(shown))

    def hides(self, path: Path, root: Path) -> bool:
        """Whether a resolved path below a resolved root is hidden."""
        hiding = (h for h in map(_real, self.hidden) if path.is_relative_to(h))
        if any(_depth(h) > _depth(root) for h in hiding):
            return True
        return guard_of(path, self.guards, self.extra, writing=False) is not None


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _depth(path: Path) -> int:
    return len(path.parts)


@contextmanager
def opened(place: Place, flags: int = READ) -> Iterator[int]:
    """A descriptor of the file or folder itself; raises OSError."""
    if not place.parts:
        descriptor = os.open(place.root, FOLDER)
    else:
        with parent(place) as folder:
            descriptor = os.open(place.name, flags, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def parent(place: Place, *, make: bool = False) -> Iterator[int]:
    """A descriptor of the folder that holds the place, made on the way when `make`."""
    folder = os.open(place.root, FOLDER)
    try:
        for name in place.parts[:-1]:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=folder)
            below = os.open(name, FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        yield folder
    finally:
        os.close(folder)


def regular(descriptor: int, shown: str) -> os.stat_result:
    """The status of an open regular file. Raises UserError for anything else."""
    return check_regular(os.fstat(descriptor), shown)


def check_regular(status: os.stat_result, shown: str) -> os.stat_result:
    """The status itself. Raises UserError unless it is a regular file's."""
    if stat.S_ISDIR(status.st_mode):
        raise UserError(f"{shown} is a folder.")
    if not stat.S_ISREG(status.st_mode):
        raise UserError(f"{shown} is no regular file.")
    return status


@contextmanager
def told(shown: str) -> Iterator[None]:
    """Turns the system's errors about a place into sentences."""
    try:
        yield
    except FileNotFoundError:
        raise UserError(f"There is no {shown}. list_files shows what there is.") from None
    except NotADirectoryError:
        raise UserError(f"{shown}: a part of the path is no folder.") from None
    except IsADirectoryError:
        raise UserError(f"{shown} is a folder.") from None
    except OSError as error:
        raise UserError(f"{shown}: {error.strerror or error}.") from None
