"""The benchmark's command runs through. The measures of time that start bots are left to
`make bench`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(
        command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=60
    )


def test_a_quick_run_of_one_measure_prints_a_table_and_writes_json(tmp_path: Path) -> None:
    told = tmp_path / "figures.json"
    done = run("help", "--quick", "--json", str(told), "--folder", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "pursuit --help" in done.stdout
    [figure] = json.loads(told.read_text())["figures"]
    assert figure["what"] == "pursuit --help"
    assert figure["ours"] > 0.0
    assert list(tmp_path.iterdir()) == [told]


def test_the_judges_share_is_read_from_the_books_of_real_delegations(tmp_path: Path) -> None:
    told = tmp_path / "figures.json"
    done = run("judge", "--quick", "--json", str(told), "--folder", str(tmp_path))
    assert done.returncode == 0, done.stderr
    share, agent, child, judge = json.loads(told.read_text())["figures"]
    whole = agent["ours"] + child["ours"] + judge["ours"]
    assert share["ours"] == pytest.approx(judge["ours"] / whole * 100)
    assert 0 < judge["ours"] < child["ours"]


def test_an_unknown_measure_is_refused_with_its_name() -> None:
    done = run("speed")
    assert done.returncode == 2
    assert "no such measure: speed" in done.stderr
