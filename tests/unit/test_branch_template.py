"""Templates of branch tables: six variables, and nothing else that braces could reach."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.branches.template import NOTHING, VALUE_CHARS, VARIABLES, Values, render, unknown

SECRET = Values(observed_state="seen", goal="the goal", branch="c1.ok", tried="{goal}")


def test_there_are_the_six_variables_of_the_spec() -> None:
    names = {"observed_state", "expected", "branch", "condition", "tried", "goal"}
    assert set(VARIABLES) == names
    assert unknown(" ".join(f"{{{name}}}" for name in names)) == ()


@pytest.mark.parametrize(
    "attack",
    [
        "{observed_state.__class__}",
        "{observed_state!r}",
        "{observed_state:>9999999}",
        "{observed_state[0]}",
        "{goal.__init__.__globals__}",
        "{0}",
        "{}",
        "{ goal }",
        "{Goal}",
        "{goal",
        "goal}",
        "{{goal}",
        "{__class__}",
    ],
)
def test_whatever_reaches_beyond_a_variable_is_unknown_and_stays_as_it_is_written(
    attack: str,
) -> None:
    assert unknown(attack)
    assert "the goal" not in render(attack, SECRET)
    assert "<class" not in render(attack, SECRET)


def test_two_braces_stand_for_one() -> None:
    template = '{{"state": "{observed_state}"}} {{goal}} {{{goal}}}'
    assert unknown(template) == ()
    assert render(template, SECRET) == '{"state": "seen"} {goal} {the goal}'


def test_braces_in_a_value_are_never_looked_at_again() -> None:
    values = Values(observed_state="{goal} {{x}} {tried}", tried="{observed_state}", goal="g")
    assert render("{observed_state}|{tried}", values) == "{goal} {{x}} {tried}|{observed_state}"


def test_a_value_is_cut_to_600_characters_and_an_empty_one_says_so() -> None:
    shown = render("{observed_state}", Values(observed_state="x" * 10_000))
    assert len(shown) == VALUE_CHARS == 600
    assert shown.endswith("…")
    assert render("{expected}", Values()) == NOTHING


def test_control_and_direction_characters_do_not_come_through() -> None:
    shown = render("{observed_state}", Values(observed_state="a\x1b[31m\u202eb"))
    assert "\x1b" not in shown
    assert "\u202e" not in shown


@given(st.text(alphabet="{}gola_. abserv", max_size=40), st.text(max_size=30))
def test_a_template_without_unknown_pieces_loses_all_single_braces_and_keeps_values_whole(
    template: str, value: str
) -> None:
    values = Values(goal=value)
    shown = render(template, values)
    assert len(shown) <= len(template) + template.count("{goal}") * VALUE_CHARS
    if "{" not in template and "}" not in template:
        assert shown == template
