"""The log: where it goes, its form, and what is never in it."""

from __future__ import annotations

import io
import json
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from gateway.logs import LOG_FILE, configure_logs
from gateway.redact import MASK, Redactor
from gateway.settings.schema import Logs

TOKEN = "hunter22-hunter22"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _logging_restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    for handler in root.handlers:
        if handler not in handlers:
            handler.close()
    root.handlers, root.level = handlers, level
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_off_a_terminal_each_event_is_one_line_of_json() -> None:
    stream = io.StringIO()
    configure_logs(Logs(), Redactor(), stream)
    structlog.get_logger("gateway.lanes").info("turn ended", lane="a|b", steps=3)
    logging.getLogger("adapters.x").warning("slow %s", "disk", extra={"after_s": 2})
    ours, theirs = lines(stream)
    assert ours["event"] == "turn ended"
    assert (ours["lane"], ours["steps"], ours["level"]) == ("a|b", 3, "info")
    assert ours["logger"] == "gateway.lanes"
    assert str(ours["timestamp"]).endswith("Z")
    assert (theirs["event"], theirs["after_s"]) == ("slow disk", 2)


def test_on_a_terminal_it_is_for_reading() -> None:
    stream = Terminal()
    configure_logs(Logs(), Redactor(), stream)
    structlog.get_logger().info("turn ended")
    assert "turn ended" in stream.getvalue()
    assert not stream.getvalue().startswith("{")


def test_the_format_can_be_chosen() -> None:
    stream = Terminal()
    configure_logs(Logs(format="json"), Redactor(), stream)
    structlog.get_logger().info("turn ended")
    assert lines(stream)[0]["event"] == "turn ended"


def test_less_than_the_level_is_not_logged() -> None:
    stream = io.StringIO()
    configure_logs(Logs(level="warning"), Redactor(), stream)
    structlog.get_logger().info("no")
    logging.getLogger("x").info("no")
    structlog.get_logger().warning("yes")
    assert [line["event"] for line in lines(stream)] == ["yes"]


@pytest.mark.parametrize("name", ["httpx", "httpx2", "openai", "telegram.ext.Updater"])
def test_chatty_libraries_are_heard_from_warning_on(name: str) -> None:
    stream = io.StringIO()
    configure_logs(Logs(level="debug"), Redactor(), stream)
    logging.getLogger(name).info("HTTP Request: POST https://api.telegram.org/bot123:x/getMe")
    logging.getLogger(name).warning("connection lost")
    assert [line["event"] for line in lines(stream)] == ["connection lost"]


def _raise_with_the_token() -> None:
    raise ValueError(f"refused: {TOKEN}")


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_secret_is_logged_in_whatever_way_it_comes(form: str) -> None:
    stream = io.StringIO()
    configure_logs(Logs.model_validate({"format": form}), Redactor([TOKEN, 'quo"te\\d']), stream)
    log = structlog.get_logger()
    log.info(f"token {TOKEN}", url=f"http://x/bot{TOKEN}/getMe", deep={"a": [TOKEN, (TOKEN,)]})
    log.info("an object", error=ValueError(TOKEN), quoted='quo"te\\d')
    logging.getLogger("lib").error("failed with %s", TOKEN, extra={"key": TOKEN})
    try:
        _raise_with_the_token()
    except ValueError:
        log.exception("it failed")
        logging.getLogger("lib").exception("it failed")
    text = stream.getvalue()
    assert TOKEN not in text
    assert "te\\d" not in text
    assert text.count(MASK) >= 9
    assert "ValueError: refused: [redacted]" in text


def test_control_characters_cannot_steer_the_terminal() -> None:
    stream = Terminal()
    configure_logs(Logs(), Redactor(), stream)
    structlog.get_logger().info("said", text="\x1b[2Jgone\r\x9b", lines="a\nb")
    assert "\x1b[2J" not in stream.getvalue()
    assert "\r" not in stream.getvalue()


def test_warnings_of_python_are_logged() -> None:
    stream = io.StringIO()
    configure_logs(Logs(), Redactor(), stream)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=False)
        logging.captureWarnings(capture=True)
        warnings.warn(f"old {TOKEN}", stacklevel=1)
    assert lines(stream)[0]["logger"] == "py.warnings"


def test_a_file_is_private_and_holds_json(tmp_path: Path) -> None:
    file = tmp_path / LOG_FILE
    configure_logs(Logs(), Redactor([TOKEN]), file)
    structlog.get_logger().info("to the file", token=TOKEN)
    logged = json.loads(file.read_text(encoding="utf-8"))
    assert logged["token"] == MASK
    assert file.stat().st_mode & 0o777 == 0o600


def test_configuring_again_replaces_the_first_place(tmp_path: Path) -> None:
    first, second = io.StringIO(), io.StringIO()
    configure_logs(Logs(), Redactor(), first)
    configure_logs(Logs(), Redactor(), second)
    structlog.get_logger().info("once")
    assert first.getvalue() == ""
    assert len(lines(second)) == 1
