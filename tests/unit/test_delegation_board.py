"""The board of a call's children: what the chat's status message shows of them."""

from __future__ import annotations

import pytest

from core.agent.events import ModelAsked, StepDone, TextStreamed, ToolEnded, ToolStarted
from core.delegation.board import DOING_CHARS, TITLE_CHARS, Board, age
from core.transcript import Receipt, ToolCall, ToolResult

CALL = ToolCall("c", "run", '{"command": "make"}')


class Watch:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def board_of(*titles: str) -> tuple[Board, Watch]:
    watch = Watch()
    return Board.of(titles, watch), watch


def test_children_wait_work_and_end_each_on_its_own_line() -> None:
    board, watch = board_of("Cody", "look it up", "critic")
    assert board.text().splitlines() == [
        "👥 3 of 3 children at work",
        "  Cody: 0s · waiting",
        "  look it up: 0s · waiting",
        "  critic: 0s · waiting",
    ]
    board.start(0)
    board.start(2)
    board.emit(0, ModelAsked(0))
    watch.at += 7.9
    board.emit(0, ToolStarted(CALL, "make"))
    board.end(2, "critic: ok, PASS", good=True)
    assert board.text().splitlines() == [
        "👥 2 of 3 children at work",
        "  Cody: step 1 · 7s · 💻 make",
        "  look it up: 7s · waiting",
        "  ✓ critic: ok, PASS (7s)",
    ]
    watch.at += 120
    board.emit(0, ToolEnded(ToolResult(CALL, "made", Receipt(ok=True, summary="make"))))
    board.emit(0, ModelAsked(1))
    board.start(1)
    board.end(1, "look it up: failed", good=False)
    assert board.text().splitlines() == [
        "👥 1 of 3 children at work",
        "  Cody: step 2 · 2m07s · thinking",
        "  ✗ look it up: failed (0s)",
        "  ✓ critic: ok, PASS (7s)",
    ]


def test_a_childs_age_counts_from_its_own_start() -> None:
    board, watch = board_of("a")
    watch.at += 50
    board.start(0)
    watch.at += 3
    assert board.text().splitlines()[1] == "  a: 3s · starting"


def test_what_a_tool_did_is_over_when_it_ends() -> None:
    board, _ = board_of("a")
    board.emit(0, ModelAsked(3))
    board.emit(0, ToolStarted(ToolCall("c", "mcp_x", "{}"), "look"))
    assert board.text().endswith("a: step 4 · 0s · 🔧 look")
    board.emit(0, ToolEnded(ToolResult(CALL, "", Receipt(ok=False, summary=""))))
    assert board.text().endswith("a: step 4 · 0s · thinking")


def test_events_that_tell_people_nothing_change_nothing() -> None:
    board, _ = board_of("a")
    board.emit(0, ModelAsked(0))
    before = board.text()
    board.emit(0, TextStreamed("I will"))
    board.emit(0, StepDone(0))
    assert board.text() == before


def test_titles_and_doings_are_cut_to_one_short_line() -> None:
    board, _ = board_of("write\n  a poem " + "x" * 200)
    board.emit(0, ToolStarted(CALL, "echo  1\n" + "y" * 900))
    head, line = board.text().splitlines()
    title, doing = line.split(": 0s · ")
    assert head == "👥 a child at work"
    assert title.startswith("  write a poem xxx")
    assert title.endswith("…")
    assert len(title) == TITLE_CHARS + 2
    assert doing.startswith("💻 echo 1 yyy")
    assert doing.endswith("…")
    assert len(doing) == DOING_CHARS
    board.say(0, "z\n" * 100_000)
    assert len(board.text().splitlines()) == 2


def test_a_line_that_is_made_when_it_is_shown_moves_on() -> None:
    watch_of_child = iter(["1 of 2 done", "2 of 2 done"])
    board, _ = board_of("a")
    board.say(0, lambda: next(watch_of_child))
    assert board.text().endswith("a: 0s · 1 of 2 done")
    assert board.text().endswith("a: 0s · 2 of 2 done")


def test_a_childs_own_board_is_shown_in_its_line_and_moves_on() -> None:
    outer, _ = board_of("boss")
    inner, watch = board_of("hand")
    outer.say(0, inner.text)
    assert outer.text().endswith("boss: 0s · 👥 a child at work hand: 0s · waiting")
    watch.at += 65
    inner.say(0, "being checked")
    assert "hand: 1m05s · being" in outer.text()


def test_what_comes_after_an_end_is_not_shown() -> None:
    board, watch = board_of("a")
    board.end(0, "a: ok", good=True)
    watch.at += 9
    board.emit(0, ModelAsked(4))
    board.say(0, "more")
    assert board.text().splitlines() == ["👥 a child at work", "  ✓ a: ok (0s)"]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.0, "0s"), (59.99, "59s"), (60.0, "1m00s"), (125.0, "2m05s"), (3600.0, "60m00s")],
)
def test_seconds_are_shown_as_people_read_them(seconds: float, shown: str) -> None:
    assert age(seconds) == shown
