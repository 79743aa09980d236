"""The commands of the verify gate, in the workspace's real sandbox."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.workspace.gates import WorkspaceCommands
from adapters.workspace.options import Danger, WorkspaceOptions
from core.gates.ports import CommandEnd, Commands
from core.messages import Address, PlatformName
from tests.e2e.workspace_lane import Lane, open_lane
from tests.scenarios.rig import eventually, nap, processes


@pytest.fixture
async def lane(tmp_path: Path) -> AsyncIterator[Lane]:
    async with open_lane(tmp_path, WorkspaceOptions(timeout_s=2)) as lane:
        yield lane


def commands(lane: Lane) -> Commands:
    return WorkspaceCommands(lane.tools.terminal)


async def run(lane: Lane, command: str) -> CommandEnd:
    return await commands(lane).run(lane.context(), command)


async def test_a_command_ends_with_its_code_and_what_it_printed(lane: Lane) -> None:
    (lane.workspace / "a.txt").write_text("hello")
    assert await run(lane, "cat a.txt") == CommandEnd(0, "hello")
    failed = await run(lane, "echo out; echo err >&2; exit 3")
    assert (failed.exit_code, failed.started) == (3, True)
    assert failed.output.split() == ["out", "err"]


async def test_it_runs_in_the_sandbox(lane: Lane) -> None:
    seen = await run(lane, f"cat {lane.data}/secret.txt")
    assert seen.exit_code == 1
    assert "token" not in seen.output


async def test_a_command_has_the_time_of_the_settings(lane: Lane) -> None:
    sleep = nap()
    ended = await run(lane, f"echo begun; {sleep}")
    assert (ended.exit_code, ended.started) == (None, True)
    assert ended.output.startswith("begun")
    assert not processes(sleep)


async def test_no_policy_looks_at_what_an_owner_has_chosen(tmp_path: Path) -> None:
    dangerous = "git push --force origin main"
    options = WorkspaceOptions(dangerous=Danger.REFUSE)
    async with open_lane(tmp_path, options) as lane:
        assert "Refused" in (await lane.run(dangerous)).text
        ended = await run(lane, dangerous)
        assert ended.started
        assert ended.exit_code != 0


async def test_where_no_sandbox_can_be_had_nothing_runs(tmp_path: Path) -> None:
    async with open_lane(tmp_path, WorkspaceOptions(bwrap="no-such-bwrap")) as lane:
        ended = await run(lane, "echo ran > ran.txt")
        assert (ended.exit_code, ended.started) == (None, False)
        assert "no-such-bwrap" in ended.output
        assert not (lane.workspace / "ran.txt").exists()


async def test_in_a_guarded_place_nothing_runs(tmp_path: Path) -> None:
    async with open_lane(tmp_path, WorkspaceOptions()) as lane:
        context = replace(lane.context(), workspace=Path.home() / ".ssh")
        ended = await commands(lane).run(context, "true")
        assert not ended.started


async def test_a_lane_is_busy_while_its_background_process_lives(lane: Lane) -> None:
    assert not commands(lane).busy(lane.context())
    await lane.run(nap(), background=True)
    assert commands(lane).busy(lane.context())
    elsewhere = Address(PlatformName.CONSOLE, "bot", "other")
    same_folder = replace(lane.context(), address=elsewhere)
    assert commands(lane).busy(same_folder)
    assert not commands(lane).busy(replace(same_folder, workspace=lane.data))
    await lane.call("processes", action="kill", id="p1")
    await eventually(lambda: not commands(lane).busy(lane.context()))
