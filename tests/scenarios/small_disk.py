"""Starts the real program on a disk of its own that a test can fill and empty.

    python -m tests.scenarios.small_disk CONFIG DATA MEGABYTES

Bubblewrap puts a small file system where DATA is. Each line on standard input is an order, each
answered by one line on standard output: `fill` takes all the space there is, `free` gives it
back, `stop` ends the program and says its exit code.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

INSIDE = "--inside"


def main() -> None:
    """Re-run in the sandbox, then serve orders."""
    if sys.argv[1] == INSIDE:
        _serve(Path(sys.argv[2]), Path(sys.argv[3]))
        return
    config, data, megabytes = sys.argv[1:]
    size = int(megabytes) * 2**20
    sandbox = ["bwrap", "--dev-bind", "/", "/", "--die-with-parent"]
    sandbox += ["--size", str(size), "--tmpfs", data, "--"]
    me = [sys.executable, "-m", "tests.scenarios.small_disk", INSIDE, config, data]
    os.execvp(sandbox[0], [*sandbox, *me])


def _serve(config: Path, data: Path) -> None:
    pursuit = Path(sys.executable).with_name("pursuit")
    command = [str(pursuit), "up", "--config", str(config), "--data", str(data)]
    program = subprocess.Popen(command)
    filler = data / "filler"
    for line in sys.stdin:
        match line.strip():
            case "fill":
                _answer(f"filled {_fill(filler)}")
            case "free":
                filler.unlink(missing_ok=True)
                _answer("freed")
            case _:
                program.send_signal(signal.SIGTERM)
                _answer(str(program.wait(timeout=30)))
                return


def _answer(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def _fill(filler: Path) -> int:
    """Write until nothing more fits; the bytes taken so far."""
    taken = os.open(filler, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        for size in (2**20, 2**12, 1):
            try:
                while os.write(taken, b"\0" * size):
                    pass
            except OSError:
                continue
    finally:
        os.close(taken)
    return filler.stat().st_size


if __name__ == "__main__":
    main()
