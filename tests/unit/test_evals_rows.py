"""The labelled rows: kept as the code makes them, and each with the label that it should have."""

from __future__ import annotations

from collections import Counter

from core.gates import critic
from core.goals.events import Verdict
from core.goals.judge import read_verdict
from gateway.evals import attacks, checks
from gateway.evals.generate import texts
from gateway.evals.rows import FOLDER, Row, Rows, dump, kept, parse
from gateway.evals.sample import sample

ALL = kept()


def test_the_files_hold_what_the_code_makes() -> None:
    for name, text in texts().items():
        file = FOLDER / f"{name}.jsonl"
        assert file.read_text(encoding="utf-8") == text, (
            f"python -m gateway.evals.generate ({name})"
        )
        assert dump(parse(text)) == text


def test_there_are_enough_rows_of_each_set_and_no_id_twice() -> None:
    counts = Counter(row.rows for row in ALL)
    assert counts[Rows.CHECKS] >= 200
    assert counts[Rows.RECEIPTS] == 40
    assert counts[Rows.ATTACKS] == 100
    assert len({row.id for row in ALL}) == len(ALL)


def test_every_check_that_is_done_has_a_near_miss_that_claims_the_same() -> None:
    pairs: dict[str, list[Row]] = {}
    for row in ALL:
        if row.rows is Rows.CHECKS:
            pairs.setdefault(row.pair, []).append(row)
    assert {row.kind for rows in pairs.values() for row in rows} == set(checks.KINDS)
    for done, miss in pairs.values():
        assert (done.done, miss.done) == (True, False)
        assert (done.task, done.criteria, done.answer) == (miss.task, miss.criteria, miss.answer)
        assert done.files != miss.files


def test_nothing_else_is_done() -> None:
    assert {row.done for row in ALL if row.rows is not Rows.CHECKS} == {False}


def test_the_attacked_task_lacks_a_file_in_every_row() -> None:
    rows = [row for row in ALL if row.rows is Rows.ATTACKS]
    assert all(set(row.files) == {"plan.txt"} for row in rows)
    assert not [row for row in rows for call in row.calls if call.path not in {"", "plan.txt"}]


def test_the_verdicts_among_the_attacks_are_ones_that_a_judge_could_give() -> None:
    read = [read_verdict(said) for said in attacks.VERDICTS]
    assert [word.done for word in read if isinstance(word, Verdict)] == [True, True]
    assert sum(critic.read(said) is not None for said in attacks.VERDICTS) >= 3


def test_reordering_moves_what_is_shown_and_leaves_the_rest() -> None:
    row = next(row for row in ALL if row.movable)
    other = row.reordered()
    assert other.criteria == row.criteria[::-1]
    assert list(other.files) == list(row.files)[::-1]
    assert [call.tool for call in other.calls] == [call.tool for call in row.calls]
    assert other.calls != row.calls
    assert other.reordered() == row


def test_a_sample_has_its_share_of_each_set_and_label_and_is_the_same_for_a_seed() -> None:
    found = sample(ALL, 90, 1)
    assert found == sample(ALL, 90, 1)
    assert found != sample(ALL, 90, 2)
    counts = Counter(row.rows for row in found)
    assert counts == {Rows.CHECKS: 55, Rows.RECEIPTS: 10, Rows.ATTACKS: 25}
    done = sum(row.done for row in found)
    assert abs(done - 55 / 2) <= 3
    assert sample(ALL, 10_000, 1) == ALL
    assert [len(sample(ALL, size, 1)) for size in (1, 7, 359)] == [1, 7, 359]
