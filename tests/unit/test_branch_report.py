"""A child's report, held against its table and against what its calls really gave."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.branches.report import (
    EXCERPT_CHARS,
    LOW,
    MAX_QUOTES,
    NAME,
    OBSERVED_CHARS,
    Accepted,
    Account,
    Checked,
    Quote,
    Repair,
    SeenResult,
    ToDefault,
    check,
    citable,
    spec,
    tagged,
)
from core.branches.table import DEFAULT, Table
from core.delegation.acceptance import json_schema
from core.transcript import Json, Receipt, ToolCall, ToolResult
from tests.fakes.branch_tables import YAML_LIST, read, table

TABLE = read(YAML_LIST)
VISIBLE, WORKS = TABLE.conditions[0].checks
CALLS = {
    "call_1": SeenResult("HTTP 200\n<h1>Settings</h1>\n  Feature Y:   ON\n", "curl -s /settings"),
    "call_2": SeenResult("clicked, 12 passed", "python click.py"),
}


def answers(*, visible: bool = True, works: bool = True) -> list[Json]:
    """An answer to each check of c1."""
    return [{"check": VISIBLE, "met": visible}, {"check": WORKS, "met": works}]


def quote(call: str, excerpt: str) -> Json:
    """One piece of evidence."""
    return {"tool_call_id": call, "excerpt": excerpt}


def report(branch: str = "c1.ok", **fields: object) -> str:
    """A sound report of c1.ok, with other fields."""
    whole: dict[str, object] = {
        "branch": branch,
        "observed": "The toggle is there.",
        "checks": answers(),
        "evidence": [quote("call_1", "Feature Y: ON")],
        "confidence": "high",
    }
    return json.dumps({**whole, **fields})


def faults(checked: Checked) -> str:
    """What a child is told of its report."""
    assert isinstance(checked, Repair)
    return "\n".join(checked.faults)


def look(given: str, of: Table = TABLE, *, repaired: bool = False) -> Checked:
    """What a report comes to."""
    return check(given, of, CALLS, repaired=repaired)


def account(checked: Checked) -> Account:
    """What of it is kept."""
    assert isinstance(checked, Accepted | ToDefault)
    assert checked.account is not None
    return checked.account


def test_the_tool_offers_the_legal_labels_only() -> None:
    offered = spec(TABLE).parameters
    assert json_schema.fits(offered, report()).met
    assert not json_schema.fits(offered, report("c1")).met
    assert not json_schema.fits(offered, report("c4.ok")).met
    assert json_schema.fits(offered, report(DEFAULT)).met


def test_a_sound_report_is_accepted_with_its_evidence() -> None:
    kept = account(look(report(expected="ON", tried=["opened it", "clicked it"])))
    assert kept == Account(
        label="c1.ok",
        observed="The toggle is there.",
        expected="ON",
        tried=("opened it", "clicked it"),
        quotes=(Quote("call_1", "Feature Y: ON", "curl -s /settings"),),
    )


def test_white_space_is_all_that_may_differ_in_an_excerpt() -> None:
    spread = [quote("call_1", "</h1>\n\n\tFeature   Y: ON")]
    assert isinstance(look(report(evidence=spread)), Accepted)


@pytest.mark.parametrize(
    ("forged", "told"),
    [
        (quote("call_1", "feature y: on"), "not in the result of call_1"),
        (quote("call_2", "Feature Y: ON"), "not in the result of call_2"),
        (quote("call_9", "Feature Y: ON"), "no call 'call_9'"),
        (quote("", "Feature Y: ON"), "no call ''"),
        (quote("call_1", "Feature Y: ON and working"), "not in the result"),
        (quote("call_1", "HTTP 200 … Feature Y: ON"), "not in the result"),
        (quote("call_1", "Feature\u00a0Y: O\u200bN"), "not in the result"),
        (quote("call_2", "2 passed"), "not in the result"),
        (quote("call_1", "e"), "not in the result"),
        (quote("call_1", "  "), "says nothing"),
        (quote("call_1", "</>"), "says nothing"),
        (quote("call_1", "x" * (EXCERPT_CHARS + 1)), "is longer than"),
    ],
)
def test_forged_evidence_goes_back_and_then_to_the_default(forged: Json, told: str) -> None:
    given = report(evidence=[forged])
    assert told in faults(look(given))
    second = look(given, repaired=True)
    assert isinstance(second, ToDefault)
    assert account(second).quotes == ()


def test_one_forged_excerpt_among_true_ones_goes_back_and_only_the_true_ones_are_kept() -> None:
    mixed = [quote("call_1", "HTTP 200"), quote("call_1", "all is well")]
    given = report("c3", checks=[], evidence=mixed)
    assert "all is well" in faults(look(given))
    assert [q.excerpt for q in account(look(given, repaired=True)).quotes] == ["HTTP 200"]


def test_a_branch_with_evidence_needs_a_verified_quote_and_others_do_not() -> None:
    assert "c1.ok needs evidence" in faults(look(report(evidence=[])))
    assert isinstance(look(report("c3", checks=[], evidence=[])), Accepted)


def test_every_check_of_the_chosen_condition_must_be_answered() -> None:
    told = faults(look(report(checks=answers()[:1])))
    assert f"the check {WORKS!r} of c1.ok is not answered" in told
    assert VISIBLE not in told


def test_a_check_that_is_answered_twice_and_differently_is_no_answer() -> None:
    both: list[Json] = [*answers(), {"check": WORKS, "met": False}]
    assert "has two different answers" in faults(look(report(checks=both)))


@pytest.mark.parametrize(
    "names",
    [
        ("1", "2"),
        ("check 1.", "#2"),
        (f"1. {VISIBLE}", f"2) {WORKS.upper()}"),
        (f" {VISIBLE}.", WORKS.lower()),
    ],
)
def test_a_check_may_be_named_by_its_words_or_its_number(names: Sequence[str]) -> None:
    given = [{"check": name, "met": True} for name in names]
    assert isinstance(look(report(checks=given)), Accepted)


@pytest.mark.parametrize("name", ["3", "0", f"2. {VISIBLE}", "Feature Y", ""])
def test_what_names_no_check_answers_none(name: str) -> None:
    given = [answers()[0], {"check": name, "met": True}]
    assert "is not answered" in faults(look(report(checks=given)))


def test_low_confidence_goes_to_the_default_branch_without_a_repair() -> None:
    checked = look(report(confidence="low", checks=[], evidence=[quote("call_1", "no")]))
    assert isinstance(checked, ToDefault)
    assert checked.reason == LOW
    assert account(checked).quotes == ()


def test_the_default_branch_may_be_chosen_and_drops_what_cannot_be_borne_out() -> None:
    given = report(
        DEFAULT, checks=[], evidence=[quote("call_1", "HTTP 200"), quote("call_1", "no")]
    )
    checked = look(given)
    assert isinstance(checked, Accepted)
    assert [q.excerpt for q in account(checked).quotes] == ["HTTP 200"]


def test_a_default_that_asks_for_evidence_asks_for_it_once_more() -> None:
    strict = table(
        {"condition": "a", "branch": {"action": "report"}},
        default={"action": "report_with_evidence"},
    )
    given = report(DEFAULT, checks=[], evidence=[])
    assert f"{DEFAULT} needs evidence" in faults(look(given, strict))
    assert isinstance(look(given, strict, repaired=True), ToDefault)


@pytest.mark.parametrize("label", ["c1", "c4", "C1.OK", "ok", "c1.ok.x", "approved", ""])
def test_a_label_that_the_table_does_not_have_goes_back_with_those_it_has(label: str) -> None:
    told = faults(look(report(label)))
    assert "branch is one of c1.ok, c1.not_found, c1.broken, c2, c3, __default__" in told


@pytest.mark.parametrize("text", ["", "{", "[]", '"c1.ok"', "PASS", "{}", '{"branch": "c1.ok"}'])
def test_arguments_that_are_no_report_go_back_and_then_to_the_default(text: str) -> None:
    assert faults(look(text))
    second = look(text, repaired=True)
    assert isinstance(second, ToDefault)
    assert second.account is None


def test_what_is_kept_of_a_report_is_bounded_and_clean() -> None:
    many = [quote("call_1", "HTTP 200")] + [
        quote("call_3", f"line {n}") for n in range(3 * MAX_QUOTES)
    ]
    calls = {**CALLS, "call_3": SeenResult("\n".join(f"line {n}" for n in range(99)))}
    given = report(observed="\u202ex" * 5_000, tried=["t\n" * 900] * 99, evidence=many)
    kept = account(check(given, TABLE, calls, repaired=False))
    assert len(kept.observed) == OBSERVED_CHARS
    assert "\u202e" not in kept.observed
    assert len(kept.tried) == 10
    assert all("\n" not in line and len(line) <= 200 for line in kept.tried)
    assert len(kept.quotes) == MAX_QUOTES


def result(call: str, tool: str, text: str, *, ok: bool = True) -> ToolResult:
    """A call that was carried out."""
    return ToolResult(ToolCall(call, tool, "{}"), text, Receipt(ok=ok, summary=f"ran {tool}"))


def test_thoughts_and_complaints_about_reports_cannot_be_quoted() -> None:
    echo = "the excerpt 'Feature Y is on and approved' is not in the result"
    seen = citable(
        [
            result("a", "think", "Feature Y is on and approved"),
            result("b", NAME, echo, ok=False),
            result("c", "run", "exit code 22: 404", ok=False),
        ]
    )
    assert seen == {"c": SeenResult("exit code 22: 404", "ran run")}
    forged = report(evidence=[quote("b", "Feature Y is on and approved")])
    assert "no call 'b'" in faults(check(forged, TABLE, seen, repaired=False))


def test_the_id_that_a_result_is_tagged_with_can_be_copied_as_it_stands() -> None:
    assert tagged("call_1", "HTTP 200").startswith("[call_1]\n")
    kept = account(look(report(evidence=[quote("[call_1]", "HTTP 200")])))
    assert kept.quotes[0].call_id == "call_1"


def test_the_tag_itself_is_no_evidence() -> None:
    assert "not in the result" in faults(look(report(evidence=[quote("call_1", "[call_1]")])))


@given(st.text(max_size=60), st.text(min_size=1, max_size=12))
def test_no_excerpt_is_ever_kept_that_the_result_does_not_hold(text: str, excerpt: str) -> None:
    calls = {"call_1": SeenResult(text)}
    given = report("c3", checks=[], evidence=[quote("call_1", excerpt)])
    checked = check(given, TABLE, calls, repaired=True)
    assert isinstance(checked, Accepted | ToDefault)
    for kept in checked.account.quotes if checked.account else ():
        assert kept.excerpt in " ".join(text.split())
