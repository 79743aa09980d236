"""The strict YAML reader: what is text, where things stand, what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.transcript import Json
from gateway.errors import ConfigError
from gateway.settings.document import parse, parse_value


@pytest.mark.parametrize(
    "text",
    ["on", "yes", "Off", "True", "012", "12:30:45", "2020-01-01", "1_000", "0x1F", "0o7", ".inf"],
)
def test_what_other_yaml_readers_turn_into_something_else_stays_text(text: str) -> None:
    assert parse_value(text) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("0", 0),
        ("-17", -17),
        ("+3", 3),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("'5'", "5"),
        ("[1, a]", [1, "a"]),
        ("{a: 1}", {"a": 1}),
    ],
)
def test_numbers_booleans_and_null_are_what_they_look_like(text: str, value: Json) -> None:
    read = parse_value(text)
    assert read == value
    assert type(read) is type(value)


def test_an_empty_file_is_an_empty_mapping() -> None:
    assert parse("", "c.yaml").values == {}
    assert parse("# nothing yet\n", "c.yaml").values == {}


def test_every_setting_knows_its_line_and_column() -> None:
    document = parse("goals:\n  max_turns: 5\naccess: {telegram: {owners: [1,\n  2]}}\n", "c.yaml")
    assert document.where(("goals", "max_turns")) == "c.yaml:2:3"
    assert document.where(("access", "telegram", "owners", 1)) == "c.yaml:4:3"


def test_a_setting_that_is_not_written_stands_at_the_nearest_one_above() -> None:
    document = parse("a: 1\nb:\n  c: {}\n", "c.yaml")
    assert document.where(("b", "c", "missing")) == "c.yaml:3:3"


def test_a_key_that_is_there_twice_names_both_lines() -> None:
    with pytest.raises(ConfigError, match=r"c\.yaml:4:3: goals\.max_turns: .* line 2 already"):
        parse("goals:\n  max_turns: 1\n  max_cost: 2\n  max_turns: 3\n", "c.yaml")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [1,\n", "c.yaml:2:1: not valid YAML"),
        ("a: 1\n b: 2\n", "c.yaml:2:3: not valid YAML"),
        ("a:\n\tb: 1\n", "c.yaml:2:1: not valid YAML"),
        ("a: 1\n---\nb: 2\n", "c.yaml:2:1: not valid YAML"),
        ("a: *nowhere\n", "c.yaml:1:4: not valid YAML"),
        ("a: 1\nb: \x07\n", "c.yaml:2: not valid YAML: the character U+0007"),
        ("- a\n", "must be a mapping"),
        ("a: !!python/object/apply:os.system [echo]\n", "is not supported"),
        ("a: !!int on\n", "`int` is not supported for 'on'"),
        ("? [a]\n: b\n", "a key must be text"),
        ("a: &a [*a]\n", "expands without end"),
        ("a: " + "[" * 60 + "]" * 60, "nested too deeply"),
        ("[" * 5000, "nested too deeply"),
    ],
)
def test_what_cannot_be_read_says_where_and_why(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, "c.yaml")
    assert says in str(caught.value)


def test_aliases_of_aliases_cannot_fill_the_memory() -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(ConfigError, match="expands without end"):
        parse("\n".join(lines), "c.yaml")


def test_an_alias_stands_for_its_anchor() -> None:
    assert parse("a: &x {b: 1}\nc: *x\n", "c.yaml").values == {"a": {"b": 1}, "c": {"b": 1}}


def _problems(text: str) -> bool:
    try:
        parse(text, "c.yaml")
    except ConfigError as error:
        return bool(error.problems)
    return True


@given(st.text())
def test_any_text_is_read_or_refused_with_a_reason(text: str) -> None:
    assert _problems(text)
