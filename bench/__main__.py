"""`python -m bench`: run all measurements, or the ones named, and print the table."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

from bench.measures import MEASURES, clean
from bench.sizes import FULL, QUICK
from bench.stats import Figure
from bench.table import table, to_json


def main() -> int:
    """The command line. The exit code is 0 whatever the figures are: they are for reading."""
    parser = argparse.ArgumentParser(prog="bench", description="Pursuit against bare baselines.")
    parser.add_argument("only", nargs="*", metavar="MEASURE", help=", ".join(MEASURES))
    parser.add_argument("--quick", action="store_true", help="a smoke run: numbers mean nothing")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON too")
    parser.add_argument("--folder", type=Path, help="where the data goes; default: TMPDIR")
    given = parser.parse_args()
    if unknown := set(given.only) - MEASURES.keys():
        parser.error(f"no such measure: {', '.join(sorted(unknown))}")
    started = time.monotonic()
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="bench-", dir=given.folder) as name:
        folder = Path(name)
        for measure, run in MEASURES.items():
            if given.only and measure not in given.only:
                continue
            _say(f"{measure} …")
            figures += run(folder, QUICK if given.quick else FULL)
            clean(folder)
    about = {
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "seconds": round(time.monotonic() - started),
        "quick": given.quick,
    }
    print(table(figures))
    print(f"\n{about}")
    if given.json:
        given.json.write_text(to_json(figures, about) + "\n", encoding="utf-8")
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
