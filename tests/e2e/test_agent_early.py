"""A task that is given up while the program is still being made."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from adapters.scripted_model.model import ScriptedModel
from gateway.compose.agent import Task, run_task
from gateway.compose.run import Choices
from gateway.headless.report import Report
from gateway.headless.result import Spent, Status
from gateway.headless.stop import Stop
from gateway.settings import Settings

SETTINGS = Settings.model_validate(
    {
        "providers": {"script": {"base_url": "http://127.0.0.1:9/v1", "api_key": "none"}},
        "models": {"main": {"provider": "script", "model": "main"}},
        "agent": {"model": "main"},
        "workspace": {"sandbox": "none"},
    }
)


def test_a_stop_before_anything_is_open_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, work = tmp_path / "tmp", tmp_path / "work"
    place.mkdir()
    work.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    stop = Stop()
    stop.ask()
    report = Report(tell=lambda *_: None, redact=lambda text: text)
    choices = Choices(cast=lambda choice: ScriptedModel(choice.name, (), context_tokens=9_000))
    spent = run_task(SETTINGS, Task(lines=("do it",), folder=work, stop=stop), report, choices)
    assert (spent, report.result.status) == (Spent(), Status.STOPPED)
    assert list(place.iterdir()) == []
