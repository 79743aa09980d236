"""`pursuit config … --json`: for programs, on standard output alone."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.test_cli import pursuit


def test_a_sound_configuration_is_told_as_json(tmp_path: Path) -> None:
    done = pursuit("config", "check", "--json", home=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"ok": True, "file": None, "problems": []}


def test_each_fault_is_an_object_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("goals: {max_turn: 3}\nlogs: {level: loud}\n", encoding="utf-8")
    done = pursuit("config", "check", "--json", "--config", str(file), home=tmp_path)
    report = json.loads(done.stdout)
    assert (done.returncode, done.stderr, report["ok"]) == (78, "", False)
    assert [p["key"] for p in report["problems"]] == ["goals.max_turn", "logs.level"]
    assert report["problems"][0]["where"] == f"{file}:1:9"


def test_the_settings_in_effect_are_shown_as_json_without_secrets(tmp_path: Path) -> None:
    environ = {"OPENAI_API_KEY": "sk-very-secret-indeed"}
    done = pursuit("config", "show", "--json", home=tmp_path, **environ)
    settings = json.loads(done.stdout)
    assert settings["goals"]["max_turns"] == 20
    assert settings["health"]["enabled"] is False
    assert "very-secret" not in done.stdout
