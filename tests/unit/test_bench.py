"""The benchmark's pure parts: what a figure says, how the table shows it, what its models say."""

from __future__ import annotations

import json

import pytest

from bench import tasks
from bench.delegations import share_of
from bench.stats import Figure, Target, middle, share
from bench.table import number, table, to_json
from core.delegation.acceptance.reading import found


def test_the_median_and_shares_of_nothing_are_zero() -> None:
    assert middle([]) == 0.0
    assert share([], 0.9) == 0.0


def test_a_share_is_a_value_that_was_seen() -> None:
    values = [5.0, 1.0, 3.0, 2.0, 4.0]
    assert middle(values) == 3.0
    assert share(values, 0.9) == 5.0
    assert share(values, 0.0) == 1.0
    assert share(values, 1.0) == 5.0


@pytest.mark.parametrize(
    ("ours", "bare", "target", "met"),
    [
        (12.0, 8.0, Target(1.5), True),
        (12.1, 8.0, Target(1.5), False),
        (50.0, 100.0, Target(0.5, at_most=False), True),
        (49.0, 100.0, Target(0.5, at_most=False), False),
        (0.14, 0.02, Target(0.15, of_ratio=False), True),
        (19_000.0, 40_000.0, Target(20_000, of_ratio=False, at_most=False), False),
        (12.0, None, Target(1.5), None),
        (12.0, 8.0, None, None),
    ],
)
def test_a_target_bounds_the_ratio_or_the_figure(
    ours: float, bare: float | None, target: Target | None, met: bool | None
) -> None:
    assert Figure(what="it", unit="ms", ours=ours, bare=bare, target=target).met is met


def test_numbers_keep_three_digits() -> None:
    assert [number(value) for value in (0.123, 9.876, 12.34, 123.4, 20_000.0)] == [
        "0.12",
        "9.88",
        "12.3",
        "123",
        "20,000",
    ]


def test_the_table_shows_ratio_target_verdict_and_note() -> None:
    slow = Figure(
        what="turn", unit="ms", ours=16.0, bare=8.0, target=Target(1.5), note="p90 20 ms"
    )
    plain = Figure(what="crowd", unit="s", ours=19.0)
    text = table([slow, plain])
    head, _, first, second, *rest = text.splitlines()
    assert head.split() == ["what", "ours", "bare", "ratio", "target"]
    assert first.split() == ["turn", "16.0", "ms", "8.00", "ms", "2.00x", "<=", "1.50x", "missed"]
    assert second.split() == ["crowd", "19.0", "s"]
    assert rest == ["", "  turn: p90 20 ms"]


def test_the_json_holds_what_the_table_judges() -> None:
    figure = Figure(what="turn", unit="ms", ours=8.0, bare=8.0, target=Target(1.5))
    told = json.loads(to_json([figure], {"quick": True}))
    assert told["about"] == {"quick": True}
    assert told["figures"][0]["ratio"] == 1.0
    assert told["figures"][0]["met"] is True


def test_the_judges_share_is_of_all_tokens_and_each_purpose_is_told_for_one_delegation() -> None:
    booked = [("agent", 300), ("child", 400), ("acceptance_judge", 50)] * 2
    share_told, *each = share_of(booked, 2)
    assert round(share_told.ours, 2) == 6.67
    assert "11.1 %" in share_told.note
    assert [figure.ours for figure in each] == [300, 400, 50]


@pytest.mark.parametrize(
    "booked",
    [
        [],
        [("agent", 300), ("child", 400)],
        [("agent", 300), ("child", 400), ("acceptance_judge", 50), ("goal_judge", 50)],
    ],
    ids=["nothing", "no judge", "somebody else"],
)
def test_books_that_are_not_those_of_judged_delegations_give_no_share(
    booked: list[tuple[str, int]],
) -> None:
    with pytest.raises(ValueError, match="not what 2 judged delegations book"):
        share_of(booked, 2)


def said_to(agent: str) -> list[tasks.Message]:
    return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": agent}]


@pytest.mark.parametrize(
    ("words", "models"),
    [
        (tasks.ORDINARY, ["main"]),
        (tasks.DELEGATED, ["main", "child", "main"]),
        (tasks.CHECKED, ["main", "child", "checker", "main"]),
    ],
)
def test_the_baseline_makes_the_calls_that_the_turn_makes(words: str, models: list[str]) -> None:
    assert [model for model, _ in tasks.bare_calls(words)] == models
    handed = tasks.answer(said_to(words))
    assert (handed == tasks.DONE) == (models == ["main"])
    if not isinstance(handed, str):
        assert ("acceptance_criteria" in handed[1]) == ("checker" in models)


def test_the_long_task_takes_a_child_four_calls_and_the_short_one_none() -> None:
    assert tasks.work(said_to("# Task\nSay how many words there are.")) == tasks.SHORT_ANSWER
    messages = said_to(f"# Task\n{tasks.LONG_GOAL}")
    asked = []
    while not isinstance(step := tasks.work(messages), str):
        asked.append(step[0])
        messages.append({"role": "tool", "content": "ok"})
    assert asked == ["write_file", "run", "read_file", "run"]
    assert step == tasks.REPORT


def test_the_judge_quotes_what_it_was_shown_for_each_criterion() -> None:
    short, long = (
        json.loads(tasks.judge(said_to(goal)))["criteria"]
        for goal in (str(tasks.SHORT_TASK["goal"]), tasks.LONG_GOAL)
    )
    assert (len(short), len(long)) == (len(tasks.SHORT_CRITERIA), len(tasks.LONG_CRITERIA))
    assert found(short[0]["quote"], tasks.SHORT_ANSWER)
    shown = f"-> exit code 0\n{tasks.REPORT}"
    assert all(found(entry["quote"], shown) for entry in long)
