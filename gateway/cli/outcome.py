"""How a command ends: the error's words on standard error, and the exit code.

Codes: 0 done, 1 a fault was found, 2 usage, and those of sysexits: 69 something needed is not
there, 70 a bug, 75 try again later, 77 permission, 78 configuration; 130 interrupted.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from types import TracebackType

import click

from core.errors import Misconfigured, PursuitError, TransientError
from gateway.errors import ConfigError, NoPermission
from gateway.redact import Redactor

UNAVAILABLE, BUG, TRY_LATER, NO_PERMISSION, BAD_CONFIG, INTERRUPTED = 69, 70, 75, 77, 78, 130


class Outcome:
    """Entered round a command: turns whatever it raises into `code`, and says it once."""

    def __init__(self) -> None:
        self.code = 0

    def __enter__(self) -> Outcome:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if error is None:
            return True
        match list(_leaves(error)):
            case [click.ClickException() as usage]:
                usage.show()
                self.code = usage.exit_code
            case [click.Abort() | KeyboardInterrupt(), *_]:
                click.echo("Interrupted.", err=True)
                self.code = INTERRUPTED
            case [PursuitError(), *_] as leaves if all(
                isinstance(e, PursuitError) for e in leaves
            ):
                click.echo(Redactor()("\n".join(dict.fromkeys(map(str, leaves)))), err=True)
                self.code = _code(leaves[0])
            case leaves if all(isinstance(leaf, Exception) for leaf in leaves):
                _tell_bug(error)
                self.code = BUG
            case _:
                return False
        return True


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group, or the error alone: a TaskGroup wraps what its tasks raise."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _code(error: BaseException) -> int:
    match error:
        case ConfigError() | Misconfigured():
            return BAD_CONFIG
        case NoPermission():
            return NO_PERMISSION
        case TransientError():
            return TRY_LATER
        case _:
            return UNAVAILABLE


def _tell_bug(error: BaseException) -> None:
    """Put the traceback into the log, and one line about it on standard error."""
    root = logging.getLogger()
    if root.handlers:
        logging.getLogger("gateway.cli").critical("unexpected error", exc_info=error)
    else:
        click.echo(Redactor()("".join(traceback.format_exception(error))), err=True, nl=False)
    files = [h.baseFilename for h in root.handlers if isinstance(h, logging.FileHandler)]
    place = files[0] if files else "above"
    name = type(next(_leaves(error))).__name__
    click.echo(f"Pursuit stopped on a fault of its own ({name}). The log is {place}.", err=True)
