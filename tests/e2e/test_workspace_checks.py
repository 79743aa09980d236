"""The checks of acceptance criteria on real files and commands: they see and may what the tools
see and may, and nothing that they find is an error."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.workspace.checks import BLOCK, MAX_BYTES
from adapters.workspace.options import Sandboxing, WorkspaceOptions
from core.delegation.ports import Checks, Finding
from tests.e2e.workspace_lane import SECRET, Lane, open_lane


@pytest.fixture
async def lane(tmp_path: Path) -> AsyncIterator[Lane]:
    async with open_lane(tmp_path, WorkspaceOptions()) as lane:
        yield lane


async def exists(lane: Lane, path: str) -> Finding:
    return await checks(lane).exists(lane.context(), path)


async def contains(lane: Lane, path: str, text: str) -> Finding:
    return await checks(lane).contains(lane.context(), path, text)


async def succeeds(lane: Lane, command: str) -> Finding:
    return await checks(lane).succeeds(lane.context(), command)


def checks(lane: Lane) -> Checks:
    return lane.tools.checks


# Whether it is there


async def test_a_file_a_folder_and_the_workspace_itself_exist(lane: Lane) -> None:
    (lane.workspace / "sub").mkdir()
    (lane.workspace / "sub" / "a.txt").write_text("four")
    assert await exists(lane, "sub/a.txt") == Finding(True, "sub/a.txt is there (4 bytes)")
    for path in ("sub", ".", str(lane.workspace / "sub")):
        assert (await exists(lane, path)).met, path


@pytest.mark.parametrize("path", ["b.txt", "sub/b.txt", "a.txt/b.txt", "dangling"])
async def test_what_is_not_there_is_not_met(lane: Lane, path: str) -> None:
    (lane.workspace / "a.txt").write_text("a")
    (lane.workspace / "dangling").symlink_to("gone.txt")
    found = await exists(lane, path)
    assert found.met is False
    assert found.why.startswith("there is no ")


@pytest.mark.parametrize("path", ["/etc/passwd", "../secret.txt", "~/x", "link/secret.txt"])
async def test_outside_of_the_workspace_nobody_looks(lane: Lane, path: str) -> None:
    (lane.workspace / "link").symlink_to(lane.data)
    for found in (await exists(lane, path), await contains(lane, path, SECRET)):
        assert found.met is None
        assert "is outside the workspace" in found.why


async def test_a_guarded_place_is_not_looked_at(tmp_path: Path) -> None:
    home = Path.home()
    async with open_lane(tmp_path, WorkspaceOptions(extra=(home,))) as lane:
        assert (await exists(lane, str(home / ".ssh" / "id_rsa"))).met is None


async def test_a_name_that_no_system_takes_is_no_crash(lane: Lane) -> None:
    found = await exists(lane, "x" * 3000)
    assert found.met is None
    assert "too long" in found.why


# What it holds


async def test_a_file_holds_a_text_whatever_its_line_ends(lane: Lane) -> None:
    (lane.workspace / "a.txt").write_bytes("eins\r\nzwei ü\r\n".encode())
    assert (await contains(lane, "a.txt", "eins\nzwei ü")).met
    assert (await contains(lane, "a.txt", "eins\r\nzwei")).met
    missing = await contains(lane, "a.txt", "drei")
    assert missing == Finding(False, "the text is not in a.txt (15 bytes)")
    assert (await contains(lane, "b.txt", "x")) == Finding(False, "there is no b.txt")


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("text", ["ü", "eins\nzwei", "eins\nzwei\n\ndrei"])
async def test_a_text_is_found_wherever_the_blocks_of_a_large_file_end(
    lane: Lane, ends: str, text: str
) -> None:
    part = text.replace("\n", ends).encode()
    for shift in range(len(part) + 1):
        held = b"x" * (BLOCK - shift) + part + b"\r" * BLOCK
        (lane.workspace / "large.txt").write_bytes(held)
        assert (await contains(lane, "large.txt", text)).met, shift
    (lane.workspace / "large.txt").write_bytes(part[:-1] + b"x" * 9 * BLOCK + b"\r")
    assert (await contains(lane, "large.txt", text)).met is False


async def test_a_file_too_large_to_look_at_settles_nothing(lane: Lane) -> None:
    with (lane.workspace / "huge").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    found = await contains(lane, "huge", "text")
    assert found == Finding(None, "huge is too large to look at (over 64 MB)")


async def test_a_folder_a_fifo_and_a_binary_hold_no_text(lane: Lane) -> None:
    (lane.workspace / "sub").mkdir()
    os.mkfifo(lane.workspace / "fifo")
    (lane.workspace / "binary").write_bytes(b"text\0text")
    for path, why in (
        ("sub", "is a folder"),
        ("fifo", "is no regular file"),
        ("binary", "is a binary file"),
    ):
        found = await contains(lane, path, "text")
        assert found.met is False, path
        assert why in found.why


# Whether it succeeds


@pytest.mark.parametrize("sandbox", Sandboxing)
async def test_a_command_is_met_by_its_exit_code(tmp_path: Path, sandbox: Sandboxing) -> None:
    async with open_lane(tmp_path, WorkspaceOptions(sandbox=sandbox)) as lane:
        (lane.workspace / "a.txt").write_text("a")
        assert (await succeeds(lane, "test -f a.txt")) == Finding(
            True, "the command exited with 0"
        )
        assert (await succeeds(lane, "test -f b.txt")) == Finding(
            False, "the command exited with 1"
        )
        assert (
            await succeeds(lane, "echo '1 passed'; echo; echo '[2 failed'; exit 3")
        ) == Finding(False, "the command exited with 3; its output ends: [2 failed")


async def test_a_command_that_takes_too_long_is_not_met(tmp_path: Path) -> None:
    async with open_lane(tmp_path, WorkspaceOptions(timeout_s=0.3)) as lane:
        found = await succeeds(lane, "echo working; sleep 60")
        assert found == Finding(
            False, "the command took too long and was killed; its output ends: working"
        )
        assert not lane.tools.terminal._foreground
    async with open_lane(tmp_path / "two", WorkspaceOptions()) as lane:
        assert (await succeeds(lane, "exit 124")).why == "the command exited with 124"


@pytest.mark.parametrize("command", ["sudo true", "rm -rf /"])
async def test_what_the_policy_refuses_is_not_run_and_settles_nothing(
    lane: Lane, command: str
) -> None:
    found = await succeeds(lane, command)
    assert found.met is None
    assert found.why.startswith("Refused, not run: ")


async def test_a_machine_without_the_sandbox_settles_nothing(tmp_path: Path) -> None:
    async with open_lane(tmp_path, WorkspaceOptions(bwrap="no-such-bwrap")) as lane:
        found = await succeeds(lane, "true")
    assert found.met is None
    assert "bubblewrap" in found.why


async def test_a_check_sees_no_secret_that_the_tools_do_not_see(lane: Lane) -> None:
    assert (await succeeds(lane, f"cat {lane.data}/secret.txt")).met is False


# Keeping


async def test_a_long_text_is_kept_where_the_agent_can_read_it(lane: Lane) -> None:
    text = "Zeile ü\n" * 3_000 + "\ud800"
    path = await checks(lane).keep(lane.context(), text)
    assert path.startswith(".pursuit/output/")
    assert (lane.workspace / path).read_text() == text.replace("\ud800", "?")
    assert (await lane.call("read_file", path=path)).receipt.ok


async def test_a_text_that_cannot_be_kept_is_no_crash(lane: Lane) -> None:
    (lane.workspace / ".pursuit").write_text("in the way")
    assert await checks(lane).keep(lane.context(), "long") == ""
