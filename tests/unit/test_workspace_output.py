"""What a command printed, made fit for a model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.workspace.output import KEPT_BYTES, SHOWN_CHARS, Capture, clean


def fed(*pieces: bytes) -> Capture:
    capture = Capture()
    for piece in pieces:
        capture.feed(piece)
    return capture


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain\ttext\n", "plain\ttext\n"),
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07x\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "xlink"),
        (b"\x1bPdevice\x1b\\y", "y"),
        (b"a\x00b\x07c\x08d\x7fe", "abcde"),
        ("naïve 日本 🎉".encode(), "naïve 日本 🎉"),
        (b"\xff\xfe ok", "\N{REPLACEMENT CHARACTER}" * 2 + " ok"),
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b"10%\r50%\r100%\ndone", "100%\ndone"),
        (b"10%\r50%\r", "50%"),
        ("\x9b31mx\x85y".encode(), "xy"),
        (b"cut \x1b[3", "cut "),
    ],
)
def test_escapes_and_control_characters_fall_away(data: bytes, text: str) -> None:
    assert clean(data) == text


def test_a_short_output_is_shown_whole() -> None:
    assert fed(b"one\n", b"two\n").shown("; nowhere") == "one\ntwo"


def test_nothing_printed_is_nothing_shown() -> None:
    assert fed().shown("") == ""


def test_of_a_long_output_the_ends_are_shown_and_where_the_rest_is() -> None:
    lines = [f"line {n}\n".encode() for n in range(100_000)]
    shown = fed(*lines).shown("; the whole is in x.txt")
    assert shown.startswith("line 0\nline 1\n")
    assert shown.endswith("line 99999")
    assert (
        f"the middle of {sum(map(len, lines))} bytes is left out; the whole is in x.txt" in shown
    )
    assert len(shown) < SHOWN_CHARS + 200


def test_a_character_cut_by_the_middle_is_dropped() -> None:
    shown = fed("é".encode() * 40_001).shown("")
    assert "\N{REPLACEMENT CHARACTER}" not in shown.partition("…]")[2]


@given(st.lists(st.binary(max_size=3 * KEPT_BYTES), max_size=12))
def test_memory_stays_bounded_and_the_ends_are_right(pieces: list[bytes]) -> None:
    capture = fed(*pieces)
    whole = b"".join(pieces)
    assert capture.total == len(whole)
    assert capture.head == whole[:KEPT_BYTES]
    assert bytes(capture.tail[-KEPT_BYTES:]) == whole[KEPT_BYTES:][-KEPT_BYTES:]
    assert len(capture.tail) <= 5 * KEPT_BYTES
