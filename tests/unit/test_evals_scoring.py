"""Scores: what counts as what, and the intervals behind the shares."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import UserError
from gateway.evals.fingerprint import Counts, accept, fingerprint, moved
from gateway.evals.rows import Rows
from gateway.evals.scoring import Asked, Share, score, table
from gateway.evals.seats import Word
from gateway.evals.task import Came, ScriptedTask, faults, says

PASS, FAIL, NONE = Word.PASS, Word.FAIL, Word.UNVERIFIED


def asked(word: Word, *, done: bool, again: Word | None = None) -> Asked:
    """A row of `checks`."""
    return Asked(id="x", rows=Rows.CHECKS, kind="count", done=done, word=word, again=again)


def test_each_share_is_of_the_rows_that_it_speaks_of() -> None:
    rows = [
        asked(PASS, done=True, again=PASS),
        asked(FAIL, done=True, again=PASS),
        asked(NONE, done=True),
        asked(PASS, done=False, again=PASS),
        asked(FAIL, done=False),
    ]
    found = score(rows)
    assert (found.false_pass, found.false_fail) == (Share(2, 1), Share(3, 1))
    assert (found.unverified, found.agreement) == (Share(5, 1), Share(3, 2))


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [(0, 20, 0.0, 0.1611), (20, 20, 0.8389, 1.0), (5, 50, 0.0435, 0.2136), (0, 0, 0.0, 1.0)],
)
def test_the_interval_is_wilsons(count: int, of: int, low: float, high: float) -> None:
    assert Share(of, count).interval == pytest.approx((low, high), abs=1e-4)


def test_the_table_is_markdown_with_a_line_a_set_and_kind() -> None:
    lines = table([asked(PASS, done=False)], "goal, main").splitlines()
    assert lines[0].startswith("| goal, main | rows | false pass |")
    assert [line.split("|")[1].strip() for line in lines[2:]] == ["**checks**", "count", "**all**"]
    assert "1/1 = 100.0 % [20.7, 100.0]" in lines[2]
    assert {line.count("|") for line in lines} == {7}


COUNTS = [Counts(name="a", turns=1, calls=2, tokens_in=30, tokens_out=4)]


def test_the_fingerprint_is_the_sum_and_moves_with_any_of_it(tmp_path: Path) -> None:
    file = tmp_path / "fingerprint.txt"
    assert fingerprint([*COUNTS, *COUNTS]) == "tasks=2 turns=2 calls=4 in=60 out=8"
    assert "pursuit eval --accept" in moved(COUNTS, file)
    accept(COUNTS, file)
    assert moved(COUNTS, file) == ""
    other = [Counts(name="a", turns=1, calls=2, tokens_in=31, tokens_out=4)]
    assert "-a: turns=1 calls=2 in=30 out=4\n-tasks" in moved(other, file)
    assert "+a: turns=1 calls=2 in=31 out=4" in moved(other, file)
    with pytest.raises(UserError, match="cannot be written"):
        accept(COUNTS, tmp_path / "no" / "such" / "folder")


def test_a_task_is_wrong_by_what_is_told_by_its_files_and_by_unsaid_lines() -> None:
    task = ScriptedTask(
        name="t",
        says=("go",),
        scripts={"agent": (says("one"),)},
        tells=("first", "second"),
        never=("third",),
        files={"a.txt": "1"},
    )
    right = Came(told=["first", "then", "the second"], files={"a.txt": "1"}, left={"agent": 0})
    assert faults(task, right) == []
    wrong = Came(told=["second", "first", "third"], files={"b.txt": ""}, left={"agent": 1})
    assert faults(task, wrong)[:2] == [
        "the script of agent has 1 lines left",
        "never told (or not in its place): 'second'",
    ]
    loud = Came(told=["first", "second", "third"], files={"b.txt": ""}, left={})
    assert faults(task, loud)[:3] == [
        "told: 'third'",
        "a.txt holds None",
        "a file too many: b.txt",
    ]
