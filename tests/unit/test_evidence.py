"""Which calls judges are shown where there are more than they can read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.evidence import Seen, excerpt, left_out, seen_in
from core.sessions.receipts import receipts_of
from core.transcript import Receipt, ToolCall, ToolResult


def calls(line: str) -> tuple[Seen, ...]:
    """A call a letter: capital letters failed, the letter is what was called."""
    return seen_in(
        ToolResult(
            ToolCall(f"c{n}", "run", letter.lower()), "", Receipt(ok=letter.islower(), summary="")
        )
        for n, letter in enumerate(line)
    )


def shown(line: str, limit: int) -> str:
    return "".join(
        seen.arguments if seen.receipt.ok else seen.arguments.upper()
        for seen in excerpt(calls(line), limit)
    )


def test_what_fits_is_shown_whole_and_in_its_order() -> None:
    assert shown("aBbC", 4) == "aBbC"
    assert left_out(calls("aBbC"), excerpt(calls("aBbC"), 4)) == ""


def test_a_failure_that_nothing_made_good_is_shown_before_what_went_well() -> None:
    assert shown("Xabcdef", 4) == "Xdef"
    assert shown("aXbYcdef", 4) == "XYef"


def test_a_failure_that_the_same_call_made_good_has_no_such_right() -> None:
    assert shown("Xaxbcdef", 4) == "cdef"


def test_of_a_call_that_failed_again_the_last_time_is_shown() -> None:
    assert shown("XaXbcdef", 4) == "Xdef"


def test_failures_never_take_more_than_half_of_the_room_from_the_newest() -> None:
    assert shown("ABCDEFuvwxyz", 4) == "EFyz"
    assert shown("ABCDEFuvwxyz", 5) == "EFxyz"


def test_what_is_left_out_is_counted_with_its_failures() -> None:
    found = calls("ABCDEFuvwxyz")
    assert left_out(found, excerpt(found, 4)) == "(8 calls are left out; 4 of them failed)"
    good = calls("abcdef")
    assert left_out(good, excerpt(good, 4)) == "(2 calls are left out; none of them failed)"


@given(st.text("abcdXYZ", max_size=40), st.integers(1, 12))
def test_an_excerpt_is_as_long_as_it_may_be_and_holds_the_newest(line: str, limit: int) -> None:
    kept = shown(line, limit)
    assert len(kept) == min(len(line), limit)
    least = limit - limit // 2
    assert kept.endswith(line[-least:])
    assert excerpt(calls(line), limit) == excerpt(excerpt(calls(line), limit), limit)


def test_a_turn_keeps_a_failure_of_its_beginning_for_the_judge() -> None:
    found = [seen.of for seen in calls("Xabcdefghijklmnopqrst")]
    kept = "".join(receipt.arguments for receipt in receipts_of(found))
    assert kept == "xjklmnopqrst"
    assert len(receipts_of(found, kept=None)) == 21
