"""Commands that outlived the program are ended by its next life."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

import psutil

from adapters.workspace.orphans import OWNER, end_orphans, owner_of

WITH_CHILD = "import subprocess, sys; print(1, flush=True); subprocess.run(['sleep', '60'])"

MISFIT = Path(__file__).parents[1] / "fakes" / "mcp_misfit.py"
GATEWAY = """
import asyncio, sys
from pathlib import Path
from gateway.compose.others import mcp_servers
from gateway.settings import load

async def main():
    servers = mcp_servers(load(Path(sys.argv[1])), Path(sys.argv[2]), None)
    life = asyncio.ensure_future(servers.run())
    await servers.ready()
    print(servers.tools()[0].spec.name, file=sys.stderr, flush=True)
    await life

asyncio.run(main())
"""


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


def test_what_an_mcp_server_started_is_ended_too(tmp_path: Path) -> None:
    (data := tmp_path / "data").mkdir()
    server = {"command": sys.executable, "args": [str(MISFIT), "stubborn"]}
    (config := tmp_path / "c.yaml").write_text(json.dumps({"mcp": {"servers": {"odd": server}}}))
    argv = (sys.executable, "-c", GATEWAY, str(config), str(data))
    env = {**os.environ, "PYTHONPATH": str(MISFIT.parents[2])}
    with Popen(argv, env=env, stdout=DEVNULL, stderr=PIPE) as gateway:  # its log, and the name
        assert gateway.stderr is not None
        name = gateway.stderr.readline().decode()
        gateway.kill()
    pids = [int(pid) for pid in name.split("-")[1:]]
    try:
        assert _lives(pids[1])
        assert end_orphans(data) >= 1
        assert not any(_lives(pid) for pid in pids)
    finally:
        for pid in filter(_lives, pids):
            os.kill(pid, signal.SIGKILL)


def _lives(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
