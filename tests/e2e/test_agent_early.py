"""A task that is given up while the program is still being made."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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


@contextmanager
def temporary_files_in(place: Path) -> Iterator[None]:
    """Have this process's temporary files made there while the block runs."""
    before, tempfile.tempdir = tempfile.tempdir, str(place)
    try:
        yield
    finally:
        tempfile.tempdir = before


def test_a_stop_before_anything_is_open_leaves_no_folder(tmp_path: Path) -> None:
    place, work = tmp_path / "tmp", tmp_path / "work"
    place.mkdir()
    work.mkdir()
    stop = Stop()
    stop.ask()
    report = Report(tell=lambda *_: None, redact=lambda text: text)
    choices = Choices(cast=lambda choice: ScriptedModel(choice.name, (), context_tokens=9_000))
    task = Task(lines=("do it",), folder=work, stop=stop)
    with temporary_files_in(place):
        spent = run_task(SETTINGS, task, report, choices)
    assert (spent, report.result.status) == (Spent(), Status.STOPPED)
    assert list(place.iterdir()) == []
