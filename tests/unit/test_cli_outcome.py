"""How a command's end becomes an exit code and words on standard error."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from core.errors import Misconfigured, PermanentError, TransientError, UserError
from gateway.cli.outcome import Outcome
from gateway.errors import ConfigError, NoPermission, Problem


def ended(error: BaseException) -> int:
    with Outcome() as outcome:
        raise error
    return outcome.code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UserError("no model"), 69),
        (PermanentError("token revoked"), 69),
        (TransientError("busy"), 75),
        (NoPermission("denied"), 77),
        (ConfigError([Problem("c.yaml:1:1", "goals", "unknown key")]), 78),
        (Misconfigured("The token is refused."), 78),
        (ExceptionGroup("platform", [Misconfigured("The intent is off.")]), 78),
        (click.UsageError("no such option"), 2),
        (click.Abort(), 130),
        (KeyboardInterrupt(), 130),
        (ValueError("a bug"), 70),
        (ExceptionGroup("tasks", [ValueError("a bug")]), 70),
        (ExceptionGroup("tasks", [ExceptionGroup("inner", [UserError("no model")])]), 69),
        (BaseExceptionGroup("tasks", [KeyboardInterrupt()]), 130),
    ],
)
def test_each_kind_of_end_has_its_exit_code(error: BaseException, code: int) -> None:
    assert ended(error) == code


def test_a_good_end_is_code_zero() -> None:
    with Outcome() as outcome:
        pass
    assert outcome.code == 0


def test_an_expected_error_is_its_text_and_no_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ended(ExceptionGroup("tasks", [UserError("Set a model."), UserError("Set a model.")]))
    streams = capsys.readouterr()
    assert (streams.out, streams.err) == ("", "Set a model.\n")


def test_an_interruption_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    ended(KeyboardInterrupt())
    assert capsys.readouterr().err == "Interrupted.\n"


def test_a_bug_hides_behind_no_expected_error(caplog: pytest.LogCaptureFixture) -> None:
    assert ended(ExceptionGroup("tasks", [UserError("Set a model."), ValueError("a bug")])) == 70
    assert "ValueError: a bug" in caplog.text


@contextmanager
def logging_to(*handlers: logging.Handler) -> Iterator[None]:
    root = logging.getLogger()
    before, root.handlers = root.handlers, list(handlers)
    try:
        yield
    finally:
        root.handlers = before
        for handler in handlers:
            handler.close()


def test_a_bugs_traceback_shows_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to():
        ended(ValueError("refused Bearer abcdef0123456789"))
    err = capsys.readouterr().err
    assert "abcdef0123456789" not in err
    assert err.endswith("Pursuit stopped on a fault of its own (ValueError). The log is above.\n")


def test_a_bug_says_which_file_has_the_log(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "pursuit.log"
    with logging_to(logging.FileHandler(file, encoding="utf-8")):
        ended(ValueError("a bug"))
    assert f"The log is {file}." in capsys.readouterr().err
    assert "ValueError: a bug" in file.read_text(encoding="utf-8")


def test_an_exit_is_passed_on() -> None:
    with pytest.raises(SystemExit):
        ended(SystemExit(3))
