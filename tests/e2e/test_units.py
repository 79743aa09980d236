"""The unit files: what is shipped, how strict it is, and what `pursuit service install` writes."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from core.errors import UserError
from gateway.cli.service import service
from gateway.cli.start import hidden
from gateway.service.install import (
    Installation,
    check_visible,
    for_system,
    for_user,
    install,
)
from gateway.service.unit import (
    DROP_IN,
    ENVIRONMENT,
    SANDBOX,
    SYSUSERS,
    Start,
    system_unit,
    user_unit,
)

SYSTEMD = Path(__file__).parents[2] / "systemd"
SHIPPED = SYSTEMD / "pursuit.service"
RUNNING = Path(__file__).parents[2] / "docs" / "running.md"


def exposure(unit: Path) -> float:
    """What systemd thinks of a unit and the drop-ins beside it: 0 is best, 10 worst."""
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"Overall exposure level for .*: ([0-9.]+)", done.stdout)
    assert found is not None, done.stderr
    return float(found[1])


def complaints(unit: Path) -> list[str]:
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    mine = [line for line in done.stderr.splitlines() if "pursuit.service" in line]
    return [line for line in mine if "is not executable" not in line]


def test_the_unit_is_strict_as_it_is_shipped() -> None:
    assert exposure(SHIPPED) <= 1.5


def test_with_the_sandbox_allowed_it_is_still_tight(tmp_path: Path) -> None:
    shutil.copy(SHIPPED, tmp_path)
    shutil.copytree(SYSTEMD / "allow-sandbox", tmp_path, dirs_exist_ok=True)
    assert (tmp_path / DROP_IN).exists()
    assert 1.5 < exposure(tmp_path / "pursuit.service") <= 3.0


def test_systemd_understands_every_line(tmp_path: Path) -> None:
    assert complaints(SHIPPED) == []
    unit = tmp_path / "pursuit.service"
    unit.write_text(user_unit(Start(program=Path("/bin/true"))), encoding="utf-8")
    assert complaints(unit) == []


def test_what_is_shipped_is_what_is_installed() -> None:
    assert SHIPPED.read_text(encoding="utf-8") == system_unit(Start())
    assert (SYSTEMD / "allow-sandbox" / DROP_IN).read_text(encoding="utf-8") == SANDBOX
    assert (SYSTEMD / "pursuit.sysusers").read_text(encoding="utf-8") == SYSUSERS


def test_the_machines_service_is_written_below_a_root(tmp_path: Path) -> None:
    line = ["install", "--root", str(tmp_path), "--config", "/etc/pursuit/config.yaml"]
    result = CliRunner().invoke(service, line)
    assert result.exit_code == 0, result.output
    folder = tmp_path / "etc" / "systemd" / "system"
    unit = (folder / "pursuit.service").read_text(encoding="utf-8")
    assert re.search(r"(?m)^ExecStart=/\S+/pursuit up --config /etc/pursuit/config\.yaml$", unit)
    assert (folder / DROP_IN).read_text(encoding="utf-8") == SANDBOX
    assert (tmp_path / "etc/pursuit/credentials").stat().st_mode & 0o777 == 0o700
    assert "systemctl enable --now pursuit" in result.output
    assert CliRunner().invoke(service, line).exit_code == 0  # again, as after an upgrade


def test_a_strict_installation_leaves_the_drop_in_out(tmp_path: Path) -> None:
    result = CliRunner().invoke(service, ["install", "--strict", "--root", str(tmp_path)])
    assert result.exit_code == 0
    assert not (tmp_path / "etc/systemd/system" / DROP_IN).exists()


def test_print_shows_the_files_and_writes_nothing(tmp_path: Path) -> None:
    result = CliRunner().invoke(service, ["install", "--print", "--root", str(tmp_path)])
    assert "WatchdogSec=120" in result.output
    assert "RestrictNamespaces=cgroup ipc net mnt pid user uts" in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_users_own_service_is_written_where_their_manager_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    result = CliRunner().invoke(service, ["install", "--user"])
    assert result.exit_code == 0, result.output
    unit = (tmp_path / "systemd/user/pursuit.service").read_text(encoding="utf-8")
    assert f"--config {tmp_path}/pursuit/config.yaml" in unit
    assert "User=" not in unit
    assert "systemctl --user enable --now pursuit" in result.output


def test_somebody_elses_unit_is_not_overwritten(tmp_path: Path) -> None:
    what = for_user(Start(), tmp_path)
    [unit] = what.files
    unit.parent.mkdir(parents=True)
    unit.write_text("[Unit]\nDescription=mine\n")
    with pytest.raises(UserError, match="was not written by Pursuit"):
        install(what)
    assert "mine" in unit.read_text()


def test_a_program_in_a_home_folder_is_refused_with_the_ways_out() -> None:
    with pytest.raises(UserError, match=r"/opt/pursuit.*--user"):
        check_visible(Start(program=Path("/home/ann/.venv/bin/pursuit")))


def test_paths_with_blanks_and_percents_survive_systemds_reading() -> None:
    start = Start(program=Path("/opt/a b/pursuit"), config=Path("/etc/100%/$c.yaml"))
    assert 'ExecStart="/opt/a b/pursuit" up --config /etc/100%%/$$c.yaml\n' in system_unit(start)


def test_secrets_reach_the_service_as_credentials_that_are_settings() -> None:
    unit = system_unit(Start())
    [(name, folder)] = re.findall(r"(?m)^LoadCredential=(\w+):(\S+)$", unit)
    # systemd names each file of a folder ID_FILE, which is what the settings take.
    assert f"{name}_platforms__telegram__token" == "pursuit_platforms__telegram__token"
    assert Path(folder) in for_system(Start(), sandbox=True).folders


def check_step(what: Installation) -> list[str]:
    """The words of the printed command that checks the configuration."""
    [step] = [step for step in what.next_steps if " config check " in step]
    return shlex.split(step)


def test_the_printed_check_has_the_services_user_and_credentials() -> None:
    words = check_step(for_system(Start(), sandbox=True))
    asked = {words[at + 1] for at, word in enumerate(words) if word == "-p"}
    unit = system_unit(Start()).splitlines()
    assert {name.partition("=")[0] for name in asked} == {"User", "LoadCredential"}
    assert asked <= set(unit)
    page = " ".join(RUNNING.read_text(encoding="utf-8").replace("\\\n", "").split())
    assert page.count(f"sudo {shlex.join(words)}") == 2


def test_the_printed_check_finds_a_token_that_is_a_credential(tmp_path: Path) -> None:
    config, given = tmp_path / "a config.yaml", tmp_path / "credentials"
    config.write_text(
        "platforms: {telegram: {enabled: true}}\naccess: {telegram: {owners: [1]}}\n"
    )
    given.mkdir()
    start = Start(program=Path(sys.executable).with_name("pursuit"), config=config)
    words = check_step(for_system(start, sandbox=True))
    line = words[words.index(str(start.program)) :]
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}

    def checked() -> int:
        environ["CREDENTIALS_DIRECTORY"] = str(given)  # as systemd-run does it
        return subprocess.run(line, env=environ, capture_output=True, check=False).returncode

    assert checked() == 78
    (given / "pursuit_platforms__telegram__token").write_text("123456:abc\n")
    assert checked() == 0


def test_a_users_own_service_takes_the_variables_that_the_printed_steps_keep(
    tmp_path: Path,
) -> None:
    what = for_user(Start(), tmp_path / ".config")
    [unit] = what.files.values()
    [file] = re.findall(r"(?m)^EnvironmentFile=-%h/(\S+)$", unit)
    steps = [step for step in what.next_steps if f"~/{file}" in step and step[0] != "#"]
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TELEGRAM_BOT_TOKEN": "1:abc"}
    for step in steps:
        subprocess.run(["/bin/sh", "-ec", f"umask 022; {step}"], env=environ, check=True)
    kept = tmp_path / file
    assert kept.read_text() == "TELEGRAM_BOT_TOKEN=1:abc\n"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    page = RUNNING.read_text(encoding="utf-8")
    assert [step for step in steps if step not in page] == []


def test_the_agent_does_not_see_the_variables_of_a_users_own_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert tmp_path / ENVIRONMENT in hidden(None)
