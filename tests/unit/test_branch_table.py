"""Branch tables: what is taken, how it is normalised, and what is said of each fault."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.branches.faults import FAULTS_TOLD, Code, TableError
from core.branches.parsing import MAX_BRANCHES, TABLE_CHARS, restored
from core.branches.schema import SCHEMA
from core.branches.table import (
    DAY_S,
    DEFAULT,
    Condition,
    Escalate,
    Human,
    Report,
    Route,
    Table,
    overseer_model,
)
from core.delegation.acceptance import json_schema
from core.delegation.worker import Ranked
from core.escalations.asking import objection
from core.escalations.record import LEAST_OPTIONS, MOST_OPTIONS, Kind, OnTimeout
from core.transcript import Json
from tests.fakes.branch_tables import (
    CATALOGUE,
    JSON_OBJECT,
    OPUS,
    OVERSEER,
    SONNET,
    TINY,
    YAML_LIST,
    read,
)
from tests.fakes.escalated import escalation

REPORT: Json = {"action": "report"}
LOADS: Json = {"condition": "It loads", "branch": REPORT}


def whole(**fields: Json) -> dict[str, Json]:
    """A sound table with other fields."""
    return {"conditions": [LOADS], "default": OVERSEER, **fields}


def branch(**fields: Json) -> dict[str, Json]:
    """A table whose only condition has this branch."""
    return whole(conditions=[{"condition": "It loads", "branch": {**fields}}])


def asking(**human: Json) -> dict[str, Json]:
    """A table that asks a person so."""
    return branch(action="escalate", tier="human", human={**human})


def refused(given: object, *, parent: Ranked = OPUS, human_route: bool = True) -> TableError:
    """What is said of a table that cannot be used."""
    with pytest.raises(TableError) as caught:
        read(given, parent=parent, human_route=human_route)
    return caught.value


def test_the_yaml_list_with_its_trailing_default_is_normalised() -> None:
    table = read(YAML_LIST)
    assert table.labels == ("c1.ok", "c1.not_found", "c1.broken", "c2", "c3", DEFAULT)
    assert table.conditions[0].checks == (
        "Feature Y toggle is visible",
        "Feature Y toggle is functional",
    )
    assert table.depth == 2
    assert table.escalation_model == ""
    ok, dead, gated = table.find("c1.ok"), table.find("c2"), table.find("c3")
    assert ok is not None
    assert ok.branch == Report(with_evidence=True)
    assert dead is not None
    assert dead.branch == Escalate(
        Route.HUMAN, "URL may be dead — verify or provide alternative", Human()
    )
    assert gated is not None
    assert gated.branch == Report("Auth-gated — can't verify without credentials")
    assert table.default == Escalate(Route.OVERSEER, "Unexpected state: {observed_state}")


def test_the_json_object_is_taken_with_its_model_depth_and_alias() -> None:
    table = read(JSON_OBJECT)
    assert (table.escalation_model, table.depth) == ("sonnet", 2)
    assert table.conditions[0].text == "Page loads successfully"
    assert table.labels == ("c1.ok", "c1.not_found", "c1.broken", DEFAULT)


def test_a_list_as_data_and_as_json_text_and_an_object_as_text_mean_the_same() -> None:
    data = [LOADS, {"default": OVERSEER}]
    same = read(whole())
    assert read(data) == read(json.dumps(data)) == read(json.dumps(whole())) == same


def test_a_person_is_asked_for_a_day_and_for_a_text_unless_the_table_says_otherwise() -> None:
    assert Human() == Human(
        kind=Kind.TEXT, options=(), timeout_s=86_400, on_timeout=OnTimeout.ABORT
    )
    table = read(asking(kind="choose", options=["old", " new "], timeout_s=90, on_timeout="deny"))
    choice = table.find("c1")
    assert choice is not None
    assert isinstance(choice.branch, Escalate)
    assert choice.branch.human == Human(
        kind=Kind.CHOOSE, options=("old", "new"), timeout_s=90, on_timeout=OnTimeout.DENY
    )


def test_fields_that_a_small_model_fills_with_nothing_count_as_left_out() -> None:
    filled = whole(
        escalation_model="",
        max_escalation_depth=None,
        conditions=[
            {
                "id": "",
                "condition": "It loads",
                "description": "",
                "checks": [],
                "branches": {},
                "branch": {"action": "report", "format": "", "tier": "", "human": None},
            }
        ],
    )
    assert read(filled) == read(whole())


@pytest.mark.parametrize("name", ["sonnet", "claude-sonnet-4", " sonnet "])
def test_an_escalation_model_is_a_catalogue_name_or_the_raw_id_of_an_entry(name: str) -> None:
    assert read(whole(escalation_model=name)).escalation_model == "sonnet"


def test_a_raw_id_may_hold_slashes() -> None:
    assert read(whole(escalation_model="vendor/tiny-1b")).escalation_model == "tiny"


@pytest.mark.parametrize(
    ("name", "parent", "taken"),
    [("x", OPUS, "strong"), ("x", TINY, "weak"), ("other", TINY, "other"), ("y", TINY, "y")],
)
def test_of_the_entries_with_a_raw_id_the_first_that_the_parent_may_use_is_taken(
    name: str, parent: Ranked, taken: str
) -> None:
    entries = (
        Ranked("strong", 1, "a/x", "x"),
        Ranked("weak", 3, "a/x", "x"),
        Ranked("other", 3, "b/y", "y"),
        Ranked("y", 3, "b/z", "z"),  # a name goes before a raw id
        Ranked("last", 3, "c/x", "x"),
    )
    table = read(whole(escalation_model=name), parent=parent, catalogue=entries)
    assert table.escalation_model == taken


FAULTY: Mapping[str, tuple[object, Code, str, str]] = {
    "no default": ({"conditions": [LOADS]}, Code.MISSING_DEFAULT, "default", "- default:"),
    "a list without one": ([LOADS], Code.MISSING_DEFAULT, "default", "beside conditions"),
    "a default of nothing": (whole(default=None), Code.MISSING_DEFAULT, "default", "escalate"),
    "no conditions": ({"default": OVERSEER}, Code.BAD_SCHEMA, "conditions", "1 to 24"),
    "not a table": (7, Code.BAD_SCHEMA, "", "not a number"),
    "not YAML": ("a: [", Code.BAD_SCHEMA, "", "as JSON"),
    "an unknown key": (whole(depth=1), Code.BAD_SCHEMA, "depth", "max_escalation_depth"),
    "a condition of no words": (
        whole(conditions=[{"branch": REPORT}]),
        Code.BAD_SCHEMA,
        "conditions[0].condition",
        "is missing",
    ),
    "a number for words": (
        "- condition: 404\n  branch: {action: report}\n- default: {action: report}\n",
        Code.BAD_SCHEMA,
        "conditions[0].condition",
        "in quotes",
    ),
    "both kinds of branches": (
        whole(conditions=[{"condition": "a", "branch": REPORT, "branches": {"b": REPORT}}]),
        Code.BAD_SCHEMA,
        "conditions[0]",
        "both are there",
    ),
    "no branch": (
        whole(conditions=[{"condition": "a"}]),
        Code.BAD_SCHEMA,
        "conditions[0]",
        "neither is there",
    ),
    "an unknown action": (
        branch(action="retry"),
        Code.BAD_SCHEMA,
        "conditions[0].branch.action",
        "report_with_evidence",
    ),
    "no tier": (
        branch(action="escalate"),
        Code.BAD_SCHEMA,
        "conditions[0].branch.tier",
        "overseer or human",
    ),
    "a name with a dot": (
        whole(conditions=[{"condition": "a", "branches": {"a.b": REPORT}}]),
        Code.BAD_SCHEMA,
        "conditions[0].branches.'a.b'",
        "rename",
    ),
    "an id in capitals": (
        whole(conditions=[{"id": "C1", "condition": "a", "branch": REPORT}]),
        Code.BAD_SCHEMA,
        "conditions[0].id",
        "lower-case",
    ),
    "two defaults": (
        [{"default": OVERSEER}, LOADS, {"default": OVERSEER}],
        Code.BAD_SCHEMA,
        "conditions[0].default",
        "the last entry",
    ),
    "more beside the default": (
        [LOADS, {"default": OVERSEER, "condition": "b"}],
        Code.BAD_SCHEMA,
        "[1].condition",
        "an entry of its own",
    ),
    "half a character": (
        whole(conditions=[{"condition": "a\ud800", "branch": REPORT}]),
        Code.BAD_SCHEMA,
        "conditions[0].condition",
        "half of a character",
    ),
    "a timeout of nothing": (
        asking(timeout_s=0),
        Code.BAD_SCHEMA,
        "conditions[0].branch.human.timeout_s",
        "86,400",
    ),
    "a timeout that is none": (
        asking(timeout_s=float("nan")),
        Code.BAD_SCHEMA,
        "conditions[0].branch.human.timeout_s",
        "from 10 to",
    ),
    "the same id twice": (
        whole(conditions=[{"id": "a", "condition": "x", "branch": REPORT}] * 2),
        Code.DUPLICATE_ID,
        "conditions[1].id",
        "'a' is the id of conditions[0]",
    ),
    "an id that another has by its place": (
        whole(conditions=[{"id": "c2", "condition": "x", "branch": REPORT}, LOADS]),
        Code.DUPLICATE_ID,
        "conditions[1].id",
        "the n-th condition is cn",
    ),
    "an unknown variable": (
        branch(action="report", format="{url} and {goal}"),
        Code.UNKNOWN_VARIABLE,
        "conditions[0].branch.format",
        "{url} cannot be filled in; there are {observed_state} {expected}",
    ),
    "an attribute of a variable": (
        whole(
            conditions=[
                LOADS,
                LOADS,
                {
                    "condition": "b",
                    "branches": {
                        "ok": {**OVERSEER, "prompt": "{observed_state.__class__}"},  # type: ignore[dict-item]
                    },
                },
            ]
        ),
        Code.UNKNOWN_VARIABLE,
        "conditions[2].branches.ok.prompt",
        "{observed_state.__class__} cannot be filled in",
    ),
    "an unknown model": (
        whole(escalation_model="gpt"),
        Code.UNKNOWN_MODEL,
        "escalation_model",
        "Name one of: opus, sonnet, tiny",
    ),
    "a depth of six": (
        whole(max_escalation_depth=6),
        Code.DEPTH_RANGE,
        "max_escalation_depth",
        "it is 6; give 0 to 5",
    ),
    "a depth below nothing": (
        whole(max_escalation_depth=-1),
        Code.DEPTH_RANGE,
        "max_escalation_depth",
        "give 0 to 5",
    ),
    "25 conditions": (
        whole(conditions=[LOADS] * 25),
        Code.TOO_MANY_BRANCHES,
        "conditions",
        "there are 25; at most 24",
    ),
    "too many names": (
        whole(
            conditions=[
                {"condition": "a", "branches": {f"b{n}": REPORT for n in range(MAX_BRANCHES + 1)}}
            ]
        ),
        Code.TOO_MANY_BRANCHES,
        "conditions[0].branches",
        "split the condition",
    ),
    "a choice of nothing": (
        asking(kind="choose"),
        Code.CHOOSE_NEEDS_OPTIONS,
        "conditions[0].branch.human.options",
        "2 to 8 options; there are 0",
    ),
    "a choice of the same": (
        asking(kind="choose", options=["Yes", "No", "yes "]),
        Code.CHOOSE_NEEDS_OPTIONS,
        "conditions[0].branch.human.options[2]",
        "it reads like conditions[0].branch.human.options[0]",
    ),
    "a choice of what shows the same": (
        asking(kind="choose", options=["@ops", "`no`", "'no\u200b'"]),
        Code.CHOOSE_NEEDS_OPTIONS,
        "conditions[0].branch.human.options[2]",
        "make them differ",
    ),
    "an option that does not show": (
        asking(kind="choose", options=["Yes", "\u200b\u2060"]),
        Code.CHOOSE_NEEDS_OPTIONS,
        "conditions[0].branch.human.options[1]",
        "nothing of it would show",
    ),
    "a choice of one": (
        asking(kind="choose", options=["Yes"]),
        Code.CHOOSE_NEEDS_OPTIONS,
        "conditions[0].branch.human.options",
        "there are 1",
    ),
    "a choice of nine": (
        asking(kind="choose", options=[str(n) for n in range(9)]),
        Code.CHOOSE_NEEDS_OPTIONS,
        "conditions[0].branch.human.options",
        "there are 9",
    ),
}


@pytest.mark.parametrize(("given", "code", "path", "words"), FAULTY.values(), ids=FAULTY.keys())
def test_every_fault_is_told_with_its_code_its_place_and_how_to_mend_it(
    given: object, code: Code, path: str, words: str
) -> None:
    error = refused(given)
    assert [(fault.code, fault.path) for fault in error.faults] == [(code, path)]
    assert words in error.faults[0].message
    assert str(error.faults[0]) in str(error)
    assert (error.code, error.path) == (code, path)
    assert (path or "the table") in str(error)


def test_a_model_above_the_parent_s_tier_is_refused_with_the_ones_it_may_have() -> None:
    error = refused(whole(escalation_model="opus"), parent=SONNET)
    assert (error.code, error.path) == (Code.TIER_ABOVE_PARENT, "escalation_model")
    assert "opus is tier 1, above your own tier 2. Name one of: sonnet, tiny" in str(error)


def test_no_branch_may_ask_a_person_where_none_can_be_reached() -> None:
    error = refused(asking(), human_route=False)
    assert (error.code, error.path) == (Code.NO_HUMAN_ROUTE, "conditions[0].branch.tier")
    assert "write overseer, or report" in str(error)


def test_depth_0_needs_a_person_too() -> None:
    error = refused(whole(max_escalation_depth=0), human_route=False)
    assert (error.code, error.path) == (Code.NO_HUMAN_ROUTE, "max_escalation_depth")
    assert read(whole(max_escalation_depth=0)).depth == 0


def test_every_code_of_the_spec_has_an_example_here() -> None:
    shown = {code for _, code, _, _ in FAULTY.values()}
    assert shown | {Code.TIER_ABOVE_PARENT, Code.NO_HUMAN_ROUTE} == set(Code)


def test_a_default_that_does_not_close_the_list_is_missing_there() -> None:
    error = refused([{"default": OVERSEER}, LOADS])
    assert {(fault.code, fault.path) for fault in error.faults} == {
        (Code.BAD_SCHEMA, "conditions[0].default"),
        (Code.MISSING_DEFAULT, "default"),
    }


def test_all_faults_are_collected_and_five_of_them_told() -> None:
    broken: Json = {"condition": "a", "branch": {"action": "x"}}
    error = refused(whole(conditions=[broken] * 7, max_escalation_depth=9))
    assert len(error.faults) == 8
    assert str(error).count("bad_schema at") == FAULTS_TOLD
    assert "and 3 more" in str(error)


def test_a_table_beyond_all_measure_is_refused() -> None:
    long: Json = {"condition": "a" * 1_000, "checks": [f"{n}{'b' * 290}" for n in range(12)]}
    assert isinstance(long, dict)
    error = refused(whole(conditions=[{**long, "branch": REPORT}] * 20))
    assert f"at most {TABLE_CHARS:,} characters" in str(error)
    assert "100,000" in str(refused("x" * 100_001))


def test_depth_and_options_at_their_bounds_are_taken() -> None:
    assert [read(whole(max_escalation_depth=n)).depth for n in (0, 5)] == [0, 5]
    for count in (LEAST_OPTIONS, MOST_OPTIONS):
        read(asking(kind="choose", options=[str(n) for n in range(count)]))
    assert len(read(whole(conditions=[LOADS] * 24)).conditions) == 24


def test_the_overseer_s_model_is_the_table_s_then_the_settings_then_the_parent_s() -> None:
    named = read(whole(escalation_model="tiny"))
    bare = read(whole())
    assert overseer_model(named, "sonnet", CATALOGUE, OPUS) is TINY
    assert overseer_model(bare, "sonnet", CATALOGUE, OPUS) is SONNET
    assert overseer_model(bare, "", CATALOGUE, OPUS) is OPUS


def test_no_setting_lifts_the_overseer_above_the_parent_s_tier() -> None:
    assert overseer_model(read(whole()), "opus", CATALOGUE, SONNET) is SONNET


def test_the_tool_s_schema_takes_the_canonical_form() -> None:
    assert json_schema.complaint(SCHEMA) == ""
    for table in (read(YAML_LIST), read(JSON_OBJECT)):
        assert json_schema.fits(SCHEMA, table.canonical).met


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0{}"), min_size=1, max_size=20)
WORDS = TEXTS.map(str.strip).filter(bool)
TEMPLATES = WORDS | st.sampled_from(["{goal} {{x}}", "{observed_state}", ""])
REPORTS = st.builds(Report, TEMPLATES, st.booleans())
HUMANS = st.builds(
    Human,
    kind=st.sampled_from([Kind.APPROVE, Kind.TEXT]),
    timeout_s=st.integers(10, DAY_S),
    on_timeout=st.sampled_from(OnTimeout),
) | st.builds(Human, kind=st.just(Kind.CHOOSE), options=st.just(("a", "b c")))
BRANCHES = REPORTS | st.builds(Escalate, st.sampled_from(Route), TEMPLATES, HUMANS)
NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,8}", fullmatch=True)


@st.composite
def conditions(draw: st.DrawFn) -> tuple[Condition, ...]:
    """Conditions with ids by their place."""
    many = draw(
        st.lists(
            st.tuples(
                WORDS,
                st.lists(WORDS, max_size=3, unique=True),
                BRANCHES.map(lambda b: (("", b),))
                | st.dictionaries(NAMES, BRANCHES, min_size=1, max_size=3).map(
                    lambda d: tuple(d.items())
                ),
            ),
            min_size=1,
            max_size=4,
        )
    )
    return tuple(
        Condition(f"c{n}", text, tuple(checks), branches)
        for n, (text, checks, branches) in enumerate(many, 1)
    )


TABLES = st.builds(
    Table,
    conditions=conditions(),
    default=BRANCHES,
    escalation_model=st.sampled_from(["", "opus", "tiny"]),
    depth=st.integers(0, 5),
)


@given(TABLES)
def test_the_canonical_form_reads_back_as_the_same_table(table: Table) -> None:
    assert read(table.to_json()) == table
    assert read(table.canonical) == table
    assert restored(json.loads(table.canonical)) == table
    assert len(set(table.labels)) == len(table.labels)
    assert all(table.find(label) is not None for label in table.labels)


ANY: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "conditions",
                    "default",
                    "branch",
                    "branches",
                    "action",
                    "human",
                    "kind",
                    "options",
                    "timeout_s",
                    "id",
                    "checks",
                    "max_escalation_depth",
                    "escalation_model",
                    "x",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=25,
)


def told(anything: Json) -> str | None:
    """What is said of it, None where it is a table."""
    try:
        read(anything)
    except TableError as error:
        return str(error)
    return None


@given(ANY | st.text(max_size=60))
def test_whatever_is_given_is_a_table_or_a_told_fault(anything: Json) -> None:
    faults = told(anything)
    if faults is None:
        assert read(read(anything).to_json()) == read(anything)
    else:
        assert len(faults) < 6_000


ODD = st.sampled_from(["a", "A", "@", "＠", "`", "'", "\u200b", " ", "\u0301", "ß", "ss", "<"])


@given(st.lists(st.lists(ODD, max_size=5).map("".join), max_size=9))
def test_options_that_are_taken_are_taken_by_whoever_asks_the_person(options: list[str]) -> None:
    given_table = asking(kind="choose", options=[*options])
    if told(given_table) is None:
        choice = read(given_table).find("c1")
        assert choice is not None
        assert isinstance(choice.branch, Escalate)
        shown = choice.branch.human.options
        assert objection(replace(escalation(Kind.CHOOSE), options=shown), 0) is None


def test_the_tables_in_the_docs_can_be_used() -> None:
    text = (Path(__file__).parents[2] / "docs" / "delegation.md").read_text("utf-8")
    (written,) = re.findall(r"(?ms)^```yml\n(.*?)^```", text)
    call = json.loads(re.findall(r"(?ms)^```json\n(.*?)^```", text)[-1])
    main = Ranked("main", 1, "lab/main")
    for shown in (written, call["branch_table"]):
        assert "c1.not_found" in read(shown, parent=main, catalogue=(main,)).labels
