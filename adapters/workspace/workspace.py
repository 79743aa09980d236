"""Where a lane's folder is, and which folders a lane may be bound to. Reads no file."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path

from adapters.workspace.options import WorkspaceOptions
from core.errors import UserError
from core.messages import LaneKey

FOLDERS = "workspaces"

NOT_ADMITTED = (
    "{path} may not be a workspace: it is neither below `workspace.root` ({root}) nor listed in"
    " `workspace.allow`. An owner can admit it there; `workspace.extra` opens a folder to the"
    " tools beside the workspace."
)


def home_of(lane: LaneKey, data_dir: Path) -> Path:
    """The folder of a lane that is bound to none; made on demand, for this user alone."""
    folder = _place_of(lane, data_dir)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder.resolve()


def share_home(old: LaneKey, new: LaneKey, data_dir: Path) -> None:
    """Let a lane's new key work where its old one did, unless it has a folder of its own.

    The folder stays where it is, so that what runs in it is not disturbed.
    """
    target, link = home_of(old, data_dir), _place_of(new, data_dir)
    with suppress(FileExistsError):
        link.symlink_to(target)


def _place_of(lane: LaneKey, data_dir: Path) -> Path:
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", lane).strip("._")[:60]
    unique = hashlib.sha256(lane.encode()).hexdigest()[:10]  # two lanes may look alike in plain
    return data_dir.resolve() / FOLDERS / f"{plain}-{unique}"


def bind(path: str, options: WorkspaceOptions, data_dir: Path) -> Path:
    """The folder that `/workspace PATH` names, resolved. Raises UserError when it may not be one.

    A relative path is below `workspace.root`. The data directory is never admitted.
    """
    root = options.root.resolve() if options.root is not None else None
    wanted = Path(path).expanduser()
    folder = Path(os.path.realpath(root / wanted if root is not None else wanted))
    allowed = {Path(os.path.realpath(p)) for p in options.allow}
    admitted = folder in allowed or (root is not None and folder.is_relative_to(root))
    lost = root is None and not wanted.is_absolute()  # relative to nothing the owner named
    if lost or not admitted:
        raise UserError(NOT_ADMITTED.format(path=path, root=root or "not set"))
    data = data_dir.resolve()
    if folder.is_relative_to(data) or data.is_relative_to(folder):
        raise UserError(f"{path} may not be a workspace: Pursuit's own data lies there ({data}).")
    if not folder.is_dir():
        raise UserError(f"{path} is no folder. Make it first, or name another.")
    return folder
