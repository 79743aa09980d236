"""Where the configuration and the data are on this machine."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from platformdirs.unix import Unix

from core.errors import UserError
from gateway.errors import ConfigError, NoPermission, Problem

_LARGEST = 1 << 20


def find_config(config: Path | None, environ: Mapping[str, str]) -> Path | None:
    """The configuration file to read: `config` if given, else the first that exists of
    `$PURSUIT_HOME/config.yaml` and `$XDG_CONFIG_HOME/pursuit/config.yaml`; None for neither."""
    if config is not None:
        return config
    home = environ.get("PURSUIT_HOME")
    places = [Path(home)] if home else []
    places.append(Unix("pursuit").user_config_path)
    return next((p / "config.yaml" for p in places if (p / "config.yaml").exists()), None)


def read_config(path: Path) -> str:
    """The file's text. Raises ConfigError when it cannot be read."""
    try:
        if path.stat().st_size > _LARGEST:
            raise ConfigError([Problem(str(path), "", "the file is larger than 1 MB")])
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        text = "the file is not UTF-8 text; save it as UTF-8"
        raise ConfigError([Problem(f"{path}:{line}", "", text)]) from error
    except OSError as error:
        text = f"the file cannot be read: {error.strerror}"
        raise ConfigError([Problem(str(path), "", text)]) from error


def data_path(data: Path | None, environ: Mapping[str, str]) -> Path:
    """Where the data folder is, or would be: `data` if given, else `$PURSUIT_HOME`, else
    `$XDG_STATE_HOME/pursuit`."""
    home = environ.get("PURSUIT_HOME")
    return (data or (Path(home) if home else Unix("pursuit").user_state_path)).absolute()


def data_folder(data: Path | None, environ: Mapping[str, str]) -> Path:
    """The folder for everything that Pursuit keeps, made for this user alone if it is new. One
    that was there is closed to others.

    Raises NoPermission or UserError when it cannot be made or written to.
    """
    folder = data_path(data, environ)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make_private(folder)
        probe = folder / ".writable"
        probe.touch(mode=0o600)
        probe.unlink()
    except PermissionError as error:
        raise NoPermission(_cannot_use(folder, "permission denied")) from error
    except OSError as error:
        raise UserError(_cannot_use(folder, error.strerror or "unknown error")) from error
    return folder


def _make_private(folder: Path) -> None:
    """Close a folder that was there before to others, where it is this user's and no place that
    they use for more than Pursuit."""
    status = folder.stat()
    shared = status.st_mode & stat.S_ISVTX or folder in {Path.home(), Path(folder.anchor)}
    if status.st_uid == os.geteuid() and not shared and status.st_mode & 0o077:
        folder.chmod(0o700)


def _cannot_use(folder: Path, reason: str) -> str:
    return f"The data folder {folder} cannot be used: {reason}. Name another one with --data DIR."
