"""The terminal front under real key presses, on prompt_toolkit's pipe input."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from adapters.console.front import Heard, Interrupted, Oversized, Typed
from adapters.console.render import Renderer
from adapters.console.terminal import FirstScreen, TerminalFront
from core.messages import Button, Say
from tests.fakes.console_front import HandClock, ReadScreen

COMMANDS = (("goal", "Set a goal"), ("help", "List the commands"))
ENTER, ALT_ENTER, CTRL_C, CTRL_D = "\r", "\x1b\r", "\x03", "\x04"


class Seat:
    """A person at a terminal."""

    def __init__(self, keyboard: PipeInput, history: Path | None) -> None:
        self.screen = ReadScreen()
        self.clock = HandClock()
        self.heard: list[Heard] = []
        self._keyboard = keyboard
        self._news = asyncio.Event()
        output = Vt100_Output(self.screen, lambda: Size(24, 80), term="xterm", enable_cpr=False)
        self.front = TerminalFront(
            FirstScreen("Pursuit", "model m", "Type a message."),
            COMMANDS,
            self.clock,
            history=history,
            devices=(keyboard, output),
            renderer=Renderer({"TERM": "dumb"}),
        )

    def types(self, keys: str) -> None:
        self._keyboard.send_text(keys)

    async def hear(self, heard: Heard) -> bool:
        self.heard.append(heard)
        self._news.set()
        return heard != Typed("/quit")

    async def until(self, count: int) -> list[Heard]:
        async with asyncio.timeout(10):
            while len(self.heard) < count:
                self._news.clear()
                await self._news.wait()
        return self.heard


@asynccontextmanager
async def seated(history: Path | None = None) -> AsyncIterator[Seat]:
    """A conversation that runs until the person leaves, which is at the end at the latest."""
    with create_pipe_input() as keyboard:
        seat = Seat(keyboard, history)
        async with asyncio.timeout(20), asyncio.TaskGroup() as group:
            await seat.front.greet()
            running = group.create_task(seat.front.run(seat.hear))
            await seat.screen.until("›")
            yield seat
            if not running.done():
                seat.types("\x05\x15" + CTRL_D)


async def test_enter_sends_and_the_text_stays_in_the_scrollback() -> None:
    async with seated() as seat:
        seat.types("hello" + ENTER)
        assert await seat.until(1) == [Typed("hello")]
        assert "› hello\n" in seat.screen.getvalue()


async def test_empty_lines_are_not_sent() -> None:
    async with seated() as seat:
        seat.types(ENTER + "  " + ENTER + "a" + ENTER)
        assert await seat.until(1) == [Typed("  a")]


@pytest.mark.parametrize("line_break", [ALT_ENTER, "\\" + ENTER])
async def test_a_message_may_have_several_lines(line_break: str) -> None:
    async with seated() as seat:
        seat.types("one" + line_break + "two" + ENTER)
        assert await seat.until(1) == [Typed("one\ntwo")]


async def test_a_paste_of_many_lines_is_one_message_without_escape_sequences() -> None:
    async with seated() as seat:
        seat.types("see: \x1b[200~one\r\ntwo\x1b[2Jx\nthree\x1b[201~" + ENTER)
        assert await seat.until(1) == [Typed("see: one\ntwox\nthree")]


async def test_a_huge_paste_is_refused_and_not_inserted() -> None:
    async with seated() as seat:
        paste = "\x1b[200~" + "x" * (500_000) + "\x1b[201~"
        await asyncio.to_thread(seat.types, paste + "short" + ENTER)
        assert await seat.until(2) == [Oversized(500_000), Typed("short")]


@pytest.mark.parametrize("text", ["x" * 200_000, "a line\n" * 20_000 + "end"])
async def test_a_long_paste_stands_in_the_line_as_a_mark_and_is_sent_whole(text: str) -> None:
    async with seated() as seat:
        await asyncio.to_thread(seat.types, f"see \x1b[200~{text}\x1b[201~ please" + ENTER)
        assert await seat.until(1) == [Typed(f"see {text} please")]
        assert "› see [pasted text 1: " in seat.screen.getvalue()
        seat.types("\x1b[A" + ENTER)
        assert (await seat.until(2))[1] == seat.heard[0], "it is recalled whole, too"


async def test_ctrl_c_stops_what_runs_and_keeps_what_is_typed() -> None:
    async with seated() as seat:
        seat.front.busy(working=True)
        await seat.front.progress(1, "💻 make")
        seat.types("half" + CTRL_C + CTRL_C)
        await seat.until(1)
        seat.front.busy(working=False)
        seat.types(" whole" + ENTER)
        assert await seat.until(2) == [Interrupted(), Typed("half whole")]


async def test_ctrl_c_clears_an_idle_line() -> None:
    async with seated() as seat:
        seat.types("wrong" + CTRL_C + "right" + ENTER)
        assert await seat.until(1) == [Typed("right")]


async def test_ctrl_c_twice_on_an_empty_line_leaves() -> None:
    async with seated() as seat:
        seat.types(CTRL_C)
        await seat.screen.until("Press Ctrl-C again to leave.")
        seat.types(CTRL_C)


async def test_a_late_second_ctrl_c_does_not_leave() -> None:
    async with seated() as seat:
        seat.types(CTRL_C)
        await seat.screen.until("again to leave")
        seat.clock.time += 5
        seat.types(CTRL_C + "still here" + ENTER)
        assert await seat.until(1) == [Typed("still here")]


async def test_ctrl_d_leaves_only_on_an_empty_line() -> None:
    async with seated() as seat:
        seat.types("ab\x01" + CTRL_D + ENTER)
        assert await seat.until(1) == [Typed("b")]
        seat.types(CTRL_D)


async def test_what_was_sent_before_leaving_is_still_handed_over() -> None:
    async with seated() as seat:
        seat.types("last words" + ENTER + CTRL_D)
    assert seat.heard == [Typed("last words")]


async def test_a_conversation_that_is_ended_by_its_hearer_ends() -> None:
    async with seated() as seat:
        seat.types("/quit" + ENTER)
        await seat.until(1)


async def test_a_closed_keyboard_is_a_person_who_left() -> None:
    with create_pipe_input() as keyboard:
        seat = Seat(keyboard, None)
        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            group.create_task(seat.front.run(seat.hear))
            await seat.screen.until("›")
            keyboard.close()


async def test_answers_come_above_a_half_typed_line() -> None:
    async with seated() as seat:
        seat.types("half")
        await seat.screen.until("half")
        await seat.front.say(Say("an answer", buttons=(Button("Stop", "/stop"),)))
        await seat.front.note("a remark")
        seat.types(" whole" + ENTER)
        assert await seat.until(1) == [Typed("half whole")]
        shown = seat.screen.getvalue()
        assert "an answer\n[1] Stop  (type the number)\n\n" in shown
        assert shown.index("an answer") < shown.index("a remark") < shown.rindex("half whole")


async def test_a_very_long_answer_is_shown_whole() -> None:
    async with seated() as seat:
        await seat.front.say(Say("word " * 5000 + "end", markdown=True))
        assert seat.screen.getvalue().count("word") == 5000


async def test_the_live_lines_show_what_runs() -> None:
    async with seated() as seat:
        await seat.front.progress(1, "pytest -q (0.1s)")
        await seat.screen.until("pytest")
        seat.front.pin(Say("Goal 1/20", buttons=(Button("Pause", "/goal pause"),)))
        await seat.screen.until("/20")
        seat.front.pin(None)
        seat.front.busy(working=False)


async def test_messages_are_printed_after_the_person_has_left() -> None:
    async with seated() as seat:
        seat.types(CTRL_D)
    await seat.front.say(Say("Goal paused."))
    assert seat.screen.getvalue().endswith("Goal paused.\n\n")


async def test_commands_complete_with_tab_and_enter_takes_the_choice() -> None:
    async with seated() as seat:
        seat.types("/g")
        await seat.screen.until("Set a goal")
        seat.types("\t" + ENTER + "pa")
        await seat.screen.until("the running turn finishes")
        seat.types("\t" + ENTER + ENTER)
        assert await seat.until(1) == [Typed("/goal pause ")]


async def test_paths_complete_after_attach(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    async with seated() as seat:
        seat.types(f"/attach {tmp_path}/no")
        await seat.screen.until("notes.txt")
        seat.types("\t" + ENTER + ENTER)
        assert await seat.until(1) == [Typed(f"/attach {tmp_path}/notes.txt")]


async def test_the_history_outlives_the_process_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "data" / "history"
    async with seated(path) as seat:
        long_one = f"\x1b[200~{'x' * 20_000}\x1b[201~"
        seat.types("first" + ENTER + long_one + ENTER)
        await seat.until(2)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.stat().st_size < 1000, "a paste is not kept"
    async with seated(path) as seat:
        # The history is read in the background, so Up is pressed until it is there.
        while not seat.heard:
            seat.types("\x1b[A" + ENTER)
            await asyncio.sleep(0)
        assert seat.heard[0] == Typed("first")


async def test_a_history_that_cannot_be_kept_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    async with seated(tmp_path / "file" / "history") as seat:
        seat.types("hello" + ENTER)
        assert await seat.until(1) == [Typed("hello")]
