"""Starts the real program again and again, each time as a process of its own that may be killed.

    python -m tests.e2e.kill_entry SETTINGS.json DATA LOG

Everything is imported once, and each start is a fork of that, so that it costs what the program
does and not what Python's imports do. Each line on standard input is a start; the answers are
`started PID` and, when that process has ended in whatever way, `ended STATUS`.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from pathlib import Path

from gateway.compose.run import Choices, run
from gateway.compose.telegram import telegram
from gateway.logs import configure_logs
from gateway.redact import Redactor
from gateway.settings import Settings, secrets_of

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    """Serve standard input until it ends."""
    _die_with_parent()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # what a kill leaves behind is ours
    settings = Settings.model_validate(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    data, log = Path(sys.argv[2]), Path(sys.argv[3])
    while sys.stdin.readline():
        pid = os.fork()
        if not pid:
            _become_the_program(settings, data, log)
        _tell(f"started {pid}")
        _, status = os.waitpid(pid, 0)
        _tell(f"ended {os.waitstatus_to_exitcode(status)}")


def _die_with_parent() -> None:
    """A test that is killed itself leaves nothing behind."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _become_the_program(settings: Settings, data: Path, log: Path) -> None:
    """Never returns."""
    _die_with_parent()
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(out, 2)
    status = 70
    try:
        configure_logs(settings.logs, Redactor(secrets_of(settings)))
        status = run(settings, data, Choices(platforms=(telegram,)))
    except BaseException:  # noqa: BLE001 - the log must say why a start failed
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
