"""Writes the labelled rows: `python -m gateway.evals.generate`. The files are kept, so that a
score is of rows that anybody can read; a test holds them to this code."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.evals import attacks, checks, contradictions
from gateway.evals.rows import FOLDER, Rows, dump


def texts() -> Mapping[Rows, str]:
    """What each file holds."""
    return {
        Rows.CHECKS: dump(checks.rows()),
        Rows.RECEIPTS: dump(contradictions.rows()),
        Rows.ATTACKS: dump(attacks.rows()),
        Rows.CONTROLS: dump(attacks.controls()),
    }


def write() -> None:
    """Write the files."""
    for name, text in texts().items():
        (FOLDER / f"{name}.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
