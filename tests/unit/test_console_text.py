"""The console's pure parts: cleaning, decoding, encoding, the menu, the line cutter."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.console.clean import clean, one_line
from adapters.console.decode import Attach, Empty, Mistake, Order, Quit, Words, decode
from adapters.console.encode import file_note, is_goal_status, parts, readable_size, shown
from adapters.console.front import Oversized, Typed
from adapters.console.lines import LineCutter
from adapters.console.menu import suggest
from adapters.console.pastes import Pastes
from core.messages import Button, Say

COMMANDS = (("goal", "Set a goal"), ("/help", "List the commands"), ("stop", "Stop"))
ESCAPES = st.sampled_from(["\x1b", "\x1b[", "\x1b]", "0;", "m", "\x07", "\x9b", "\x1b\\", "\r"])


@pytest.mark.parametrize(
    ("raw", "safe"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]52;c;c2VjcmV0\x1b\\text", "text"),
        ("\x1bPq#0~\x1b\\text", "text"),
        ("\x9b2Jtext\x9d0;t\x9c", "text"),
        ("\x1bctext", "text"),
        ("\x1b(0text", "text"),
        ("\x1b\x1b[0m[31mtext", "[31mtext"),
        ("\x1b]0;never closed\nnext", "]0;never closed\nnext"),
        ("50%\r100%", "50%\n100%"),
        ("a\r\nb", "a\nb"),
        ("a\tb\x00\x08\x7f\x85c", "a\tb\nc"),
        ("user\u202egpj.exe", "usergpj.exe"),
        ("a\u2066b\u2069", "ab"),
        ("half \ud83d", "half \ufffd"),
        ("👩\u200d💻 שלום é ⊙", "👩\u200d💻 שלום é ⊙"),
    ],
)
def test_no_control_sequence_survives_cleaning(raw: str, safe: str) -> None:
    assert clean(raw) == safe


@given(st.lists(ESCAPES | st.text(max_size=5), max_size=12).map("".join))
def test_cleaned_text_holds_no_control_character_and_cleaning_again_changes_nothing(
    raw: str,
) -> None:
    safe = clean(raw)
    assert [c for c in safe if unicodedata.category(c) in {"Cc", "Cs"} and c not in "\n\t"] == []
    assert clean(safe) == safe


def test_one_line_joins_what_it_cleans() -> None:
    assert one_line(" a\n\x1b[1mb\r\n  c ") == "a b c"


@pytest.mark.parametrize(
    ("raw", "order"),
    [
        ("  \n ", Empty()),
        ("\x1b[A", Empty()),
        ("/quit", Quit()),
        (" /exit ", Quit()),
        ("/quit smoking", Words("/quit smoking")),
        (" /goal tidy up\noutcome: x ", Words("/goal tidy up\noutcome: x")),
        ("/attach a.png", Attach("a.png", "")),
        ("/attach 'my file.png' what's this?", Attach("my file.png", "what's this?")),
        ("/attach my\\ file.png\nlook\nhere", Attach("my file.png", "look\nhere")),
        ("/attachments are nice", Words("/attachments are nice")),
        ("/attach", Mistake("Usage: /attach PATH [message]")),
        (
            "/attach 'open",
            Mistake("The quotes round that path do not close. Usage: /attach PATH [message]"),
        ),
    ],
)
def test_what_is_typed_is_understood(raw: str, order: Order) -> None:
    assert decode(raw) == order


def test_a_console_takes_a_text_of_any_length_as_one_message() -> None:
    text = "word " * 100_000
    assert parts(text) == (Say(text, markdown=True),)


def test_everything_in_a_message_is_cleaned() -> None:
    what = Say("\x1b[2Jtext\n\n", buttons=(Button("Pau\x1b[1mse\n", "/goal pause"),))
    assert shown(what) == Say("text", buttons=(Button("Pause", "/goal pause"),))
    assert file_note("see\x07", "/tmp/a\x1b[31m\nb") == Say("see\n📄 /tmp/a b")
    assert file_note("", "/tmp/a").text == "📄 /tmp/a"


def test_a_goals_status_is_known_by_its_buttons() -> None:
    assert is_goal_status(Say("x", buttons=(Button("Pause", "/goal pause"),)))
    assert not is_goal_status(Say("x"))
    card = (Button("Approve", "/approve E1"), Button("Stop", "/stop"))
    assert not is_goal_status(Say("x", buttons=card))


def test_sizes_are_readable() -> None:
    assert [readable_size(n) for n in (12, 256 << 10, 10 << 20)] == [
        "12 bytes",
        "256 KB",
        "10.0 MB",
    ]


def words(before: str) -> list[str]:
    return [found.word for found in suggest(before, COMMANDS)]


def test_a_slash_offers_the_commands_that_begin_so() -> None:
    assert words("/") == ["/goal", "/help", "/stop", "/attach", "/quit"]
    assert words("/he") == ["/help"]
    assert [(s.typed, s.summary) for s in suggest("/he", COMMANDS)] == [(3, "List the commands")]


def test_subcommands_are_offered_after_their_command_alone() -> None:
    assert words("/goal ") == [
        *("pause", "resume", "status", "clear", "show", "budget", "draft", "wait", "gate")
    ]
    assert words("/goal s") == ["status", "show"]
    assert words("/goal gate ") == ["add", "list", "remove"]
    assert words("/goal clear the b") == []
    assert words("/subgoal ") == [], "the gateway does not know it"


def test_plain_messages_are_never_completed() -> None:
    assert words("goal") == []
    assert words(" /goal") == []
    assert words("/goal\n") == []
    assert words("/help ") == []


def test_bytes_are_cut_into_lines_wherever_they_are_split() -> None:
    data = "one\r\ntwo ü\n\nlast".encode()
    for at in range(len(data)):
        cutter = LineCutter(100)
        heard = [*cutter.feed(data[:at]), *cutter.feed(data[at:]), *cutter.end()]
        assert heard == [Typed("one"), Typed("two ü"), Typed(""), Typed("last")]


def test_a_line_that_is_too_long_is_measured_and_not_kept() -> None:
    cutter = LineCutter(10)
    assert list(cutter.feed(b"x" * 50)) == []
    assert list(cutter.feed(b"y" * 50 + b"\nnext\n")) == [Oversized(100), Typed("next")]


def test_bytes_that_are_not_text_are_replaced() -> None:
    cutter = LineCutter(100)
    assert list(cutter.feed(b"\xef\xbb\xbfa\xff\xfeb\n")) == [Typed("a\ufffd\ufffdb")]


def test_a_short_paste_goes_into_the_line_as_it_is() -> None:
    assert Pastes().fold("one\ntwo") == "one\ntwo"


def test_a_long_paste_is_folded_into_a_mark_and_back() -> None:
    pastes = Pastes()
    first, second = "a\n" * 30, "b" * 3000
    line = f"{pastes.fold(first)} and {pastes.fold(second)}"
    assert line == "[pasted text 1: 31 lines, 60 bytes] and [pasted text 2: 1 lines, 3 KB]"
    assert pastes.unfold(line) == f"{first} and {second}"
    assert pastes.unfold("[pasted text 9: 1 lines, 3 KB]") == "[pasted text 9: 1 lines, 3 KB]"
