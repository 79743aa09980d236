"""Puts the unit files where systemd looks for them, and says what is left to do.

It writes files and runs nothing: what changes the machine's services is the person's to type.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.errors import UserError
from gateway.errors import NoPermission
from gateway.service.unit import (
    CREDENTIALS,
    DROP_IN,
    ENVIRONMENT,
    LIKE_SERVICE,
    MARK,
    NAME,
    SANDBOX,
    SYSUSERS,
    Start,
    system_unit,
    user_unit,
)

SYSTEM_FOLDER = Path("/etc/systemd/system")
SYSUSERS_FILE = Path("/etc/sysusers.d/pursuit.conf")
_HIDDEN = (Path("/home"), Path("/root"), Path("/run/user"))
"""What ProtectHome=yes takes away."""


@dataclass(frozen=True, slots=True)
class Installation:
    """Files to write, folders to make (0700), and what a person does then, a command a line."""

    files: Mapping[Path, str]
    folders: tuple[Path, ...]
    next_steps: tuple[str, ...]


def for_system(start: Start, *, sandbox: bool, root: Path = Path("/")) -> Installation:
    """A service of the machine, below `root`."""
    units = _below(root, SYSTEM_FOLDER)
    files = {units / NAME: system_unit(start), _below(root, SYSUSERS_FILE): SYSUSERS}
    if sandbox:
        files[units / DROP_IN] = SANDBOX
    program, config = shlex.quote(str(start.program)), shlex.quote(str(start.config))
    token = CREDENTIALS / "platforms__telegram__token"
    steps = (
        "systemd-sysusers                                # makes the user pursuit",
        f"install -d -m 755 {shlex.quote(str(start.config.parent))}",
        f"install -m 640 -g pursuit YOUR-CONFIG {config}",
        "# secrets: one file each, named like its setting; paste it, Enter, Ctrl-D. For example:",
        f"install -m 600 /dev/stdin {token}",
        f"{LIKE_SERVICE} {program} config check --config {config}",
        "systemctl daemon-reload",
        "systemctl enable --now pursuit",
        "journalctl -u pursuit -f",
    )
    return Installation(files, (_below(root, CREDENTIALS),), steps)


def check_visible(start: Start) -> None:
    """Raises UserError where a system service could not see the program or its configuration."""
    for path in (start.program, start.config):
        if any(path.is_relative_to(hidden) for hidden in _HIDDEN):
            raise UserError(
                f"{path} is in a home folder, which a system service cannot see. Install Pursuit "
                "below /opt (python3 -m venv /opt/pursuit) and keep its configuration in "
                "/etc/pursuit/config.yaml, or install a service of your own user with --user."
            )


def for_user(start: Start, config_home: Path) -> Installation:
    """A service of the user whose configuration is below `config_home`."""
    program, config = shlex.quote(str(start.program)), shlex.quote(str(start.config))
    file = f"~/{ENVIRONMENT}"
    steps = (
        f"{program} config check --config {config}",
        "# the service has none of this shell's variables: each ${...} of the configuration needs",
        f"# a line in {file}, which only you can read. For example:",
        f"mkdir -p -m 700 {Path(file).parent} && touch {file} && chmod 600 {file}",
        f'echo "TELEGRAM_BOT_TOKEN=$TELEGRAM_BOT_TOKEN" >> {file}',
        "systemctl --user daemon-reload",
        "systemctl --user enable --now pursuit",
        "loginctl enable-linger                          # it runs while you are logged out",
        "journalctl --user -u pursuit -f",
    )
    return Installation({config_home / "systemd" / "user" / NAME: user_unit(start)}, (), steps)


def install(what: Installation) -> None:
    """Write it. Raises UserError for a file that somebody else wrote, before anything is
    changed, and NoPermission where the operating system forbids it."""
    for path in what.files:
        if path.suffix == ".service" and path.exists() and not _ours(path):
            raise UserError(f"{path} was not written by Pursuit. Move it away first.")
    try:
        for folder in what.folders:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path, text in what.files.items():
            path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            path.chmod(0o644)
    except PermissionError as error:
        raise NoPermission(
            f"{error.filename} cannot be written: permission denied. Run it with sudo, or install "
            "a service of your own user with --user."
        ) from error
    except OSError as error:
        raise UserError(f"{error.filename} cannot be written: {error.strerror}.") from error


def _ours(path: Path) -> bool:
    return path.read_text(encoding="utf-8", errors="replace").startswith(MARK)


def _below(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")
