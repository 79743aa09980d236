"""What counts as an acceptance judge's word, and when its quotes are believed."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.delegation.acceptance.reading import Reading, Unreadable, found, read_reply
from core.delegation.acceptance.verdict import Grade
from core.ports import Reply

EVIDENCE = 'run {"command": "pytest -q"} -> exit code 0; result ends: 12 passed\nThe sky is Blue.'


def word(n: int = 1, result: str = "pass", quote: str = "", why: str = "w") -> dict[str, object]:
    return {"n": n, "quote": quote, "why": why, "result": result}


def said(*words: object, reasoning: str = "r") -> str:
    return json.dumps({"criteria": words, "reasoning": reasoning})


def read(text: str, *numbers: int, strict: bool = False) -> Reading | Unreadable:
    asked = numbers or (1,)
    return read_reply(Reply(text), dict.fromkeys(asked, EVIDENCE), strict=strict)


def grades(text: str, *numbers: int, strict: bool = False) -> Mapping[int, str]:
    reading = read(text, *numbers, strict=strict)
    assert isinstance(reading, Reading), reading
    return {n: graded.result.value for n, graded in reading.graded.items()}


def why(text: str, *, strict: bool = False) -> str:
    reading = read(text, strict=strict)
    assert isinstance(reading, Reading), reading
    assert reading.graded[1].result is Grade.UNCLEAR
    return reading.graded[1].why


def test_a_word_on_each_criterion_is_read_with_its_texts_on_one_line() -> None:
    reading = read(
        said(word(1, quote="12\npassed", why="a\nb"), word(3, "fail"), reasoning="c\nd"), 1, 3
    )
    assert isinstance(reading, Reading)
    assert reading.reasoning == "c d"
    assert (reading.graded[1].quote, reading.graded[1].why) == ("12 passed", "a b")
    assert {n: g.result.value for n, g in reading.graded.items()} == {1: "pass", 3: "fail"}


def test_a_reply_in_one_code_fence_is_read() -> None:
    assert grades(f"```json\n{said(word())}\n```") == {1: "pass"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("PASS", "not one JSON object"),
        (f"Here: {said(word())}", "not one JSON object"),
        (f"{said(word())}\nDone.", "not one JSON object"),
        (f"```json\n{said(word())}\n```\n```json\n{said(word(1, 'fail'))}\n```", "not one JSON"),
        ('{"criteria": [], "criteria": []}', "a key appears twice"),
        ('{"criteria": [{"n": 1, "result": "fail", "result": "pass"}]}', "a key appears twice"),
        ("[]", 'a list "criteria"'),
        ('{"verdict": "PASS"}', 'a list "criteria"'),
        ('{"criteria": {"1": "pass"}}', 'a list "criteria"'),
        ('{"criteria": []}', "no word on any criterion"),
        (said("pass", 7, None, {}), "no word on any criterion"),
        (said({"n": True, "result": "pass"}), "no word on any criterion"),
        (said({"n": "1", "result": "pass"}), "no word on any criterion"),
        (said(word(1, "PASSED")), "no word on any criterion"),
        (said(word(2)), "no word on any criterion"),
        ("[" * 30_000, "nested too deep"),
        (said(word(why="x" * 40_000)), "was not an object"),
    ],
)
def test_anything_else_is_no_word(text: str, reason: str) -> None:
    reading = read(text)
    assert isinstance(reading, Unreadable)
    assert reason in reading.why


def test_a_cut_reply_says_so() -> None:
    reading = read_reply(Reply(said(word())[:-5], cut=True), {1: EVIDENCE})
    assert reading == Unreadable("the judge's reply was cut at its output limit")


def test_numbers_that_were_not_asked_are_ignored_and_missing_ones_are_unclear() -> None:
    assert grades(said(word(1), word(2, "fail"), word(9)), 1, 3) == {1: "pass", 3: "unclear"}


def test_two_different_words_on_one_criterion_are_none() -> None:
    assert grades(said(word(), word())) == {1: "pass"}
    for results in (("pass", "fail"), ("fail", "pass"), ("pass", "fail", "pass")):
        text = said(*(word(1, result) for result in results))
        assert "two different things" in why(text)


def test_a_pass_rests_on_a_quote_that_was_shown() -> None:
    assert "not in the evidence: w" in why(said(word(quote="13 passed")))
    assert "not in the evidence" in why(said(word(quote="12 passed … 13 passed")))
    assert grades(said(word(1, "fail", "13 passed"))) == {1: "fail"}
    assert grades(said(word(1, "unclear", "13 passed"))) == {1: "unclear"}


def test_a_pass_without_a_quote_counts_unless_one_is_needed() -> None:
    for quote in ("", " … ", '"."'):
        assert grades(said(word(quote=quote))) == {1: "pass"}
        assert "quoted no evidence: w" in why(said(word(quote=quote)), strict=True)
    assert grades(said(word(quote="12 passed")), strict=True) == {1: "pass"}


@pytest.mark.parametrize(
    "quote",
    [
        "12 passed",
        "  THE   sky\nis blue ",
        '"the sky is blue."',
        "“The sky is **Blue**”",
        "run … 12 passed",
        "pytest -q...exit code 0",
        "…12 passed…",
        'run {\\"command\\": \\"pytest -q\\"}',
        "0",
    ],
)
def test_a_quote_is_found_whatever_its_case_space_and_marks(quote: str) -> None:
    assert found(quote, EVIDENCE)


@pytest.mark.parametrize(
    "quote",
    [
        "2 passed",
        "tests: 12",
        "1",
        "y is",
        "12 passed … exit code 0",
        "the sky is not blue",
        "exit code 1",
    ],
)
def test_a_quote_that_stands_nowhere_is_not_found(quote: str) -> None:
    assert not found(quote, EVIDENCE)


@pytest.mark.parametrize(
    ("quote", "shown", "there"),
    [
        ("size 12", "size 12.", True),
        ("size 12", "size 12.5", False),
        ("5 files", "1.5 files", False),
        ("空は青い", "今日の空は青いです", True),
        ("空", "今日の空は青いです", True),
        ("über", "Darüber", True),
    ],
)
def test_numbers_are_whole_and_words_need_no_spaces(
    quote: str, shown: str, *, there: bool
) -> None:
    assert found(quote, shown) is there


def test_a_line_break_may_be_quoted_as_it_was_shown() -> None:
    assert found('print("a")\nprint("b")', '{"content": "print(\\"a\\")\\nprint(\\"b\\")"}')


@settings(max_examples=50)
@given(st.text(min_size=20))
def test_what_was_shown_is_found(text: str) -> None:
    assert found(text, f"before {text} after")


def test_one_character_without_end_is_cut_short() -> None:
    reading = read(said(word(why="a" + "!" * 30_000)))
    assert isinstance(reading, Reading)
    assert reading.graded[1].why == "a!!!…"
