"""Commands that outlived the program are ended by its next life."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import PIPE, Popen

from adapters.workspace.orphans import OWNER, end_orphans, owner_of

WITH_CHILD = "import subprocess, sys; print(1, flush=True); subprocess.run(['sleep', '60'])"


def _started(env: Mapping[str, str]) -> Popen[bytes]:
    child = Popen([sys.executable, "-c", WITH_CHILD], env={**os.environ, **env}, stdout=PIPE)
    assert child.stdout is not None
    assert child.stdout.readline()
    return child


def test_what_carries_the_data_folders_mark_is_ended_and_nothing_else(tmp_path: Path) -> None:
    mine = _started({OWNER: owner_of(tmp_path / "a")})
    others = _started({OWNER: owner_of(tmp_path / "b")})
    with mine, others:
        try:
            assert end_orphans(tmp_path / "a") >= 1
            assert mine.wait(5) == -signal.SIGKILL
            assert others.poll() is None
        finally:
            assert end_orphans(tmp_path / "b") >= 1


def test_a_folder_without_orphans_ends_nothing(tmp_path: Path) -> None:
    assert end_orphans(tmp_path) == 0
