"""The console as a platform, spoken to through a front that a test holds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.console.adapter import LEAVING, ConsoleOptions, ConsolePlatform
from adapters.console.conversation import ADDRESS
from adapters.console.front import Heard, Interrupted, Oversized, Typed
from core.errors import PermanentError, TransientError
from core.messages import (
    Attachment,
    Button,
    Message,
    PlatformName,
    Press,
    Queued,
    Refused,
    RemoteId,
    Say,
    Sender,
    SendFile,
)
from core.ports import Mark, Sent
from gateway.compose.folders import address_of
from tests.fakes.console_front import HandClock, HandFront
from tests.fakes.console_intake import RecordingIntake, text_of

CARD = Say("Deploy?", buttons=(Button("Approve", "/approve E1"), Button("Deny", "/deny E1")))
CONTROLS = (Button("Pause", "/goal pause"), Button("Stop", "/stop"))
STATUS = Say("⊙ Goal (active, 0/20 turns): x", buttons=CONTROLS)


class Bench:
    """A console with its two ends; the lane is busy while `busy` is set."""

    def __init__(self, tmp_path: Path, intake: RecordingIntake | None = None) -> None:
        self.front = HandFront()
        self.intake = intake or RecordingIntake()
        self.clock = HandClock()
        self.rest = asyncio.Event()
        self.rest.set()
        options = ConsoleOptions(run_id="r7", files=tmp_path / "files", user="Ann")
        self.console = ConsolePlatform(options, front=self.front, clock=self.clock, idle=self.idle)

    async def idle(self) -> None:
        await self.rest.wait()

    @asynccontextmanager
    async def talking(self) -> AsyncIterator[None]:
        """The console runs; at the end the person leaves."""
        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            group.create_task(self.console.run(self.intake))
            yield
            self.front.leaves()

    async def told(self, *words: Heard) -> list[str]:
        """Everything accepted once the person has said `words` and left."""
        async with self.talking():
            self.front.hears(*words)
        return self.intake.texts()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_what_is_typed_arrives_as_messages_with_keys_of_their_own(bench: Bench) -> None:
    await bench.told(Typed("hello\x1b[2J"), Typed("  "), Typed("/goal x"))
    assert bench.intake.caught == [PlatformName.CONSOLE]
    first, second = bench.intake.accepted
    assert first == Message(
        address=ADDRESS,
        dedupe="console:r7:1",
        sender=Sender("local", "Ann"),
        text="hello",
        remote=RemoteId("console:r7:1"),
        sent_at=1000.0,
    )
    assert (second.dedupe, text_of(second)) == ("console:r7:2", "/goal x")


async def test_an_interrupt_is_a_stop_command(bench: Bench) -> None:
    assert await bench.told(Interrupted()) == ["/stop"]


async def test_a_message_that_could_not_be_saved_is_handed_over_again(tmp_path: Path) -> None:
    faults = [TransientError("disk busy", retry_after=0.001) for _ in range(3)]
    bench = Bench(tmp_path, RecordingIntake(faults=faults))
    assert await bench.told(Typed("a"), Typed("b")) == ["a", "b"]
    assert bench.front.notes == ["Not saved yet, trying again: disk busy"]


async def test_a_refusal_is_shown_and_a_wait_is_counted(tmp_path: Path) -> None:
    replies = (Refused("The queue is full."), Queued(2), Queued(0))
    bench = Bench(tmp_path, RecordingIntake(replies=replies))
    await bench.told(Typed("a"), Typed("b"), Typed("c"))
    assert bench.front.notes == ["The queue is full.", "queued (2 before it)"]


async def test_a_huge_message_is_refused_in_words(bench: Bench) -> None:
    assert await bench.told(Oversized(10 << 20), Typed("ü" * (200 << 10)), Typed("ok")) == ["ok"]
    assert bench.front.notes[0].startswith("That message is too long (10.0 MB).")
    assert bench.front.notes[1].startswith("That message is too long (400 KB).")


async def test_a_number_presses_a_button_of_the_last_message(bench: Bench) -> None:
    async with bench.talking():
        remote = (await bench.console.send(ADDRESS, CARD)).remote
        bench.front.hears(Typed("2"))
        (press,) = await bench.intake.until(1)
        bench.front.hears(Typed("2"))
        await bench.intake.until(2)
    assert isinstance(press, Press)
    assert (press.command, press.remote, press.dedupe) == ("/deny E1", remote, "console:r7:1")
    assert bench.front.notes == ["→ Deny"]
    assert bench.intake.texts() == ["[/deny E1]", "2"], "it was pressed already"


@pytest.mark.parametrize("text", ["0", "3", "1.", "1 2", "１", "-1", "001"])
async def test_other_numbers_are_messages(bench: Bench, text: str) -> None:
    async with bench.talking():
        await bench.console.send(ADDRESS, CARD)
        bench.front.hears(Typed(text))
    assert bench.intake.texts() == [text]


async def test_a_message_after_the_buttons_takes_the_numbers_away(bench: Bench) -> None:
    async with bench.talking():
        await bench.console.send(ADDRESS, CARD)
        await bench.console.send(ADDRESS, Say("How many, 1 or 2?"))
        bench.front.hears(Typed("1"))
    assert bench.intake.texts() == ["1"]


async def test_a_pinned_statuss_buttons_go_on_working_unless_a_newer_message_has_its_own(
    bench: Bench,
) -> None:
    async with bench.talking():
        remote = (await bench.console.send(ADDRESS, STATUS)).remote
        await bench.console.edit(ADDRESS, remote, STATUS)
        await bench.console.send(ADDRESS, Say("I wrote a note."))
        bench.front.hears(Typed("hello"), Typed("2"), Typed("1"))
        *_, press = await bench.intake.until(3)
        await bench.console.send(ADDRESS, CARD)
        hidden = bench.front.pinned
        bench.front.hears(Typed("2"))
        await bench.intake.until(4)
        shown = bench.front.pinned
        await bench.console.edit(ADDRESS, remote, Say("✓ Goal achieved: x"))
        bench.front.hears(Typed("1"))
        await bench.intake.until(5)
    assert isinstance(press, Press)
    assert press.remote == remote
    assert bench.intake.texts() == ["hello", "[/stop]", "[/goal pause]", "[/deny E1]", "1"]
    assert hidden is not None
    assert (hidden.buttons, shown) == ((), STATUS)


async def test_another_folders_chat_is_not_shown_here(bench: Bench) -> None:
    other = address_of(Path("/elsewhere"))
    async with bench.talking():
        with pytest.raises(TransientError):
            await bench.console.send(other, STATUS)
        await bench.console.edit(other, RemoteId("x"), STATUS)
        await bench.console.show_progress(other, 1, None, "💻 make")
        await bench.console.acknowledge(other, RemoteId("x"), Mark.DONE)
    assert (bench.front.said, bench.front.pinned, bench.front.doing) == ([], None, [])


async def test_without_a_terminal_a_number_is_a_message(bench: Bench) -> None:
    bench.front.interactive = False
    async with bench.talking():
        await bench.console.send(ADDRESS, CARD)
        bench.front.hears(Typed("1"))
    assert bench.intake.texts() == ["1"]


async def test_a_file_is_attached_by_its_path_and_copied_when_fetched(
    bench: Bench, tmp_path: Path
) -> None:
    file = tmp_path / "a b.txt"
    file.write_text("content")
    await bench.told(Typed(f"/attach '{file}' what is it?"), Typed("/attach /no/such"))
    (message,) = bench.intake.accepted
    assert isinstance(message, Message)
    assert message.text == "what is it?"
    assert message.attachments == (Attachment(str(file), "a b.txt", "text/plain", 7),)
    assert bench.front.notes == ["Cannot attach /no/such: No such file or directory."]
    await bench.console.download(message.attachments[0], tmp_path / "copy")
    assert (tmp_path / "copy").read_text() == "content"
    file.unlink()
    with pytest.raises(PermanentError, match="No such file"):
        await bench.console.download(message.attachments[0], tmp_path / "copy")


async def test_a_folder_cannot_be_attached(bench: Bench, tmp_path: Path) -> None:
    assert await bench.told(Typed(f"/attach {tmp_path}")) == []
    assert bench.front.notes == [f"Cannot attach {tmp_path}: it is not a file."]


async def test_files_of_the_bot_are_kept_where_no_name_can_lead_astray(
    bench: Bench, tmp_path: Path
) -> None:
    async with bench.talking():
        for _ in range(2):
            what = SendFile("../../x/.notes.md", "Your notes", content="text")
            await bench.console.send(ADDRESS, what)
    names = sorted(path.name for path in (tmp_path / "files").iterdir())
    assert names == ["notes-2.md", "notes.md"]
    assert bench.front.said[0].text == f"Your notes\n📄 {tmp_path}/files/notes.md"


async def test_a_file_on_disk_is_shown_by_its_path_and_a_lost_one_is_an_error(
    bench: Bench, tmp_path: Path
) -> None:
    file = tmp_path / "report.pdf"
    file.touch()
    async with bench.talking():
        await bench.console.send(ADDRESS, SendFile("report.pdf", path=str(file)))
        file.unlink()
        with pytest.raises(PermanentError, match="not there any more"):
            await bench.console.send(ADDRESS, SendFile("report.pdf", path=str(file)))
    assert [said.text for said in bench.front.said] == [f"📄 {file}"]


async def test_a_message_that_nobody_can_read_stays_in_the_outbox(bench: Bench) -> None:
    async with bench.talking():
        assert await bench.console.send(ADDRESS, Say("w")) == Sent(RemoteId("r7:1"), 1000.0)
        bench.front.fault = BrokenPipeError(32, "Broken pipe")
        with pytest.raises(TransientError, match="Broken pipe") as caught:
            await bench.console.send(ADDRESS, Say("x"))
        assert not caught.value.doubtful
        bench.front.fault = None
        assert await bench.console.send(ADDRESS, Say("x")) == Sent(RemoteId("r7:2"), 1000.0)
    assert [said.text for said in bench.front.said] == ["w", "x"]


async def test_a_terminal_that_is_gone_at_the_start_ends_the_conversation(bench: Bench) -> None:
    bench.front.fault = OSError(5, "Input/output error")
    await bench.console.run(bench.intake)
    assert not bench.console.health().ok


async def test_edits_of_a_goals_status_go_to_the_live_lines(bench: Bench) -> None:
    pinned: list[Say | None] = []
    async with bench.talking():
        remote = (await bench.console.send(ADDRESS, STATUS)).remote
        later = Say("⊙ Goal (active, 1/20 turns): x", buttons=CONTROLS)
        await bench.console.edit(ADDRESS, remote, later)
        pinned.append(bench.front.pinned)
        await bench.console.edit(ADDRESS, remote, Say("✓ Goal achieved: x"))
        pinned.append(bench.front.pinned)
        await bench.console.edit(ADDRESS, remote, later)
        pinned.append(bench.front.pinned)
        await bench.console.edit(ADDRESS, RemoteId("before the restart"), STATUS)
        pinned.append(bench.front.pinned)
    assert pinned == [later, None, later, STATUS]
    assert bench.front.said == [STATUS]


async def test_a_new_status_takes_the_place_of_the_pinned_one_at_once(bench: Bench) -> None:
    paused = Say("⊙ Goal (paused, 1/20 turns): x", buttons=CONTROLS)
    async with bench.talking():
        before = (await bench.console.send(ADDRESS, STATUS)).remote
        await bench.console.edit(ADDRESS, before, paused)
        await bench.console.send(ADDRESS, Say("▶ Goal resumed (1/20): x", buttons=CONTROLS))
        assert bench.front.pinned is None


async def test_an_edit_of_another_message_is_printed_when_its_text_is_new(bench: Bench) -> None:
    async with bench.talking():
        remote = (await bench.console.send(ADDRESS, CARD)).remote
        await bench.console.edit(ADDRESS, remote, Say("Deploy?"))
        await bench.console.edit(ADDRESS, remote, Say("Approved by Ann."))
        await bench.console.edit(ADDRESS, remote, Say("Approved by Ann."))
    assert [said.text for said in bench.front.said] == ["Deploy?", "Approved by Ann."]


async def test_nothing_from_outside_reaches_the_screen_uncleaned(bench: Bench) -> None:
    evil = "\x1b]0;t\x07\x9b2J\u202eok"
    async with bench.talking():
        await bench.console.send(ADDRESS, Say(evil, buttons=(Button(evil, evil),)))
        await bench.console.send(ADDRESS, SendFile(evil, evil, content="x"))
        await bench.console.show_progress(ADDRESS, 1, None, evil)
        remote = (await bench.console.send(ADDRESS, STATUS)).remote
        await bench.console.edit(ADDRESS, remote, Say(evil, buttons=CONTROLS))
    shown = repr((bench.front.said, bench.front.doing, bench.front.pinned, bench.front.notes))
    for sign in ("\\x1b", "\\x07", "\\x9b", "\\u202e"):
        assert sign not in shown


async def test_progress_leaves_no_message_and_ends_with_the_turn(bench: Bench) -> None:
    async with bench.talking():
        remote = RemoteId("console:r7:1")
        bench.rest.clear()
        await bench.console.acknowledge(ADDRESS, remote, Mark.SEEN)
        await bench.console.acknowledge(ADDRESS, remote, Mark.WORKING)
        await bench.front.until_working(True)
        shown = await bench.console.show_progress(ADDRESS, 3, None, "💻 make")
        assert shown is None
        await bench.console.acknowledge(ADDRESS, remote, Mark.DONE)
        assert bench.front.doing == [(3, "💻 make"), (0, "")]
        bench.rest.set()
        await bench.front.until_working(False)
    assert bench.front.notes == []


async def test_the_spinner_turns_until_the_lane_is_idle(bench: Bench) -> None:
    bench.rest.clear()
    async with bench.talking():
        bench.front.hears(Typed("a"))
        await bench.intake.until(1)
        await bench.front.until_working(True)
    assert bench.front.notes == [LEAVING], "and one line says that the work goes on"


async def test_a_long_file_of_messages_waits_for_the_lane(tmp_path: Path) -> None:
    bench = Bench(tmp_path, RecordingIntake(replies=(Queued(90),)))
    bench.front.interactive = False
    bench.rest.clear()
    async with bench.talking():
        bench.front.hears(Typed("a"), Typed("b"))
        await bench.intake.until(1)
        await asyncio.sleep(0)
        assert bench.intake.texts() == ["a"]
        bench.rest.set()
    assert bench.intake.texts() == ["a", "b"]


async def test_health_tells_whether_the_chat_is_open(bench: Bench) -> None:
    assert not bench.console.health().ok
    async with bench.talking():
        await bench.console.send(ADDRESS, Say("x"))
        assert bench.console.health().ok
    assert bench.console.health().detail == "the terminal chat is closed"


async def test_leaving_by_a_command_ends_the_conversation(bench: Bench) -> None:
    bench.front.hears(Typed("/quit"))
    await asyncio.wait_for(bench.console.run(bench.intake), 10)
    assert bench.intake.accepted == []
