"""What a person writes behind `/goal` and `/subgoal`: a word is a subcommand only when the whole
argument fits its grammar."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.goals.contract import (
    CONTRACT_KEYS,
    AcceptDraft,
    AddCriterion,
    ChangeBudget,
    ClearCriteria,
    ClearGoal,
    DraftGoal,
    GoalCommand,
    ListCriteria,
    Misread,
    PauseGoal,
    RemoveCriterion,
    ResumeGoal,
    SetGoal,
    ShowGoal,
    ShowStatus,
    WaitGoal,
    read_duration,
    read_goal,
    read_subgoal,
    show_duration,
    too_long,
)


@pytest.mark.parametrize(
    ("argument", "command"),
    [
        ("", ShowStatus()),
        ("  status ", ShowStatus()),
        ("SHOW", ShowGoal()),
        ("pause", PauseGoal()),
        ("Resume", ResumeGoal()),
        ("clear", ClearGoal()),
        ("accept", AcceptDraft()),
        ("draft a poem about rain", DraftGoal("a poem about rain")),
        ("wait 10m", WaitGoal(600.0)),
        ("wait  1h 30m", WaitGoal(5400.0)),
        ("wait\t10m", WaitGoal(600.0)),
        ("budget turns=1__0", ChangeBudget({"turns": 10})),
        ("budget turns=5", ChangeBudget({"turns": 5})),
        (
            "budget TURNS=5 tokens=1_000 cost=$2.50 time=2h",
            ChangeBudget({"turns": 5, "tokens": 1000, "cost": 2.5, "seconds": 7200.0}),
        ),
        (
            "budget tokens=none cost=off time=none",
            ChangeBudget({"tokens": None, "cost": None, "seconds": None}),
        ),
    ],
)
def test_a_whole_argument_that_fits_is_a_subcommand(argument: str, command: GoalCommand) -> None:
    assert read_goal(argument) == command


@pytest.mark.parametrize(
    "argument",
    [
        "clear the backlog",
        "pause the music",
        "status page for the team",
        "resume writing my thesis",
        "show me the way",
        "accept all invitations",
        "wait for the build, then deploy",
        "wait 10 parsecs",
        "wait 0m",
        "budget the trip to Rome",
        "clearing",
        "drafting a plan",
        "gate the community",
        "gate list every door of the airport",
        "gate remove the rust",
        "gate adding is what we need",
    ],
)
def test_a_word_with_more_behind_it_is_a_goal(argument: str) -> None:
    assert read_goal(argument) == SetGoal(argument)


@pytest.mark.parametrize(
    "argument",
    [
        "draft",
        "wait",
        "budget",
        "budget turns=0",
        "budget turns=none",
        "budget turns=-1",
        "budget turns=1.5",
        "budget turns=_10",
        "budget turns=5 and=more",
        "budget cost=-1",
        "budget cost=0",
        "budget time=soon",
        "budget turns=" + "9" * 5000,
        "budget tokens=" + "9" * 30,
        "budget cost=" + "9" * 400,
        "budget time=" + "9" * 400 + "h",
        "outcome:",
        "verify:\nconstraints:",
    ],
)
def test_a_subcommand_that_cannot_be_used_says_what_would_fit(argument: str) -> None:
    read = read_goal(argument)
    assert isinstance(read, Misread)
    assert len(read.text) < 400


@pytest.mark.parametrize(
    "argument",
    ["gate", "gate list", "gate remove", "GATE remove 2", "gate add", "Gate  ADD pytest -q\nls"],
)
def test_a_line_about_gates_is_no_goal(argument: str) -> None:
    assert not isinstance(read_goal(argument), SetGoal)


def test_contract_lines_follow_the_text_in_any_order_and_case() -> None:
    read = read_goal(
        "Write a poem\nabout rain\nVerify: cat poem.txt\n  and count its lines\n"
        "OUTCOME : poem.txt exists\nStop when: the disk is full\nverify: also its title"
    )
    assert read == SetGoal(
        "Write a poem\nabout rain",
        (
            ("outcome", "poem.txt exists"),
            ("verify", "cat poem.txt\n  and count its lines\nalso its title"),
            ("stop when", "the disk is full"),
        ),
    )


def test_an_empty_contract_line_is_none() -> None:
    assert read_goal("Write a poem\nverify:\noutcome: done") == SetGoal(
        "Write a poem", (("outcome", "done"),)
    )


def test_a_goal_of_contract_lines_only_is_its_first_one() -> None:
    assert read_goal("outcome: a poem\nverify: cat it") == SetGoal(
        "a poem", (("verify", "cat it"),)
    )


def test_a_text_that_is_too_long_is_refused_with_its_length_in_bytes() -> None:
    assert too_long("The goal", "ü" * 50, 100) == ""
    assert too_long("The goal", "ü" * 1_000, 1_999) == (
        "The goal has 2,000 bytes; at most 1,999 are taken. "
        "Put the details into a file and name it in the goal."
    )


def test_a_long_goal_draft_or_criterion_is_read_whole() -> None:
    long = "x" * 50_000
    assert read_goal(long) == SetGoal(long)
    assert read_goal(f"draft {long}") == DraftGoal(long)
    assert read_subgoal(long) == AddCriterion(long)


@pytest.mark.parametrize(
    ("argument", "command"),
    [
        ("", ListCriteria()),
        ("clear", ClearCriteria()),
        ("remove 2", RemoveCriterion(2)),
        ("REMOVE  2", RemoveCriterion(2)),
        ("clear the table", AddCriterion("clear the table")),
        ("remove the old files", AddCriterion("remove the old files")),
        ("no tabs\nanywhere", AddCriterion("no tabs\nanywhere")),
    ],
)
def test_a_criterion_is_what_is_no_subcommand(argument: str, command: GoalCommand) -> None:
    assert read_subgoal(argument) == command


def test_a_removal_without_a_number_says_what_would_fit() -> None:
    assert isinstance(read_subgoal("remove"), Misread)


def test_a_removal_by_an_endless_number_finds_no_criterion() -> None:
    read = read_subgoal("remove " + "9" * 5000)
    assert isinstance(read, RemoveCriterion)
    assert read.number > 10**9


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90.0),
        ("90s", 90.0),
        ("1.5h", 5400.0),
        ("1h30m", 5400.0),
        ("2d", 172800.0),
        ("10M", 600.0),
        ("0", None),
        ("", None),
        ("ten minutes", None),
        ("-5m", None),
        ("5 minutes", None),
        ("9" * 400, None),
    ],
)
def test_durations(text: str, seconds: float | None) -> None:
    assert read_duration(text) == seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (45.9, "45s"), (60, "1m"), (725, "12m 5s"), (7200, "2h"), (7380, "2h 3m")],
)
def test_durations_as_people_read_them(seconds: float, text: str) -> None:
    assert show_duration(seconds) == text


@given(st.integers(1, 10**7).filter(lambda s: s < 3600 or s % 60 == 0))
def test_a_shown_duration_reads_back(seconds: int) -> None:
    assert read_duration(show_duration(seconds)) == seconds


WORDS = st.sampled_from(
    [
        "wait",
        "budget",
        "draft",
        "remove",
        "turns=",
        "cost=",
        "time=",
        "9" * 4400,
        "²",
        "٣",
        "_",
        "1",
    ]
)


@given(st.text() | st.lists(WORDS | st.text(max_size=3)).map(" ".join))
@example("budget turns=²")
@example("wait ²")
def test_no_argument_ever_crashes_its_reading(argument: str) -> None:
    for read in (read_goal(argument), read_subgoal(argument)):
        match read:
            case SetGoal(text, contract):
                assert text.strip()
                assert all(key in CONTRACT_KEYS and value for key, value in contract)
            case DraftGoal(text) | AddCriterion(text):
                assert text.strip()
            case WaitGoal(seconds):
                assert 0 < seconds < math.inf
                show_duration(seconds)
            case ChangeBudget(changes):
                assert changes
                assert all(value is None or 0 < value < math.inf for value in changes.values())
            case _:
                pass
