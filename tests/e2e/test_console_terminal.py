"""The terminal chat in a real process on a real pseudo-terminal."""

from __future__ import annotations

import signal
from pathlib import Path

from core.escalations.token import Act, encode
from tests.fakes.console_program import accepted, seated
from tests.fakes.escalated import SECRET

CTRL_C, CTRL_D, ENTER = "\x03", "\x04", "\r"


async def test_a_newcomer_is_told_what_to_do_gets_an_answer_and_leaves(tmp_path: Path) -> None:
    async with seated(tmp_path) as seat:
        await seat.until("Type a message, or /goal <what you want done>.")
        await seat.until("qwen2.5-coder-1.5b (local)")
        await seat.until("Ctrl-C stops a turn, Ctrl-D leaves.")
        seat.types("hello" + ENTER)
        await seat.until("echo: hello")
        seat.types(CTRL_D)
        assert await seat.ended() == 0
    assert accepted(tmp_path) == [("console:r1:1", "hello")]


async def test_ctrl_c_stops_the_turn_and_the_chat_goes_on(tmp_path: Path) -> None:
    async with seated(tmp_path) as seat:
        seat.types("slow" + ENTER)
        await seat.until("sleep 1000")
        seat.types(CTRL_C)
        at = await seat.until("⏹ Stopped. Goal paused; 0 waiting messages dropped.")
        seat.types("more" + ENTER)
        await seat.until("echo: more", after=at)
        seat.types(CTRL_D)
        assert await seat.ended() == 0
    assert [text for _, text in accepted(tmp_path)] == ["slow", "/stop", "more"]


async def test_what_the_model_writes_cannot_drive_the_terminal(tmp_path: Path) -> None:
    async with seated(tmp_path) as seat:
        at = len(seat.written)
        seat.types("evil" + ENTER)
        await seat.until("beforeredback after", after=at)
        for sequence in (b"\x1b]0;owned", b"\x1b[2J", b"\x1b[31m", b"\x9b31m", "\u202e".encode()):
            assert sequence not in seat.written[at:].replace("\x9b".encode(), b"\x9b")


async def test_output_that_arrives_leaves_a_half_typed_line_whole(tmp_path: Path) -> None:
    async with seated(tmp_path) as seat:
        seat.types("print" + ENTER + "half")
        await seat.until("a library prints this")
        await seat.until("and complains here")
        seat.types(" whole" + ENTER)
        await seat.until("echo: half whole")
        seat.types(CTRL_D)
        assert await seat.ended() == 0


async def test_a_goal_is_shown_while_it_runs(tmp_path: Path) -> None:
    async with seated(tmp_path) as seat:
        seat.types("/goal two notes" + ENTER)
        at = await seat.until("[1]")
        await seat.until("pytest -q (0.4s)", after=at)
        at = await seat.until("↻ Continuing toward goal (1/20): more to do", after=at)
        await seat.until("⊙ Goal (active, 1/20 turns): two notes · [1] Pause [2] Stop", after=at)
        await seat.until("✓ Goal achieved: both notes are there", after=at)


async def test_leaving_in_mid_turn_says_that_the_work_goes_on(tmp_path: Path) -> None:
    async with seated(tmp_path) as seat:
        seat.types("slow" + ENTER)
        await seat.until("sleep 1000")
        seat.types("/quit" + ENTER)
        await seat.until("What is running goes on when Pursuit is started again.")
        assert await seat.ended() == 0


async def test_a_terminated_process_leaves_the_terminal_as_it_found_it(tmp_path: Path) -> None:
    async with seated(tmp_path) as seat:
        typing = seat.modes()
        seat.types("slow" + ENTER + "half a")
        await seat.until("sleep 1000")
        seat.process.send_signal(signal.SIGTERM)
        assert await seat.ended() == 0
        assert seat.modes() != typing, "raw mode is over"
        assert b"\x1b[?2004l" in seat.written, "and so is bracketed paste"


async def test_a_window_that_is_closed_ends_the_chat(tmp_path: Path) -> None:
    async with seated(tmp_path) as seat:
        seat.hang_up()
        assert await seat.ended() == 0
    assert accepted(tmp_path) == []


async def test_what_was_typed_is_there_at_the_next_start(tmp_path: Path) -> None:
    async with seated(tmp_path) as seat:
        seat.types("remember me" + ENTER)
        await seat.until("echo: remember me")
        seat.types(CTRL_D)
        assert await seat.ended() == 0
    async with seated(tmp_path) as seat:
        seat.types("x" + ENTER)
        await seat.until("echo: x")
        seat.types("\x1b[A\x1b[A" + ENTER)
        await seat.until("echo: remember me")


async def test_a_question_is_answered_by_its_number(tmp_path: Path) -> None:
    async with seated(tmp_path) as seat:
        seat.types("ask" + ENTER)
        await seat.until("(type the number)")
        seat.types("2" + ENTER)
        await seat.until("→ Deny")
        seat.types("yes" + ENTER)
        await seat.until("echo: yes")
        seat.types(CTRL_D)
        assert await seat.ended() == 0
    deny = encode(SECRET, Act.DENY)
    assert [text for _, text in accepted(tmp_path)] == ["ask", f"[{deny}]", "yes"]
