"""Logging: structlog over the standard library, every line redacted.

Standard output is for answers, so the log goes to standard error, or to a file while a chat
holds the terminal.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, MutableMapping
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TextIO

import structlog
from structlog.types import Processor

from gateway.redact import Redactor
from gateway.settings.schema import Logs

LOG_FILE = "pursuit.log"
_LARGEST = 10 << 20
_CHATTY = (
    "aiohttp",
    "asyncio",
    "discord",
    "httpcore",
    "httpcore2",
    "httpx",
    "httpx2",
    "openai",
    "slack_bolt",
    "slack_sdk",
    "telegram",
)
"""Libraries whose INFO is noise, or worse: httpx logs URLs with Telegram's token in them."""

_CONTROLS = {
    code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if code not in {9, 10}
}
"""A terminal obeys these; what people and models wrote must not steer it."""


class _Redacting(logging.Formatter):
    """Redacts the finished line, whatever made it."""

    def __init__(self, inner: logging.Formatter, redact: Redactor) -> None:
        super().__init__()
        self._inner = inner
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """One line (a traceback has more), without secrets."""
        return self._redact(self._inner.format(record))


def configure_logs(settings: Logs, redact: Redactor, to: TextIO | Path | None = None) -> None:
    """Send all logging to `to` (default: standard error), each call anew.

    A path is a file that is kept to 10 MB with two older ones. Raises OSError when it cannot be
    opened.
    """
    handler = _handler(to)
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        _Values(redact),
    ]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*shared[:3], structlog.stdlib.ExtraAdder(), *shared[4:]],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            _renderer(settings, to),
        ],
    )
    handler.setFormatter(_Redacting(formatter, redact))
    _install(handler, settings.level.upper())
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


class _Values:
    """Redacts before rendering, where quoting and escaping do not hide a secret yet."""

    def __init__(self, redact: Redactor) -> None:
        self._redact = redact

    def __call__(
        self, _logger: object, _method: str, event: MutableMapping[str, object]
    ) -> MutableMapping[str, object]:
        return {
            key: value if key[0] == "_" else self._clean(value) for key, value in event.items()
        }

    def _clean(self, value: object) -> object:
        match value:
            case None | bool() | int() | float():
                return value
            case str():
                return self._redact(value.translate(_CONTROLS))
            case Mapping():
                return {str(key): self._clean(item) for key, item in value.items()}
            case list() | tuple():
                return [self._clean(item) for item in value]
            case _:
                return self._redact(repr(value))


def _handler(to: TextIO | Path | None) -> logging.Handler:
    if not isinstance(to, Path):
        return logging.StreamHandler(to or sys.stderr)
    to.touch(mode=0o600)
    return RotatingFileHandler(to, maxBytes=_LARGEST, backupCount=2, encoding="utf-8")


def _renderer(settings: Logs, to: TextIO | Path | None) -> Processor:
    stream = None if isinstance(to, Path) else to or sys.stderr
    terminal = stream is not None and stream.isatty()
    if settings.format == "console" or (settings.format == "auto" and terminal):
        return structlog.dev.ConsoleRenderer(
            colors=terminal, exception_formatter=structlog.dev.plain_traceback
        )
    return structlog.processors.JSONRenderer(ensure_ascii=False)


def _install(handler: logging.Handler, level: str) -> None:
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    root.setLevel(level)
    logging.captureWarnings(capture=True)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
