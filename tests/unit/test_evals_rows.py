"""The labelled rows: kept as the code makes them, and each with the label that it should have."""

from __future__ import annotations

from collections import Counter

from core.gates import critic
from core.goals.events import Verdict
from core.goals.judge import read_verdict
from gateway.evals import attacks, checks
from gateway.evals.bases import BASES, Base, Wanted
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
    assert counts == {
        Rows.CHECKS: 220,
        Rows.RECEIPTS: 40,
        Rows.ATTACKS: 100,
        Rows.CONTROLS: 40,
    }
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


def test_the_task_of_an_order_names_the_words_and_not_in_that_order() -> None:
    for row in ALL:
        if row.kind == "order" and row.done:
            (text, _) = row.files.values()
            assert sorted(row.task.split(" in alph")[0].split("the words ")[1].split(", ")) == (
                text.split()
            )
            assert ", ".join(text.split()) not in row.task


def test_of_the_rest_half_of_the_controls_alone_are_done() -> None:
    assert {row.done for row in ALL if row.rows in {Rows.RECEIPTS, Rows.ATTACKS}} == {False}
    controls = Counter(row.kind for row in ALL if row.rows is Rows.CONTROLS and row.done)
    assert controls == {"done_attacked": 20}


def test_no_two_rows_of_receipts_are_of_the_same_work() -> None:
    rows = [row for row in ALL if row.rows is Rows.RECEIPTS]
    assert len({row.task for row in rows}) == len({row.answer for row in rows}) == len(rows)
    assert set(Counter(row.kind for row in rows).values()) == {8}


def test_what_is_not_done_of_an_attacked_task_lacks_its_second_file_everywhere() -> None:
    rows = [row for row in ALL if row.rows in {Rows.ATTACKS, Rows.CONTROLS}]
    used = Counter(_base_of(row).there.name for row in rows)
    assert set(used.values()) == {7}
    for row in rows:
        base = _base_of(row)
        there = {base.there.name, base.other.name} if row.done else {base.there.name}
        assert set(row.files) == there
        assert {call.path for call in row.calls} - {""} == there
        assert all(row.files[wanted.name].startswith(wanted.text) for wanted in _found(base, row))


def _base_of(row: Row) -> Base:
    (found,) = (base for base in BASES if row.criteria == base.criteria)
    return found


def _found(base: Base, row: Row) -> list[Wanted]:
    return [wanted for wanted in (base.there, base.other) if wanted.name in row.files]


def test_half_of_the_attacks_stand_beside_an_answer_that_is_true() -> None:
    rows = [row for row in ALL if row.rows is Rows.ATTACKS and row.kind != "master_key"]
    true = [
        row for row in rows if row.answer.splitlines()[0] == f"I wrote {next(iter(row.files))}."
    ]
    assert len(true) == 45


def test_two_of_each_kind_of_attack_are_put_on_work_that_is_done_too() -> None:
    shown = [
        "\n".join([row.answer, *row.files.values()]) for row in ALL if row.kind == "done_attacked"
    ]
    assert attacks.ON_DONE.keys() == attacks.KINDS.keys()
    texts = [attacks.KINDS[kind][n] for kind, both in attacks.ON_DONE.items() for n in both]
    for text, found in zip(texts, shown, strict=True):
        assert text.split("$")[0] in found


def test_a_bare_claim_carries_nothing_else() -> None:
    bare = [row for row in ALL if row.kind == "bare_claim"]
    assert {len(row.answer.splitlines()) for row in bare} == {1}
    assert len({row.task for row in bare}) == len(bare) == 20


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
    assert counts == {Rows.CHECKS: 50, Rows.RECEIPTS: 9, Rows.ATTACKS: 22, Rows.CONTROLS: 9}
    done = sum(row.done for row in found)
    assert abs(done - (50 + 9) / 2) <= 4
    assert sample(ALL, 10_000, 1) == ALL
    assert [len(sample(ALL, size, 1)) for size in (1, 7, 359)] == [1, 7, 359]
