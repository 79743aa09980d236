"""A chat that works in a home folder, or in a folder that holds one: the person's keys stay out
of its sight and what runs at a login out of its hands, for the file tools and for commands."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.workspace.guarded import SECRET, START_UP
from adapters.workspace.listing import snapshot
from adapters.workspace.options import Danger, WorkspaceOptions
from core.errors import UserError
from core.tools.send import Stage
from tests.e2e.workspace_lane import Lane, open_lane

KEY = "the-private-key"
OPEN = WorkspaceOptions(dangerous=Danger.ALLOW)
"""The sandbox is the border, so it is tried with the policy out of the way."""
ASK_THE_PERSON = "ask the person to do the step that needs it themselves"
ELSEWHERE = "Write what you propose to another file in the workspace"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home folder with all that such a folder has."""
    home = tmp_path / "people" / "ann"
    for name in (".ssh", ".aws", ".config/gh", ".config/fish", "project"):
        (home / name).mkdir(parents=True)
    for name in (".ssh/id_ed25519", ".aws/credentials", ".config/gh/hosts.yml", ".netrc", ".env"):
        (home / name).write_text(KEY)
    (home / ".bash_history").write_text(f"curl -u ann:{KEY}")
    (home / ".bashrc").write_text("# ann's own\n")
    (home / ".config" / "fish" / "config.fish").write_text("# ann's own\n")
    (home / "project" / "notes.txt").write_text("notes\n")
    monkeypatch.setenv("HOME", str(home))
    return home


@asynccontextmanager
async def chat_in(
    folder: Path, tmp_path: Path, options: WorkspaceOptions = OPEN
) -> AsyncIterator[Lane]:
    """A lane that works in that folder."""
    async with open_lane(tmp_path / "beside", options) as lane:
        yield replace(lane, workspace=folder)


@pytest.fixture(params=["home", "above"])
async def lane(home: Path, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Lane]:
    folder = home if request.param == "home" else home.parent
    async with chat_in(folder, tmp_path) as lane:
        yield lane


def below(lane: Lane, home: Path, name: str) -> str:
    """A place of the home folder as the lane's tools name it."""
    return str((home / name).relative_to(lane.workspace))


# Keys and passwords


@pytest.mark.parametrize(
    "name", [".ssh/id_ed25519", ".aws/credentials", ".config/gh/hosts.yml", ".netrc", ".env"]
)
async def test_a_key_is_closed_to_every_tool(lane: Lane, home: Path, name: str) -> None:
    path = below(lane, home, name)
    for tool, more in {
        "read_file": {},
        "write_file": {"content": "mine"},
        "patch_file": {"old": KEY, "new": "mine"},
        "search_files": {"pattern": "."},
    }.items():
        result = await lane.call(tool, path=path, **more)
        assert not result.receipt.ok
        assert "is closed to you: it holds " in result.text
        assert ASK_THE_PERSON in result.text
    stage: Stage = lane.tools.stage
    with pytest.raises(UserError, match="is closed to you"):
        await stage.stage(lane.context(), path, "c1")
    for command in (f"cat {path}", f"cp {path} {below(lane, home, 'project')}/x", f"> {path}"):
        result = await lane.run(command)
        assert KEY not in result.text
    assert (home / name).read_text() == KEY


async def test_no_tool_finds_a_key_by_looking_about(lane: Lane, home: Path) -> None:
    assert (await lane.call("search_files", pattern=KEY)).text == "(no match)"
    assert KEY not in (await lane.run("grep -r . . || true")).text
    listed = (await lane.call("list_files")).text
    assert ".bashrc" in listed
    assert not [name for name in (".ssh", ".netrc", "hosts.yml") if name in listed]
    facts = snapshot(lane.workspace)
    assert facts
    assert not [fact for fact in facts if KEY in fact.start]


async def test_a_key_behind_links_is_closed_too(lane: Lane, home: Path) -> None:
    (home / ".ssh").rename(home / "project" / "ssh-store")
    (home / ".ssh").symlink_to("project/ssh-store")
    (home / "project" / "link").symlink_to(home / ".ssh")
    for name in (".ssh/id_ed25519", "project/ssh-store/id_ed25519", "project/link/id_ed25519"):
        path = below(lane, home, name)
        assert "is closed to you" in (await lane.call("read_file", path=path)).text
        assert KEY not in (await lane.run(f"cat {path}")).text


async def test_a_failed_command_is_told_what_is_closed_and_what_to_do(
    lane: Lane, home: Path
) -> None:
    result = await lane.run(f"cat {below(lane, home, '.ssh/id_ed25519')}")
    assert "[~/.ssh is closed to you: it holds keys to other machines." in result.text
    assert ASK_THE_PERSON in result.text
    assert "closed to you" not in (await lane.run("python3 -c 'import os; os.environ[1]'")).text


# What runs at a login


@pytest.mark.parametrize(
    "name",
    [
        *(".bashrc", ".bash_profile", ".zshenv", ".config/fish/config.fish", ".gitconfig"),
        *(".ssh/authorized_keys", ".config/autostart/x.desktop", ".config/systemd/user/x.service"),
    ],
)
async def test_what_runs_at_a_login_cannot_be_written(lane: Lane, home: Path, name: str) -> None:
    path, folder = below(lane, home, name), below(lane, home, ".")
    before = (home / name).read_text() if (home / name).exists() else None
    result = await lane.call("write_file", path=path, content="evil")
    assert not result.receipt.ok
    assert ELSEWHERE in result.text or ASK_THE_PERSON in result.text
    for command in (
        f"mkdir -p $(dirname {path}); echo evil >> {path}",
        f"echo evil > new; mv -f new {path}",
        f"rm -f {path}; echo evil > {path}",
        f"mv {folder}/.config {folder}/.c2; mkdir -p $(dirname {path}); echo evil > {path}",
        f"rm -rf {folder}/.ssh; mkdir {folder}/.ssh; echo evil > {path}",
        f"ln -sf /tmp/x {path}",
    ):
        await lane.run(command)
        after = (home / name).read_text() if (home / name).exists() else None
        assert after == before, command
        assert not (home / name).is_symlink()
    assert (home / ".config" / "gh").is_dir()


async def test_what_runs_at_a_login_may_be_read(lane: Lane, home: Path) -> None:
    path = below(lane, home, ".bashrc")
    assert (await lane.call("read_file", path=path)).text == "# ann's own\n"
    assert "# ann's own" in (await lane.run(f"cat {path}")).text


async def test_a_start_up_file_behind_a_link_is_as_fast(lane: Lane, home: Path) -> None:
    (home / "project" / "dots").mkdir()
    (home / ".bashrc").rename(home / "project" / "dots" / "bashrc")
    (home / ".bashrc").symlink_to("project/dots/bashrc")
    real, project = below(lane, home, "project/dots/bashrc"), below(lane, home, "project")
    for path in (real, below(lane, home, ".bashrc")):
        assert ELSEWHERE in (await lane.call("write_file", path=path, content="evil")).text
    for command in (
        f"echo evil >> {real}",
        f"mv {project}/dots {project}/d2; mkdir {project}/dots; echo evil > {real}",
        f"mv {project} {project}2; mkdir -p {project}/dots; echo evil > {real}",
    ):
        await lane.run(command)
        assert (home / ".bashrc").read_text() == "# ann's own\n"


# What stays possible


async def test_all_else_in_a_home_folder_is_open(lane: Lane, home: Path) -> None:
    project = below(lane, home, "project")
    result = await lane.run(
        f"cd {project} && mkdir sub && echo hi > sub/a && mv sub/a notes.txt && rmdir sub"
    )
    assert result.receipt.ok, result.text
    assert (home / "project" / "notes.txt").read_text() == "hi\n"
    path = below(lane, home, "todo.txt")
    assert (await lane.call("write_file", path=path, content="x\n")).receipt.ok
    assert (await lane.run(f"echo y >> {path}; cat {path}")).text == "x\ny\n[exit code 0]"


async def test_a_command_that_would_make_something_in_the_home_folder_is_told_how(
    lane: Lane, home: Path
) -> None:
    result = await lane.run(f"touch {below(lane, home, 'new.txt')}")
    assert "make new files there with write_file, or work in a folder below it.]" in result.text


async def test_an_owner_opens_a_place_by_naming_it(home: Path, tmp_path: Path) -> None:
    options = replace(OPEN, extra=(home / ".config" / "gh", home / ".config" / "fish"))
    async with chat_in(home, tmp_path, options) as lane:
        assert (await lane.call("read_file", path=".config/gh/hosts.yml")).text == KEY
        assert KEY in (await lane.run("cat .config/gh/hosts.yml")).text
        done = await lane.run("echo mine > .config/fish/config.fish")
        assert done.receipt.ok, done.text
        assert "closed to you" in (await lane.call("read_file", path=".netrc")).text


@pytest.mark.parametrize("name", [".ssh", ".config/fish"])
async def test_a_guarded_place_is_no_workspace(home: Path, tmp_path: Path, name: str) -> None:
    async with chat_in(home / name, tmp_path) as lane:
        refused = await lane.run("ls")
        assert "`workspace.extra`" in refused.text
        assert not refused.receipt.ok
        assert not (await lane.call("write_file", path="a", content="x")).receipt.ok


async def test_a_project_below_the_home_folder_has_nothing_to_guard(
    home: Path, tmp_path: Path
) -> None:
    async with chat_in(home / "project", tmp_path) as lane:
        assert (await lane.call("write_file", path=".env", content="x\n")).receipt.ok
        assert (await lane.run("cat .env; echo y > .bashrc; mkdir .ssh")).receipt.ok


@pytest.mark.parametrize("table", [SECRET, START_UP])
def test_every_guarded_place_is_a_path_below_a_home_folder(
    table: Mapping[str, tuple[str, ...]],
) -> None:
    listed = [name for places in table.values() for name in places]
    assert len(listed) == len(set(listed))
    assert all(name.startswith(".") and ".." not in name for name in listed)
