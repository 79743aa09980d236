"""How a turn's progress is told where there are only lines, and where it can be redrawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.console.lines import LinesFront
from adapters.console.live import Fragments, Live
from adapters.console.stdio import CLOSED
from core.agent.events import ModelAsked, ToolStarted
from core.delegation.board import Board
from core.transcript import ToolCall
from tests.fakes.console_front import HandClock


async def idle() -> None:
    """There is nothing to wait for."""


async def printed(folder: Path, *told: tuple[int, str]) -> list[str]:
    """What a front without a terminal prints for the (turn, progress message) it is shown."""
    path = folder / "err"
    with path.open("wb") as err:
        front = LinesFront(idle, limit=1000, fds=(CLOSED, CLOSED, err.fileno()))
        for turn, text in told:
            await front.progress(turn, text)
    return path.read_text().splitlines()


async def test_a_line_is_printed_once_though_its_seconds_go_on(tmp_path: Path) -> None:
    clock = HandClock()
    board = Board.of(["Create a.txt", "Create b.txt"], clock.monotonic)
    told = []
    for step in range(60):
        board.emit(0, ModelAsked(step))
        told.append((1, f"💻 ls (0.1s)\n{board.text()}"))
        clock.time += 61.5
    board.emit(1, ToolStarted(ToolCall("c", "run", ""), "make b1.txt"))
    told.append((1, board.text()))
    board.emit(1, ToolStarted(ToolCall("c", "run", ""), "make b2.txt"))
    told.append((1, board.text()))
    board.end(0, "Create a.txt: ok", good=True)
    for _ in range(3):
        told.append((1, board.text()))
        clock.time += 1.5
    assert await printed(tmp_path, *told) == [
        "💻 ls (0.1s)",
        "👥 2 of 2 children at work",
        "  Create a.txt: step 1 · 0s · thinking",
        "  Create b.txt: 0s · waiting",
        "  Create b.txt: 61m30s · 💻 make b1.txt",
        "  Create b.txt: 61m30s · 💻 make b2.txt",
        "👥 1 of 2 children at work",
        "  ✓ Create a.txt: ok (61m30s)",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("💻 pytest (exit 1, 0.1s)", "💻 pytest (exit 2, 0.1s)"),
        ("✏️ write a1s.txt …", "✏️ write a2s.txt …"),
        ("💻 sleep 5 …", "💻 sleep 6 …"),
        ("docs: 3 of 9 pages", "docs: 4 of 9 pages"),
    ],
)
async def test_other_numbers_are_news(tmp_path: Path, one: str, other: str) -> None:
    assert await printed(tmp_path, (1, one), (1, other)) == [one, other]


@pytest.mark.parametrize("spent", ["7s", "2m05s", "1m 05s", "2h 03m 01s", "0.1s"])
async def test_any_way_to_write_a_time_is_left_out(tmp_path: Path, spent: str) -> None:
    told = [(1, f"make ({now})\n a: step 2 · {now} · b") for now in ("1s", spent)]
    assert await printed(tmp_path, *told) == ["make (1s)", " a: step 2 · 1s · b"]


async def test_the_next_turn_may_say_the_same_again(tmp_path: Path) -> None:
    # Another message's end clears the progress of turn 0, which is no turn.
    told = [(1, "ls (0.1s)"), (0, ""), (1, "ls (0.2s)"), (2, "ls (0.3s)")]
    assert await printed(tmp_path, *told) == ["ls (0.1s)", "ls (0.3s)"]


async def test_what_a_message_has_no_room_for_was_printed_already(tmp_path: Path) -> None:
    told = [(1, "one (0.1s)"), (1, "… 1 more\ntwo (0.1s)"), (1, "… 2 more\nthree (0.1s)")]
    assert await printed(tmp_path, *told) == ["one (0.1s)", "two (0.1s)", "three (0.1s)"]


def rows(live: Live, width: int = 60) -> list[str]:
    drawn: list[Fragments] = live.lines(1.0, width)
    return ["".join(text for _, text in row) for row in drawn]


def test_every_child_at_work_has_a_line_that_is_redrawn_in_its_place() -> None:
    live = Live()
    live.progress(1, "💻 ls (0.1s)\n👥 2 of 2 at work\n  a: 1s · thinking\n  b: 1s · waiting", 1.0)
    assert rows(live) == [
        "⠋ 👥 2 of 2 at work · 0s · Ctrl-C stops",
        "  a: 1s · thinking",
        "  b: 1s · waiting",
    ]
    live.progress(1, "💻 ls (0.1s)\n👥 1 of 2 at work\n  a: 3s · 💻 make\n  ✓ b (2s)", 1.0)
    assert rows(live)[1:] == ["  a: 3s · 💻 make", "  ✓ b (2s)"]
    live.progress(1, "💻 ls (0.1s)\n👥 both done (4.0s)", 1.0)
    assert rows(live) == ["⠋ 👥 both done (4.0s) · 0s · Ctrl-C stops"]
    live.progress(0, "", 1.0)
    assert live.below == ()


def test_calls_side_by_side_are_all_in_sight() -> None:
    live = Live()
    live.progress(1, "ls (1s)\n👥 one\n  a: 1s · x\n👥 other\n  b: 1s · " + "y" * 99, 1.0)
    first, *below = rows(live)
    assert first.startswith("⠋ 👥 one · ")
    assert below[:2] == ["  a: 1s · x", "👥 other"]
    assert below[2].endswith("y…")
    assert len(below[2]) == 60


def test_many_children_leave_room_for_the_conversation() -> None:
    live = Live()
    live.progress(1, "\n".join(["👥 12 at work", *(f"  c{n}: waiting" for n in range(12))]), 1.0)
    assert len(rows(live)) == 8
    assert rows(live)[-1] == "  … 6 more"
