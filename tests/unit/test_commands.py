"""The one table of chat commands, and how a command line is read."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import commands
from core.commands import COMMANDS, CommandSpec, Invocation, help_text, read, unknown
from core.messages import Role

# Telegram's limits; Discord's and Slack's are wider.
NAME = re.compile(r"[a-z0-9_]{1,32}")
SUMMARY_MAX = 100
MENU_MAX = 100
MESSAGE_MAX = 4096


@pytest.mark.parametrize("spec", COMMANDS, ids=lambda spec: spec.name)
def test_every_command_fits_every_platforms_menu(spec: CommandSpec) -> None:
    assert NAME.fullmatch(spec.name)
    assert 1 <= len(spec.summary) <= SUMMARY_MAX
    assert not spec.summary.endswith(".")
    assert spec.usage
    assert all(line.startswith(f"/{spec.name}") for line in spec.usage)


def test_names_are_unique_and_few_enough_for_a_menu() -> None:
    names = [spec.name for spec in COMMANDS]
    assert len(set(names)) == len(names) <= MENU_MAX


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("/stop", Invocation("stop", "")),
        ("/STOP ", Invocation("stop", "")),
        ("/goal Write a poem", Invocation("goal", "Write a poem")),
        ("/goal\nWrite\na poem", Invocation("goal", "Write\na poem")),
        ("/stop\n", Invocation("stop", "")),
        ("/no_such1 x", Invocation("no_such1", "x")),
    ],
)
def test_a_slash_and_a_name_is_a_command(text: str, line: Invocation) -> None:
    assert read(text) == line


@pytest.mark.parametrize(
    "text",
    [
        "",
        "stop",
        " /stop",
        "/",
        "/ stop",
        "//stop",
        "/etc/hosts is broken",
        "/stop!",
        "/стоп",
        "/goal: x",
        "/.",
        "\n/stop",
    ],
)
def test_anything_else_is_text(text: str) -> None:
    assert read(text) is None


@given(st.text())
def test_no_text_ever_crashes_the_reading(text: str) -> None:
    line = read(text)
    if line is not None:
        assert re.fullmatch(r"[a-z0-9_]+", line.name)
        assert line.argument == line.argument.strip()
        assert unknown(line.name).startswith(f"Unknown command /{line.name}.")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gaol", "Unknown command /gaol. Did you mean /goal? /help lists them all."),
        ("sop", "Unknown command /sop. Did you mean /stop? /help lists them all."),
        ("zzzz", "Unknown command /zzzz. /help lists them all."),
    ],
)
def test_an_unknown_command_is_answered_with_the_nearest(name: str, said: str) -> None:
    assert unknown(name) == said


@pytest.mark.parametrize("role", Role)
def test_help_fits_one_message_and_names_every_command_for_the_role(role: Role) -> None:
    text = help_text(role)
    assert len(text) <= MESSAGE_MAX
    for spec in COMMANDS:
        allowed = spec.role is Role.MEMBER or role is Role.OWNER
        assert (f"/{spec.name} — " in text) is allowed


def test_help_shows_members_nothing_that_only_owners_may_use() -> None:
    assert "(owners)" in help_text(Role.OWNER)
    assert "(owners)" not in help_text(Role.MEMBER)
    assert "/goal budget" not in help_text(Role.MEMBER)


def test_help_shows_what_a_command_takes_also_where_it_takes_one_thing_only() -> None:
    lines = help_text(Role.MEMBER).split("\n")
    assert lines[lines.index(f"/queue — {commands.BY_NAME['queue'].summary}") + 1] == (
        "   /queue <text>"
    )
    assert "   /steer <text>" in lines
    assert "   /approve E7: yes, to exactly that" in lines
    assert "   /stop" not in lines


def test_every_word_of_goal_is_a_subcommand_of_its_grammar() -> None:
    spec = commands.BY_NAME["goal"]
    usage = " ".join(spec.usage)
    assert all(word in usage or word in {"status", "accept"} for word in spec.words)


@pytest.mark.parametrize("gap", [" ", "\t", "\n", "\r\n", "\u00a0", " \n "])
def test_any_white_space_ends_a_commands_name(gap: str) -> None:
    assert read(f"/goal{gap}clear") == Invocation("goal", "clear")
    assert read(f"/stop{gap}") == Invocation("stop", "")
