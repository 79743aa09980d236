"""Scores: what counts as what, and the intervals behind the shares."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import UserError
from gateway.evals.fingerprint import Counts, accept, fingerprint, moved
from gateway.evals.results import Results
from gateway.evals.rows import Rows, kept
from gateway.evals.scoring import Asked, Share, score, table
from gateway.evals.seats import Seat
from gateway.evals.task import Came, ScriptedTask, faults, says
from gateway.evals.words import Lack, Said, Word, unverified

PASS, FAIL = Said(Word.PASS), Said(Word.FAIL)
NONE = unverified(Lack.VERDICT, "the reply was no verdict")
DOUBT = unverified(Lack.BELIEF, "the quote is not in the evidence")
DEAD = unverified(Lack.CALL, "401: no such key")


def asked(said: Said, *, done: bool, again: Said | None = None) -> Asked:
    """A row of `checks`."""
    return Asked(id="x", rows=Rows.CHECKS, kind="count", done=done, said=said, again=again)


def test_each_share_is_of_the_rows_that_it_speaks_of() -> None:
    rows = [
        asked(PASS, done=True, again=PASS),
        asked(FAIL, done=True, again=PASS),
        asked(NONE, done=True),
        asked(PASS, done=False, again=PASS),
        asked(FAIL, done=False),
        asked(DOUBT, done=False),
    ]
    found = score(rows)
    assert (found.false_pass, found.false_fail) == (Share(3, 1), Share(3, 1))
    assert (found.unverified, found.no_verdict) == (Share(6, 2), Share(6, 1))
    assert (found.agreement, found.failed) == (Share(3, 2), 0)


def test_agreement_is_among_rows_with_a_verdict_both_times() -> None:
    words = [(NONE, NONE), (PASS, NONE), (DOUBT, FAIL), (DOUBT, DOUBT), (FAIL, FAIL)]
    rows = [asked(one, done=True, again=other) for one, other in words]
    assert score(rows).agreement == Share(1, 1)


def test_rows_of_which_a_call_failed_count_in_no_share() -> None:
    dead = [
        asked(DEAD, done=False, again=DEAD),
        asked(DEAD, done=True),
        asked(PASS, done=False, again=DEAD),
    ]
    found = score([*dead, asked(FAIL, done=False)])
    assert (found.rows, found.failed) == (4, 3)
    assert (found.false_pass, found.unverified) == (Share(1, 0), Share(1, 0))
    none = table(dead, "goal, main").splitlines()[-1]
    assert none == "| **all** | 3 | 3 | – | – | – | – | – |"
    assert [row.failure for row in dead] == ["401: no such key"] * 3


def test_what_is_said_of_a_row_gives_the_reason_of_no_word() -> None:
    assert [str(said) for said in (PASS, NONE, DOUBT, DEAD)] == [
        "pass",
        "unverified (no verdict: the reply was no verdict)",
        "unverified (not believed: the quote is not in the evidence)",
        "unverified (call failed: 401: no such key)",
    ]


def test_results_keep_what_a_word_lacks_and_no_row_of_which_a_call_failed(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    ids = {"doubted": (DOUBT, PASS), "silent": (NONE, NONE), "dead": (DEAD, PASS)}
    rows = {id_: replace(kept()[0], id=id_) for id_ in [*ids, "late"]}
    first = Results(file, Seat.GOAL, "main")
    first.open()
    for id_, words in ids.items():
        first.keep(rows[id_], *words)
    first.keep(rows["late"], PASS, DEAD)
    first.close()
    assert [first.of(rows[id_]).failure for id_ in ("dead", "late")] == ["401: no such key"] * 2
    second = Results(file, Seat.GOAL, "main")
    second.open()
    second.close()
    assert list(second.known) == ["doubted", "silent"]
    assert [said.lack for said, _ in second.known.values()] == [Lack.BELIEF, Lack.VERDICT]


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [(0, 20, 0.0, 0.1611), (20, 20, 0.8389, 1.0), (5, 50, 0.0435, 0.2136), (0, 0, 0.0, 1.0)],
)
def test_the_interval_is_wilsons(count: int, of: int, low: float, high: float) -> None:
    assert Share(of, count).interval == pytest.approx((low, high), abs=1e-4)


def test_the_table_is_markdown_with_a_line_a_set_and_kind() -> None:
    lines = table([asked(PASS, done=False)], "goal, main").splitlines()
    assert lines[0].startswith("| goal, main | rows | calls failed | false pass |")
    assert [line.split("|")[1].strip() for line in lines[2:]] == ["**checks**", "count", "**all**"]
    assert "1/1 = 100.0 % [20.7, 100.0]" in lines[2]
    assert {line.count("|") for line in lines} == {9}


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
