"""The home folder of a runner: where nobody else can put or read anything, with or without a
sandbox."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adapters.workspace.options import WorkspaceOptions
from core.delegation.ports import RunnerEnd
from tests.e2e.runner_rig import BARE, PYTHON, Rig, open_rig

KEY = "sk-secret-of-the-runner"
PLANT = """
site=$({python} -m site --user-site)
mkdir -p $site
echo 'import os; open("stolen", "a").write(os.environ.get("API_KEY", ""))' > $site/usercustomize.py
echo 'echo "$API_KEY" >> stolen' > ~/.profile
{python} -c '' && test -e stolen && rm stolen
bash -lc true && test -e stolen && rm stolen
"""
BOTH = pytest.mark.parametrize("options", [WorkspaceOptions(), BARE], ids=["sandboxed", "bare"])


@BOTH
async def test_what_a_command_plants_in_its_home_never_runs_with_a_runners_secrets(
    tmp_path: Path, options: WorkspaceOptions
) -> None:
    async with open_rig(tmp_path, options) as rig:
        (rig.workspace / "plant.sh").write_text(PLANT.format(python=PYTHON))
        assert (planted := await rig.lane.run("sh plant.sh")).receipt.ok, planted.text
        for own in (rig.program("bash", "-lc", "echo done"), rig.program(PYTHON, "-c", "print()")):
            end = await rig.run("x", replace(own, env={**own.env, "API_KEY": KEY}))
            assert end.error == ""
        assert not (rig.workspace / "stolen").exists()


@BOTH
async def test_it_lasts_for_the_same_program_and_is_no_others(
    tmp_path: Path, options: WorkspaceOptions
) -> None:
    async with open_rig(tmp_path, options) as rig:
        writer = rig.program("sh", "-c", "echo mine >> ~/kept; cat ~/kept; stat -c %a ~")
        assert (await rig.run("x", writer)).text == "mine\n700"
        assert (await rig.run("x", writer)).text == "mine\nmine\n700"
        others = (
            replace(writer, env={**writer.env, "API_KEY": KEY}),
            replace(writer, command="/bin/sh"),
        )
        for other in others:
            assert (await rig.run("x", other)).text == "mine\n700"
        (elsewhere := tmp_path / "elsewhere").mkdir()
        moved = Rig(replace(rig.lane, workspace=elsewhere), rig.runners, rig.mark)
        assert (await moved.run("x", writer)).text == "mine\n700"


async def test_neither_commands_nor_tools_nor_other_runners_see_it(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        assert (await rig.run("x", rig.program("sh", "-c", "touch ~/kept"))).error == ""
        (home,) = (rig.lane.data / "runners").iterdir()
        look = f"ls {home} {home.parent} 2>&1; touch {home}/new 2>&1; true"
        assert "kept" not in (await rig.lane.run(look)).text
        assert "kept" not in (await rig.lane.call("list_files", path=str(home))).text
        assert "kept" not in (await rig.run("x", rig.program("/bin/sh", "-c", look))).text
        assert [path.name for path in home.iterdir()] == ["kept"]


async def test_a_workspace_that_holds_the_data_folder_shows_the_runner_its_own_home_alone(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        wide = Rig(replace(rig.lane, workspace=tmp_path), rig.runners)
        assert (await wide.run("x", rig.program("sh", "-c", "touch ~/first"))).error == ""
        look = f"touch ~/second; ls {rig.lane.data}; ls {rig.lane.data}/runners | wc -l; ls ~"
        end = await wide.run("x", rig.program("/bin/sh", "-c", look))
        assert end == RunnerEnd("runners\n1\nsecond")
