"""What a tool argument may hold as acceptance criteria, and what a refusal tells the model."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from core.delegation.acceptance import criteria
from core.delegation.acceptance.criteria import (
    MAX_CRITERIA,
    MAX_TEXT,
    CommandSucceeds,
    Criterion,
    FileContains,
    FileExists,
    JsonSchema,
    Judged,
    join,
    lacking,
    parse,
    words,
)
from core.delegation.acceptance.json_schema import complaint, fits
from core.errors import UserError
from core.transcript import Json

OBJECT: dict[str, Json] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def refusal(given: object) -> str:
    with pytest.raises(UserError) as caught:
        parse(given)
    return str(caught.value)


# Reading


def test_a_text_is_one_criterion_and_nothing_is_none() -> None:
    assert parse(" it is blue ") == (Judged("it is blue"),)
    assert parse('["a", "b"]') == (Judged('["a", "b"]'),)
    assert parse(None) == parse([]) == ()


def test_a_list_holds_texts_and_checks_in_their_order() -> None:
    assert parse(
        [
            "it is blue",
            {"file_exists": "a.txt"},
            {"file_contains": ["a.txt", "\n"]},
            {"command_succeeds": "pytest -q"},
            {"json_schema": OBJECT},
        ]
    ) == (
        Judged("it is blue"),
        FileExists("a.txt"),
        FileContains("a.txt", "\n"),
        CommandSucceeds("pytest -q"),
        JsonSchema(OBJECT),
    )
    assert parse({"file_exists": "a"}) == (FileExists("a"),)


def test_the_ninth_criterion_is_refused_with_the_count_and_the_limit() -> None:
    assert len(parse(["c"] * 8)) == MAX_CRITERIA == 8
    assert "there are 9, at most 8 are allowed" in refusal(["c"] * 9)


def test_the_batchs_criteria_count_with_the_tasks_own() -> None:
    own, shared = parse(["a", "b"]), parse(["c"] * 6)
    assert join(own, shared)[:3] == (Judged("a"), Judged("b"), Judged("c"))
    with pytest.raises(UserError, match=r"there are 9 \(3 of the task and 6 of the batch\)"):
        join((*own, Judged("x")), shared)


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ("  ", "acceptance_criteria 1: the text is empty."),
        (7, "it must be a text or an object, not a number."),
        (None, "not null"),
        (True, "not a boolean"),
        (["a"], "not a list"),
        ({}, "it has: none"),
        ({"regex": "a"}, "file_exists, file_contains, command_succeeds, json_schema (it has: reg"),
        ({"file_exists": "a", "command_succeeds": "b"}, "exactly one of the keys"),
        ({"file_exists": 1}, "acceptance_criteria 1: file_exists takes a text, not a number."),
        ({"file_exists": ""}, "file_exists: the text is empty."),
        ({"file_contains": "a.txt"}, "file_contains takes a list of two texts, [path, text]."),
        ({"file_contains": ["a", "b", "c"]}, "[path, text]"),
        ({"file_contains": {"path": "a", "text": "b"}}, "[path, text]"),
        ({"file_contains": ["a", 1]}, "file_contains's text takes a text, not a number."),
        ({"file_contains": ["a", ""]}, "file_contains's text: the text is empty."),
        ({"command_succeeds": ["ls"]}, "command_succeeds takes a text, not a list."),
        ({"command_succeeds": "a\0b"}, "holds a NUL"),
        ({"file_exists": "\ud800"}, "half of a character"),
        ({"json_schema": "{}"}, "takes a JSON schema as an object, not a text."),
        ({"json_schema": {"type": "obj"}}, "acceptance_criteria 1: json_schema: at $.type: 'obj'"),
        ("x" * (MAX_TEXT + 1), "4,001 characters are too many, at most 4,000 are allowed."),
    ],
)
def test_a_bad_criterion_is_named_with_what_it_takes(item: object, said: str) -> None:
    assert said in refusal([item])


@settings(max_examples=50)
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists))
def test_whatever_is_given_is_read_or_refused(given: object) -> None:
    said = ""
    try:
        assert all(words(criterion) for criterion in parse(given))
    except UserError as error:
        said = str(error)
    assert said == "" or said.startswith("acceptance_criteria")


def test_checks_need_the_toolsets_that_could_do_the_same() -> None:
    command, file = parse([{"command_succeeds": "ls"}]), parse([{"file_exists": "a"}])
    assert "needs the toolset terminal" in lacking(command, ("file", "think"))
    assert lacking(command, ("terminal",)) == ""
    assert "file or terminal" in lacking(parse([{"file_contains": ["a", "b"]}]), ("think",))
    assert lacking(file, ("terminal",)) == lacking(file, ("file",)) == ""
    assert lacking(parse(["it is blue", {"json_schema": OBJECT}]), ()) == ""


@pytest.mark.parametrize(
    ("criterion", "said"),
    [
        (Judged("it is blue"), "it is blue"),
        (FileExists("a\n.txt"), "a .txt exists"),
        (FileContains("a.txt", "ü\n"), 'a.txt contains "ü\\n"'),
        (CommandSucceeds("make"), "the command succeeds: make"),
        (JsonSchema({"type": "null"}), 'nothing but JSON that fits this schema: {"type": "null"}'),
    ],
)
def test_a_criterion_in_words(criterion: Criterion, said: str) -> None:
    assert words(criterion).endswith(said)


def test_the_tools_parameter_names_every_check_and_costs_little() -> None:
    Draft202012Validator.check_schema(dict(criteria.SCHEMA))
    text = json.dumps(criteria.SCHEMA)
    assert all(name in text for name in criteria._CHECKS)
    assert len(text) < 450


# JSON schemas


def test_an_output_that_is_json_of_the_schema_fits_also_in_a_fence() -> None:
    for output in ('{"n": 1}', ' {"n": 1}\n', '```json\n{"n": 1}\n```'):
        assert fits(OBJECT, output).met, output


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ('{"n": "1"}', "at $.n: '1' is not of type 'integer'"),
        ("{}", "at $: 'n' is a required property"),
        ('Here it is: {"n": 1}', "the output is not JSON and nothing else"),
        ('```json\n{"n": 1}\n```\nDone.', "the output is not JSON"),
        ('{"n": "x", "n": 1}', "a key appears twice"),
        ('{"n": NaN}', "NaN is not JSON"),
        ("", "the output is not JSON"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_an_output_that_does_not_fit_says_why(output: str, why: str) -> None:
    found = fits(OBJECT, output)
    assert found.met is False
    assert why in found.why
    assert len(found.why) <= 350


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"$ref": "http://127.0.0.1:9/s.json"}, "$ref may point into the schema only"),
        ({"$defs": {"a": {"$dynamicRef": "other.json"}}}, "$dynamicRef may point into"),
        ({"$ref": "#/$defs/gone"}, "$ref points to nothing: #/$defs/gone"),
        ({"pattern": "(?=a)"}, "look-around"),
        ({"items": {"pattern": "("}}, "cannot be used"),
        ({"patternProperties": {"^a": {}}}, "patternProperties is not supported"),
        ({"$schema": ["a"]}, "$schema must be a text"),
        ({"items": {"$schema": DRAFT_7}}, "$schema may stand at the top only"),
        ({"description": "x" * 20_000}, "it is too long: at most 20,000 characters"),
        ({"minimum": "1"}, "at $.minimum"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(schema: dict[str, Json], why: str) -> None:
    assert why in complaint(schema)


def test_references_within_a_schema_are_followed_in_old_drafts_too() -> None:
    text: Json = {"type": "string"}
    new: dict[str, Json] = {"$id": "https://a.example/b", "$defs": {"t": text}}
    old: dict[str, Json] = {"$schema": DRAFT_7, "definitions": {"t": text}}
    new["items"], old["items"] = {"$ref": "#/$defs/t"}, {"$ref": "#/definitions/t"}
    for schema in (new, old):
        assert complaint(schema) == ""
        assert fits(schema, '["a"]').met
        assert fits(schema, "[1]").met is False


def test_a_schema_may_have_properties_named_like_keywords() -> None:
    schema: dict[str, Json] = {
        "properties": {"pattern": {"type": "string"}, "$ref": {"type": "string"}}
    }
    assert complaint(schema) == ""
    assert fits(schema, '{"pattern": "(", "$ref": "http://a"}').met


def test_no_pattern_and_no_schema_can_hang_the_check() -> None:
    doubling: dict[str, Json] = {
        f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]}
        for n in range(40)
    }
    bomb: dict[str, Json] = {"$defs": {**doubling, "d40": {}}, "$ref": "#/$defs/d0"}
    objects = json.dumps([{"n": n} for n in range(5_000)])
    began = time.monotonic()
    assert fits({"pattern": "(a+)+$"}, json.dumps("a" * 50_000 + "!")).met is False
    assert fits({"pattern": "^(a+)+$"}, json.dumps("a" * 50_000)).met
    for schema, output in ((bomb, "1"), ({"$ref": "#"}, "1"), ({"uniqueItems": True}, objects)):
        assert complaint(schema) == ""
        assert fits(schema, output).met is None
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("output", ["1e400", "[" * 900 + "]" * 900, "1" * 1_000_001])
def test_what_cannot_be_checked_is_neither_met_nor_not(output: str) -> None:
    assert fits({"multipleOf": 0.1, "items": {"$ref": "#"}}, output).met is not False
    assert fits({"multipleOf": 0.1}, "1e400").met is None
