"""What a runner prints and says: kept in bounds, cleaned, and its secrets hidden."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from adapters.acp.kept import ANSWER_BYTES, Answer, Kept, clean, short
from adapters.acp.text import as_argument
from adapters.acp.wording import crashed, hidden


@given(st.lists(st.binary(max_size=40)), st.integers(0, 30), st.integers(1, 30))
def test_the_head_and_the_tail_are_kept_whatever_the_pieces(
    pieces: list[bytes], head: int, tail: int
) -> None:
    kept = Kept(head=head, tail=tail)
    for piece in pieces:
        kept.feed(piece)
    whole = b"".join(pieces)
    assert kept.total == len(whole)
    if len(whole) <= head + tail:
        assert kept.text == clean(whole.decode("utf-8", "replace"))
    else:
        assert f"[… {len(whole) - head - tail} bytes left out …]" in kept.text


def test_a_cut_answer_keeps_both_ends_and_no_half_characters() -> None:
    answer = Answer()
    answer.say("<" + "ä" * ANSWER_BYTES + ">")
    assert answer.text.startswith("<ä")
    assert answer.text.endswith("ä>")
    assert "�" not in answer.text
    assert len(answer.text.encode()) < ANSWER_BYTES + 100


def test_the_answer_is_what_follows_the_last_call_or_else_all() -> None:
    answer = Answer()
    answer.say("First")
    answer.say(".")
    answer.call()
    assert answer.text == "First."
    answer.say("")
    answer.say("Second.")
    assert answer.text == "Second."
    answer.call()
    answer.call()
    assert answer.text == "First.\n\nSecond."


def test_escapes_controls_and_overwritten_lines_are_taken_out() -> None:
    assert clean("\x1b[1ma\x1b[0m\x1b]0;t\x07\r\n1%\r99%\n\x00\u202eb\n") == "a\n99%\n  b"
    assert short("\x1b[31mred\x1b[0m\n line", 20) == "red line"
    assert short("x" * 100, 5) == "xxxx…"


def test_cleaning_takes_time_in_proportion_to_the_text() -> None:
    for piece in ("x", "\x1b", "\x1b]0;", "\r", "\x1b[", "a\r"):
        began = time.process_time()
        clean(piece * (ANSWER_BYTES // len(piece)))
        assert time.process_time() - began < 5


def test_a_task_that_looks_like_an_option_is_set_off() -> None:
    assert as_argument("x", "-rf") == (" -rf", "")
    assert as_argument("x", "go") == ("go", "")


def test_secrets_of_the_settings_are_hidden_and_plain_values_are_not() -> None:
    env = {"API_KEY": "sk-123456", "MODE": "careful", "EMPTY_TOKEN": "", "SHORT_KEY": "on"}
    assert hidden("bad key sk-123456, careful on", env) == "bad key [API_KEY], careful on"


def test_a_program_that_was_not_found_is_told_with_the_remedy() -> None:
    for code in (126, 127):
        said = crashed("gemini", code, "on the task", "", begun=False)
        assert "`acp_command` must name a program" in said
    for code, begun in ((3, False), (127, True)):
        said = crashed("gemini", code, "on the task", "", begun=begun)
        assert said == f"The runner gemini ended with exit code {code} on the task."
