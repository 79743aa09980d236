"""The home folders of local agent runners, where no command and no tool can reach them.

A program runs what it finds in its home folder (a shell's profile, Python's site folder), with
the secrets that it was given. So a runner has none in the workspace, which commands write, but
one in the data directory; it stays, for the program's sessions and caches. Blocking.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

FOLDER = "runners"


class Homes:
    """Those below a data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = Path(os.path.realpath(data_dir)) / FOLDER

    def of(self, command: str, env: Mapping[str, str], workspace: Path) -> Path:
        """Make the one of a program with this environment in this workspace, unless it is there:
        what a program keeps of one chat's work, or of one key, no other sees.

        Raises OSError when it cannot be made.
        """
        words = (os.path.realpath(workspace), command, *(f"{k}={env[k]}" for k in sorted(env)))
        digest = hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass"))
        home = self._folder / digest.hexdigest()[:24]
        self._folder.mkdir(mode=0o700, exist_ok=True)
        home.mkdir(mode=0o700, exist_ok=True)
        return home
