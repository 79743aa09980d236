"""Real commands in a real bubblewrap: what they can reach, and what they can never."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.workspace.options import Danger, Sandboxing, WorkspaceOptions
from adapters.workspace.sandbox import Sandbox
from core.errors import UserError
from tests.e2e.workspace_lane import SECRET, Lane, open_lane


@pytest.fixture
async def lane(tmp_path: Path) -> AsyncIterator[Lane]:
    """The sandbox is the border, so it is tried with the policy out of the way."""
    async with open_lane(tmp_path, WorkspaceOptions(dangerous=Danger.ALLOW)) as lane:
        yield lane


@asynccontextmanager
async def listening() -> AsyncIterator[int]:
    """A server on loopback that says hello; yields its port."""

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello\n")
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def test_a_command_works_in_the_workspace(lane: Lane) -> None:
    result = await lane.run("echo hi > a.txt && cat a.txt && pwd")
    assert result.text == f"hi\n{lane.workspace}\n[exit code 0]"
    assert (lane.workspace / "a.txt").read_text() == "hi\n"


async def test_the_system_is_read_only(lane: Lane) -> None:
    for path in ("/usr/x", "/bin/x", "/etc/x", "/x", "/lib/x", "/run/x", "/var/x"):
        result = await lane.run(f"touch {path}")
        assert "Read-only file system" in result.text, path
        assert not result.receipt.ok


async def test_tmp_is_private_and_the_rest_of_the_machine_is_not_there(
    lane: Lane, tmp_path: Path
) -> None:
    (tmp_path / "outside.txt").write_text(SECRET)
    mine = f"/tmp/mine-{lane.workspace.name}"
    result = await lane.run(f"touch {mine}; cat {tmp_path}/outside.txt; ls /home /srv /opt /mnt")
    assert SECRET not in result.text
    assert not await asyncio.to_thread(Path(mine).exists)
    assert not (await lane.run(f"ls {mine}")).receipt.ok


async def test_the_data_directory_is_invisible(lane: Lane) -> None:
    result = await lane.run(
        f"ls -A {lane.data}; cat {lane.data}/secret.txt; cd ../..; cat secret.txt"
    )
    assert SECRET not in result.text
    assert result.text.startswith("workspaces\n")
    others = await lane.run(f"ls {lane.data}/workspaces")
    assert others.text == f"{lane.workspace.name}\n[exit code 0]"


async def test_hidden_files_inside_of_the_workspace_are_covered(tmp_path: Path) -> None:
    config = tmp_path / "repo" / "config.yaml"
    config.parent.mkdir()
    config.write_text(SECRET)
    (tmp_path / "repo" / "data").mkdir()
    options = WorkspaceOptions(hidden=(config,), dangerous=Danger.ALLOW)
    async with open_lane(tmp_path / "repo", options) as lane:
        bound = Lane(lane.data, tmp_path / "repo", lane.tools)
        result = await bound.run("cat config.yaml data/secret.txt; ls -A data; ls")
        assert SECRET not in result.text
        assert "config.yaml" in result.text


async def test_an_extra_folder_is_writable(tmp_path: Path) -> None:
    (tmp_path / "extra").mkdir()
    options = WorkspaceOptions(extra=(tmp_path / "extra",))
    async with open_lane(tmp_path, options) as lane:
        assert (await lane.run(f"echo x > {tmp_path}/extra/a")).receipt.ok
    assert (tmp_path / "extra" / "a").read_text() == "x\n"


async def test_keys_of_the_machine_are_out_of_reach_even_for_root(lane: Lane) -> None:
    result = await lane.run("cat /etc/shadow /etc/sudoers; ls /etc/ssl/private /root/.ssh")
    assert result.text.count("No such file or directory") == 4


async def test_the_environment_holds_no_secrets(tmp_path: Path) -> None:
    """The whole chain is looked at: the command's own environment and every process's in /proc."""
    script = tmp_path / "child.py"
    script.write_text(
        "import asyncio, json, sys\n"
        "from pathlib import Path\n"
        "from adapters.workspace.options import Danger, WorkspaceOptions\n"
        "from tests.e2e.workspace_lane import open_lane\n"
        "async def main():\n"
        "    options = WorkspaceOptions(dangerous=Danger.ALLOW)\n"
        "    async with open_lane(Path(sys.argv[1]), options) as lane:\n"
        "        result = await lane.run('env; cat /proc/[0-9]*/environ')\n"
        "        print(json.dumps(result.text))\n"
        "asyncio.run(main())\n"
    )
    root = Path(__file__).parents[2]
    env = {"PATH": os.defpath, "PYTHONPATH": str(root), "TELEGRAM_BOT_TOKEN": SECRET}
    command = (sys.executable, str(script), str(tmp_path))
    child = await asyncio.create_subprocess_exec(*command, env=env, stdout=asyncio.subprocess.PIPE)
    said, _ = await child.communicate()
    text = json.loads(said)
    assert "HOME=" in text
    assert "TELEGRAM" not in text
    assert SECRET not in text


async def test_processes_of_the_machine_cannot_be_seen_or_ended(lane: Lane) -> None:
    result = await lane.run(f"ls -d /proc/[0-9]* | wc -l; kill -9 {os.getpid()}")
    assert int(result.text.split("\n")[0]) < 10
    assert not result.receipt.ok


async def test_there_is_no_network_unless_the_config_gives_one(lane: Lane, tmp_path: Path) -> None:
    async with listening() as port:
        command = f"exec 3<>/dev/tcp/127.0.0.1/{port} && cat <&3"
        assert "Connection refused" in (await lane.run(command)).text
        async with open_lane(tmp_path, WorkspaceOptions(network=True)) as open_to_all:
            assert (await open_to_all.run(command)).text == "hello\n[exit code 0]"


async def test_a_new_user_namespace_cannot_be_made_inside(lane: Lane) -> None:
    assert not (await lane.run("unshare --user --map-root-user true")).receipt.ok


async def test_memory_is_limited(tmp_path: Path) -> None:
    options = WorkspaceOptions(memory_mb=64)
    async with open_lane(tmp_path, options) as lane:
        result = await lane.run("head -c 200M /dev/zero | tail -c 190M | wc -c")
        assert "memory exhausted" in result.text
        assert (await lane.run("head -c 30M /dev/zero | tail -c 20M | wc -c")).text == (
            f"{20 * 1024 * 1024}\n[exit code 0]"
        )


async def test_the_size_of_a_file_and_of_tmp_is_limited(tmp_path: Path) -> None:
    async with open_lane(tmp_path, WorkspaceOptions(file_mb=1, tmp_mb=1)) as lane:
        big = await lane.run("head -c 5M /dev/zero > big; stat -c %s big")
        assert big.text.endswith("1048576\n[exit code 0]")
        many = "for n in 1 2 3; do head -c 700K /dev/zero > /tmp/$n || exit 9; done"
        assert (await lane.run(many)).receipt.exit_code == 9


async def test_a_flood_of_processes_is_stopped_for_a_user_who_is_not_root() -> None:
    """Run as nobody where the tests are root's; the kernel exempts root from the limit."""
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--")
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        if root := os.getuid() == 0:
            os.chown(workspace, 65534, 65534)
        sandbox = Sandbox(WorkspaceOptions(processes=20), (), runtime=None)
        command = "id -u; echo x > mine; for n in {1..60}; do sleep 1 & done 2>&1; echo started"
        launch = sandbox.launch(command, workspace)
        process = await asyncio.create_subprocess_exec(
            *(nobody if root else ()),
            *launch.argv,
            env=dict(launch.env),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await process.communicate()
        assert said.split(b"\n")[0] == (b"65534" if root else str(os.getuid()).encode())
        assert b"Resource temporarily unavailable" in said
        assert (workspace / "mine").exists()


@pytest.mark.parametrize("bwrap", ["bwrap-that-is-not-there", "false"])
async def test_without_a_working_sandbox_commands_are_refused_with_the_remedy(
    tmp_path: Path, bwrap: str
) -> None:
    async with open_lane(tmp_path, WorkspaceOptions(bwrap=bwrap)) as lane:
        result = await lane.run("touch ran")
        assert not result.receipt.ok
        for part in (
            "apt install bubblewrap",
            "dnf install",
            "AppArmor",
            "workspace.sandbox: none",
        ):
            assert part in result.text
        assert bwrap in result.text
        assert not (lane.workspace / "ran").exists()
        with pytest.raises(UserError, match="apt install bubblewrap"):
            await lane.tools.check()
        assert (await lane.call("write_file", path="a", content="x")).receipt.ok


async def test_a_sandbox_that_comes_later_is_found(tmp_path: Path) -> None:
    late = tmp_path / "late-bwrap"
    async with open_lane(tmp_path, WorkspaceOptions(bwrap=str(late))) as lane:
        assert not (await lane.run("true")).receipt.ok
        late.symlink_to("/usr/bin/bwrap")
        assert (await lane.run("true")).receipt.ok


async def test_an_older_bubblewrap_works_without_the_newer_options(tmp_path: Path) -> None:
    old = tmp_path / "old-bwrap"
    old.write_text(
        "#!/bin/bash\n"
        'for word; do case "$word" in --disable-userns|--size)\n'
        '  echo "bwrap: Unknown option $word" >&2; exit 1;; esac; done\n'
        'exec /usr/bin/bwrap "$@"\n'
    )
    old.chmod(0o755)
    async with open_lane(tmp_path, WorkspaceOptions(bwrap=str(old))) as lane:
        assert (await lane.run("echo hi")).text == "hi\n[exit code 0]"


async def test_bare_commands_run_only_where_the_config_says_so(tmp_path: Path) -> None:
    options = WorkspaceOptions(sandbox=Sandboxing.NONE, bwrap="bwrap-that-is-not-there")
    async with open_lane(tmp_path, options) as lane:
        result = await lane.run("pwd; env | grep -c PURSUIT_TOKEN")
        assert result.text == f"{lane.workspace}\n0\n[exit code 1]"
        limited = WorkspaceOptions(sandbox=Sandboxing.NONE, memory_mb=64)
    async with open_lane(tmp_path, limited) as lane:
        assert "exhausted" in (await lane.run("head -c 200M /dev/zero | tail -c 190M")).text
