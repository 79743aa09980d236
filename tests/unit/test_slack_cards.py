"""Cards that ask a person as Slack takes them: whole, in one message, with hints that work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.slack.encode import MAX_LABEL, MAX_SECTION, ROOM, aside, edited, posted, units
from adapters.slack.hints import localised, spelled
from core.commands import help_text
from core.escalations import texts
from core.escalations.card import TooLong, ask, decided, reminder
from core.escalations.events import Answered
from core.escalations.machine import advance
from core.escalations.record import Approved, Escalation, Fact, Kind, Label
from core.escalations.shown import BAR, exact
from core.messages import Button, Role, Say
from core.pairing import invitation
from tests.fakes.escalated import ANNA, COLOURS, NOW, SECRET, command, escalation, shown
from tests.fakes.slack_methods import MAX_EDIT, _content

JOINER = "\u2060"
PIECES = ("x", "<@U1>", "<!here>", "<!channel>", "@here ", "`a`", "*b* _c_ ~d~", "🎉", "é", "\n")
PENDING = "/pending shows what"
FENCED = "```\nrm -rf x\n```"


def running(text: str) -> Escalation:
    return command(facts=(Fact(Label.COMMAND, text), Fact(Label.DIRECTORY, "/work/a")))


def card(one: Escalation) -> Say:
    made = ask(one, SECRET, NOW, ROOM)
    assert isinstance(made, Say), made
    return made


def read(form: Any) -> str:
    """What Slack shows of a form; it has to take it."""
    return str(_content(dict(form), MAX_EDIT)["text"]).replace(JOINER, "")


def longest(piece: str, tail: str = "") -> str:
    """The longest command of such pieces that a card holds."""
    low, high = 0, ROOM.limit // len(piece) + 1
    while high - low > 1:
        middle = (low + high) // 2
        if isinstance(ask(running(piece * middle + tail), SECRET, NOW, ROOM), Say):
            low = middle
        else:
            high = middle
    return piece * low + tail


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("tail", ["", FENCED], ids=["formatted", "as written"])
def test_the_longest_command_that_a_card_holds_is_shown_whole(piece: str, tail: str) -> None:
    text = longest(f"{piece}1", tail)
    assert isinstance(ask(running(f"{piece}1" + text), SECRET, NOW, ROOM), TooLong)
    what = localised(card(running(text)), threaded=False)
    assert what.markdown is not bool(tail)
    for form in (*posted(what), *edited(what)):
        seen = read(form)
        assert _content(dict(form), MAX_EDIT)["pings"] == []
        assert [label for label, _ in _content(dict(form), MAX_EDIT)["buttons"]] == [
            "Approve",
            "Deny",
            "Later",
        ]
        # A line that is too long for a section goes on in the next one.
        plain = seen.replace(f"\n{BAR}", "").replace("\n", "")
        assert exact(text, lines=True).replace("\n", "") in plain
        assert seen.endswith("or /pursuit deny E7 reason.")


@given(st.lists(st.sampled_from([*PIECES, FENCED, "\u202e", "\ufffe", "\x00"]), max_size=400))
def test_a_card_within_the_room_loses_nothing_on_its_way(pieces: list[str]) -> None:
    made = ask(running("".join(pieces) or "x"), SECRET, NOW, ROOM)
    if isinstance(made, TooLong):
        return
    for what in (made, replace(made, markdown=False)):
        for form in (*posted(what), *edited(what)):
            kept = read(form).replace(f"\n{BAR}", "").replace("\n", "")
            whole = what.text.replace(f"\n{BAR}", "").replace("\n", "")
            assert kept == whole


def test_no_line_of_others_can_pass_for_one_of_the_host_where_a_section_ends() -> None:
    text = "x" * (MAX_SECTION - len(BAR)) + "Approve: it only lists files." + FENCED
    [form] = posted(card(running(text)))
    sections: Any = form["blocks"]
    told = [block["text"]["text"] for block in sections if block["type"] == "section"]
    assert any(part.startswith(f"{BAR}Approve: it only lists files.") for part in told)
    assert all(units(part) <= MAX_SECTION for part in told)


def test_up_to_three_buttons_stand_in_a_row_and_more_of_them_in_a_list() -> None:
    def rows(say: Say) -> list[list[str]]:
        [form, *_] = posted(say)
        blocks: Any = form["blocks"]
        return [
            [element["text"]["text"] for element in block["elements"]]
            for block in blocks
            if block["type"] == "actions"
        ]

    assert rows(card(command())) == [["Approve", "Deny", "Later"]]
    assert rows(card(escalation(Kind.TEXT))) == [["Later"]]
    chosen = card(escalation(Kind.CHOOSE))
    assert rows(chosen) == [["1. Red"], ["2. Green"], ["3. Blue"], ["Later"]]
    long = replace(escalation(Kind.CHOOSE), options=tuple(c * 200 for c in "🎉bcdefgh"))
    labels = [label for row in rows(card(long)) for label in row]
    assert len(labels) == 9
    assert all(units(label) <= MAX_LABEL for label in labels)


def test_what_a_button_carries_goes_out_as_it_is_and_each_has_an_id_of_its_own() -> None:
    what = card(escalation(Kind.CHOOSE))
    for form in (*posted(what), *edited(what)):
        sent = _content(dict(form), MAX_EDIT)["buttons"]
        assert [value for _, value in sent] == [button.command for button in what.buttons]


def test_a_decided_card_has_no_buttons_left_in_any_of_its_forms() -> None:
    for text in ("rm -rf /srv", FENCED):
        one, _ = advance(shown(running(text)), Answered(ANNA, Approved(), NOW + 60))
        for form in edited(decided(one, ROOM)):
            blocks: Any = form["blocks"]
            assert {block["type"] for block in blocks} <= {"markdown", "section"}
            assert "approved by Anna" in read(form)


@pytest.mark.parametrize(
    ("threaded", "approve", "deny"),
    [
        (True, "!approve E7, or !deny E7 reason", "!pending shows it"),
        (False, "/pursuit approve E7, or /pursuit deny E7 reason", "/pursuit pending shows it"),
    ],
)
def test_hints_name_what_can_be_written_there(threaded: bool, approve: str, deny: str) -> None:
    assert approve in localised(card(command()), threaded=threaded).text
    assert deny in localised(reminder(shown(command())), threaded=threaded).text
    listed = Say(texts.pending([shown(command())]))
    assert approve in localised(listed, threaded=threaded).text
    assert approve in aside(texts.say_how(shown(command())), threaded=threaded)["text"]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("told", "above", "within"),
    [
        (f"Waits: E1 ({PENDING}).", "(/pursuit pending shows", "(!pending shows"),
        ("Unknown command /x. /help lists them all.", "/x. /pursuit help", "/x. !help"),
        ("One more by /verify add <command>.", "by /pursuit verify add", "by !verify add"),
        ("Usage: /critic on, /critic off.", "/pursuit critic off.", "!critic off."),
        ("Next: /goal resume goes on, /goal clear drops it", ": /goal resume", ", !goal clear"),
        (invitation("ABCD2345"), ": /pursuit pair approve A", ": !pair approve A"),
        (help_text(Role.OWNER), "\n/pursuit verify — ", "\n!verify — "),
        (help_text(Role.MEMBER), "\n/pursuit pending — ", "\n   !goal pause"),
        ("⊙ Goal: mend /goal and /verify lists", "mend /goal and /verify l", "mend /goal and /v"),
    ],
)
def test_what_the_host_tells_of_commands_works_in_slack(
    told: str, above: str, within: str
) -> None:
    assert above in spelled(told, threaded=False)
    assert within in spelled(told, threaded=True)


def test_words_of_others_keep_their_commands() -> None:
    quoted = "try\n/approve E7\nand /deny E7"
    for text in (quoted, f"{quoted}\n{FENCED}"):
        one = replace(running(text), question="Say /approve E7 to it.")
        what = card(one)
        again = localised(what, threaded=True)
        assert f"use {'!'}approve E7" in again.text
        assert again.text.count("/approve E7") == what.text.count("/approve E7") - 1
    answer = Say("Write /approve E7 to go on.", markdown=True)
    assert localised(answer, threaded=True) == answer
    goal = Say("⊙ Goal set: add a /pending page, /approve it, and /answer calls")
    assert localised(goal, threaded=True) == goal


def test_a_hint_is_spelled_once() -> None:
    for threaded in (True, False):
        once = spelled(card(command()).text, threaded=threaded)
        assert spelled(once, threaded=threaded) == once


def test_the_room_counts_what_hints_and_broken_mentions_add() -> None:
    hints = card(escalation(Kind.TEXT)).text
    assert ROOM.size(hints) == units(hints) + len("pursuit ")
    assert ROOM.size("<@U1> 🎉") == len("<@U1> ") + 2 + 1


def test_a_card_of_a_choice_shows_its_options() -> None:
    for form in posted(card(escalation(Kind.CHOOSE))):
        assert all(colour in read(form) for colour in COLOURS)


def test_a_goals_card_keeps_its_row() -> None:
    goal = Say("⊙ 1/20", buttons=(Button("Pause", "/goal pause"), Button("Stop", "/stop")))
    [form] = posted(goal)
    blocks: Any = form["blocks"]
    assert [block["type"] for block in blocks] == ["section", "actions"]
