"""That no path and no symlink leads a tool outside, what is sent, and where lanes live."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.workspace.listing import snapshot
from adapters.workspace.options import WorkspaceOptions
from adapters.workspace.outgoing import FOLDER
from adapters.workspace.paths import Borders, opened
from adapters.workspace.tools import workspace_tools
from adapters.workspace.workspace import bind, home_of
from core.errors import UserError
from core.messages import LaneKey
from core.tools.send import MAX_FILE_BYTES, Stage
from tests.e2e.workspace_lane import SECRET, Lane, open_lane


@pytest.fixture
async def lane(tmp_path: Path) -> AsyncIterator[Lane]:
    (tmp_path / "extra").mkdir()
    async with open_lane(tmp_path, WorkspaceOptions(extra=(tmp_path / "extra",))) as lane:
        yield lane


# The borders


@pytest.mark.parametrize(
    "path",
    ["../../secret.txt", "/etc/passwd", "~/x", "a/../../../secret.txt", "//etc/passwd", ".."],
)
@pytest.mark.parametrize("tool", ["read_file", "write_file", "patch_file", "list_files"])
async def test_a_path_outside_is_refused_and_names_the_key(
    lane: Lane, tool: str, path: str
) -> None:
    more = {"write_file": {"content": "x"}, "patch_file": {"old": "a", "new": "b"}}
    result = await lane.call(tool, path=path, **more.get(tool, {}))
    assert "workspace.extra" in result.text
    assert not result.receipt.ok
    assert (lane.data / "secret.txt").read_text() == SECRET


@pytest.mark.parametrize("target", ["{data}", "{data}/secret.txt", "/etc", "/"])
async def test_a_symlink_cannot_lead_outside(lane: Lane, target: str) -> None:
    (lane.workspace / "link").symlink_to(target.format(data=lane.data))
    for path in ("link", "link/secret.txt", "link/new.txt"):
        assert not (await lane.call("read_file", path=path)).receipt.ok
        assert not (await lane.call("write_file", path=path, content="x")).receipt.ok
        assert not (await lane.call("search_files", pattern=".", path=path)).receipt.ok
    assert (lane.data / "secret.txt").read_text() == SECRET
    assert not (lane.data / "new.txt").exists()
    assert (await lane.call("search_files", pattern=SECRET)).text == "(no match)"


async def test_a_symlink_inside_the_workspace_is_followed(lane: Lane) -> None:
    (lane.workspace / "real").mkdir()
    (lane.workspace / "link").symlink_to("real")
    await lane.call("write_file", path="link/a.txt", content="x")
    assert (lane.workspace / "real" / "a.txt").read_text() == "x"
    assert (lane.workspace / "link").is_symlink()


@pytest.mark.parametrize("swapped", ["sub", "sub/a.txt"])
def test_a_symlink_swapped_in_after_the_check_is_not_followed(lane: Lane, swapped: str) -> None:
    (lane.workspace / "sub").mkdir()
    (lane.workspace / "sub" / "a.txt").write_text("mine")
    (lane.data / "a.txt").write_text(SECRET)
    place = Borders(lane.workspace).place("sub/a.txt")
    (lane.workspace / swapped).rename(lane.workspace / "away")
    (lane.workspace / swapped).symlink_to(lane.data if swapped == "sub" else lane.data / "a.txt")
    with pytest.raises(OSError, match=r"symbolic links|Not a directory"), opened(place):
        pass


async def test_an_extra_folder_is_open_by_its_path(lane: Lane, tmp_path: Path) -> None:
    path = str(tmp_path / "extra" / "a.txt")
    written = await lane.call("write_file", path=path, content="x")
    assert written.receipt.path == path
    assert (await lane.call("read_file", path=path)).text == "x"


async def test_hidden_folders_stay_hidden_inside_of_a_root(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "secret.txt").write_text(SECRET)
    (tmp_path / "config.yaml").write_text(SECRET)
    tools = workspace_tools(WorkspaceOptions(hidden=(tmp_path / "config.yaml",)), data)
    lane = Lane(data, tmp_path, tools)
    for path in ("data/secret.txt", "data", "config.yaml"):
        assert "workspace.extra" in (await lane.call("read_file", path=path)).text
    assert (await lane.call("list_files")).text == "(empty)"
    assert (await lane.call("search_files", pattern=SECRET)).text == "(no match)"
    assert snapshot(tmp_path, (data, tmp_path / "config.yaml")) == ()


# Sending


async def test_a_sent_file_is_a_copy_that_the_agent_cannot_change(lane: Lane) -> None:
    (lane.workspace / "a.txt").write_text("first")
    stage: Stage = lane.tools.stage
    staged = await stage.stage(lane.context(), "a.txt", "c1")
    (lane.workspace / "a.txt").write_text("other")
    assert (staged.path.read_text(), staged.name, staged.size) == ("first", "a.txt", 5)
    assert staged.path.is_relative_to(lane.data / FOLDER)


async def test_the_same_call_is_staged_in_one_place(lane: Lane) -> None:
    (lane.workspace / "a.txt").write_text("x")
    once = await lane.tools.stage.stage(lane.context(), "a.txt", "c1")
    again = await lane.tools.stage.stage(lane.context(), "a.txt", "c1")
    other = await lane.tools.stage.stage(replace(lane.context(), turn=2), "a.txt", "c1")
    assert once == again
    assert once.path != other.path


async def test_old_copies_go_when_a_new_one_comes(lane: Lane) -> None:
    (lane.workspace / "a.txt").write_text("x")
    old = await lane.tools.stage.stage(lane.context(), "a.txt", "c1")
    os.utime(old.path.parent, (0, 0))
    await lane.tools.stage.stage(lane.context(), "a.txt", "c2")
    assert not old.path.exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("big", "the limit is 50 MB"),
        ("empty", "is empty"),
        ("folder", "is a folder"),
        ("../../secret.txt", "workspace.extra"),
        ("none", "There is no none"),
    ],
)
async def test_what_cannot_be_sent_is_refused(lane: Lane, name: str, said: str) -> None:
    with (lane.workspace / "big").open("wb") as big:
        big.truncate(MAX_FILE_BYTES + 1)
    (lane.workspace / "empty").touch()
    (lane.workspace / "folder").mkdir()
    with pytest.raises(UserError, match=said):
        await lane.tools.stage.stage(lane.context(), name, "c1")


# Where a lane's folder is


def test_lanes_that_look_alike_have_folders_of_their_own(tmp_path: Path) -> None:
    keys = ["telegram|1|-100|5|", "telegram|1|-100|5_", "telegram|1|../../etc||", "x" * 500]
    folders = [home_of(LaneKey(key), tmp_path) for key in keys]
    assert len(set(folders)) == len(keys)
    assert all(f.parent == tmp_path / "workspaces" and f.is_dir() for f in folders)
    assert home_of(LaneKey(keys[0]), tmp_path) == folders[0]
    assert stat.S_IMODE(folders[0].stat().st_mode) == 0o700


def test_a_lane_is_bound_below_the_root_or_where_it_is_allowed(tmp_path: Path) -> None:
    for name in ("root/repo", "allowed/inner", "data/x", "other"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "root" / "out").symlink_to(tmp_path / "other")
    options = WorkspaceOptions(root=tmp_path / "root", allow=(tmp_path / "allowed",))
    data = tmp_path / "data"
    assert bind("repo", options, data) == tmp_path / "root" / "repo"
    assert bind(str(tmp_path / "root" / "repo"), options, data) == tmp_path / "root" / "repo"
    assert bind(str(tmp_path / "allowed"), options, data) == tmp_path / "allowed"
    for path in ("../other", "out", str(tmp_path / "allowed" / "inner"), "/", "~"):
        with pytest.raises(UserError, match=r"(?s)workspace\.root.*workspace\.allow"):
            bind(path, options, data)
    with pytest.raises(UserError, match="no folder"):
        bind("missing", options, data)


def test_the_data_directory_is_never_bound(tmp_path: Path) -> None:
    (tmp_path / "data" / "x").mkdir(parents=True)
    options = WorkspaceOptions(root=tmp_path)
    for path in (".", "data", "data/x"):
        with pytest.raises(UserError, match="own data"):
            bind(path, options, tmp_path / "data")


def test_without_a_root_a_relative_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not set"):
        bind("repo", WorkspaceOptions(), tmp_path)
