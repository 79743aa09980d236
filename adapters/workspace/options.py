"""The `workspace:` settings as this package takes them. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Sandboxing(StrEnum):
    """What commands run in; NONE only where the config says it in words."""

    BWRAP = "bwrap"
    NONE = "none"


class Danger(StrEnum):
    """What becomes of a command that the policy marks dangerous."""

    ASK = "ask"
    REFUSE = "refuse"
    ALLOW = "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceOptions:
    """Where tools may work and how commands are held.

    `extra` folders are open to the tools beside the workspace. `hidden` are files and folders
    that tools and commands never see, wherever they lie (the config file, say); the data
    directory is always among them. `timeout_s` is a command's wall time unless the call asks
    for another. Limits in megabytes hold for each process and each file.
    """

    root: Path | None = None
    allow: tuple[Path, ...] = ()
    extra: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    sandbox: Sandboxing = Sandboxing.BWRAP
    network: bool = False
    timeout_s: float = 120.0
    dangerous: Danger = Danger.ASK
    memory_mb: int = 2048
    file_mb: int = 2048
    tmp_mb: int = 512
    processes: int = 512
    cpu_s: int = 3600
    commands: int = 32
    """How many commands run at once, over all lanes; more wait their turn."""
    background: int = 8
    """How many background processes a lane may have running."""
    bwrap: str = "bwrap"
