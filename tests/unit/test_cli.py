"""The command line's frame: help, version, usage errors, the config commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gateway.cli import COMMANDS, main
from gateway.settings.document import parse

CONFIG = """\
providers: {here: {base_url: "http://ann:pa55word@127.0.0.1:9/v1", api_key: hunter22-hunter22}}
models: {big: {provider: here, model: big-1}}
"""


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PURSUIT_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "CREDENTIALS_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)


def test_alone_it_prints_help_with_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    alone = capsys.readouterr().out
    assert main(["--help"]) == 0
    assert capsys.readouterr().out == alone
    for name, (_, summary) in COMMANDS.items():
        assert f"  {name}" in alone
        assert summary in alone


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_listed_command_exists_and_has_help(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: pursuit {name}")


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("pursuit 0.")


@pytest.mark.parametrize("line", ["upp", "--nope", "config nope", "up --log-level loud", "up x"])
def test_a_wrong_use_is_exit_code_2_on_standard_error(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.split()) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert "Error: " in streams.err


def test_a_mistyped_command_gets_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    main(["cofig"])
    assert "Did you mean 'config'?" in capsys.readouterr().err


def test_check_says_that_the_defaults_hold_without_a_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["config", "check"]) == 0
    assert "no configuration file" in capsys.readouterr().out


def test_check_names_the_valid_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.yaml").write_text(CONFIG, encoding="utf-8")
    assert main(["config", "check"]) == 0
    assert capsys.readouterr().out == f"✓ {tmp_path}/config.yaml is valid\n"


@pytest.mark.parametrize("command", ["config check", "config show", "up", "chat", "local pull"])
def test_a_bad_configuration_is_exit_code_78_and_all_its_faults(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("goals: {max_turn: 1}\nlanes: 5\n", encoding="utf-8")
    assert main([*command.split(), "--config", str(file)]) == 78
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.splitlines() == [
        f"{file}:1:9: goals.max_turn: unknown key; did you mean `goals.max_turns`?",
        f"{file}:2:1: lanes: expected a mapping of keys, found the number 5",
    ]


def test_show_prints_what_is_in_effect_without_secrets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.yaml").write_text(CONFIG, encoding="utf-8")
    monkeypatch.setenv("PURSUIT_GOALS__MAX_TURNS", "7")
    assert main(["config", "show"]) == 0
    out = capsys.readouterr().out
    assert "hunter22" not in out
    assert "pa55word" not in out
    values = parse(out, "shown").values
    assert values["goals"] == {
        "max_turns": 7,
        "max_tokens": None,
        "max_cost": None,
        "max_seconds": None,
    }


def test_show_masks_a_secret_among_a_models_own_fields(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    params = "params: {extra_headers: {x-api-key: hunter22}, max_tokens: 5, user: ann}"
    text = CONFIG.replace("model: big-1", f"model: big-1, {params}")
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
    assert main(["config", "show"]) == 0
    out = capsys.readouterr().out
    assert "hunter22" not in out
    assert "max_tokens: 5" in out
    assert "user: ann" in out


def test_what_show_prints_for_the_embedded_model_can_be_loaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["config", "show"])
    (tmp_path / "shown.yaml").write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["config", "check", "--config", str(tmp_path / "shown.yaml")]) == 0


def test_the_schema_is_json_that_editors_take(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) >= {"providers", "models", "goals", "platforms"}


@pytest.mark.parametrize("command", ["up", "chat", "local pull", "local serve"])
def test_a_data_folder_that_is_a_file_is_a_wrong_use(command: str, tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    assert main([*command.split(), "--data", str(tmp_path / "data")]) == 2
