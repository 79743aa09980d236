"""What becomes of a turn's progress message when the turn ends while it is being shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from core.agent.events import GateRan, ToolEnded, ToolStarted, ToolWaits
from core.gates.gate import Gate, GateEvent, reason_of
from core.gates.ports import CommandEnd
from core.gates.verify import rejected
from core.messages import (
    Address,
    Attachment,
    Outbound,
    PlatformName,
    RemoteId,
    Say,
    TurnId,
)
from core.ports import Health, Intake, Mark, Sent, Waiting
from core.splitting import Room
from core.transcript import Receipt, ToolCall, ToolResult
from gateway.narrator import BELOW, ENDED, GATE, GATE_LINE, LINES, Narration, Narrator
from gateway.platforms import Platforms

CHAT = Address(PlatformName.TELEGRAM, "42", "7")
TURN = TurnId(1)


@dataclass(slots=True)
class SlowPlatform:
    """Holds each progress call until it is let go, and keeps what the chat shows."""

    name: PlatformName = PlatformName.TELEGRAM
    repeats_s: float = 0.0
    called: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)
    marked: asyncio.Event = field(default_factory=asyncio.Event)
    texts: dict[RemoteId, str] = field(default_factory=dict)
    marks: list[tuple[RemoteId, Mark]] = field(default_factory=list)

    async def show_progress(
        self, address: Address, turn: int, remote: RemoteId | None, text: str
    ) -> RemoteId | None:
        self.called.set()
        await self.go.wait()
        remote = remote or RemoteId("9")
        self.texts[remote] = text
        return remote

    async def edit(self, address: Address, remote: RemoteId, what: Say) -> None:
        self.texts[remote] = what.text

    async def acknowledge(self, address: Address, remote: RemoteId, state: Mark) -> None:
        self.marks.append((remote, state))
        if state is not Mark.WORKING:
            self.marked.set()

    async def run(self, intake: Intake) -> None:
        await asyncio.Event().wait()

    def health(self) -> Health:
        return Health(ok=True, silent_s=0.0, detail="")

    def parts(self, text: str) -> tuple[Outbound, ...]:
        return (Say(text),)

    @property
    def room(self) -> Room:
        return Room(4_000)

    async def send(self, address: Address, what: Outbound, *, key: str = "") -> Sent:
        return Sent(RemoteId("10"), 0.0)

    async def download(self, attachment: Attachment, to: Path) -> None:
        raise AssertionError(attachment)


@asynccontextmanager
async def narrating(platform: SlowPlatform) -> AsyncIterator[Narrator]:
    platforms = Platforms()
    platforms.add(platform)
    narrator = Narrator(platforms)
    async with asyncio.TaskGroup() as group:
        life = group.create_task(narrator.run(), name="narrator")
        await asyncio.sleep(0)  # its first step
        yield narrator
        life.cancel()


async def tell_a_turn(narrator: Narrator, platform: SlowPlatform, *, answered: bool) -> None:
    """A turn that ends while its first progress message is on its way."""
    async with narrator.telling(CHAT.key, TURN, ()) as narration:
        narration.emit(ToolStarted(ToolCall("c", "run", "{}"), "pytest -q"))
        await platform.called.wait()
        narration.answered = answered


async def test_a_progress_message_that_comes_late_is_not_replaced_by_the_answer() -> None:
    platform = SlowPlatform()
    async with narrating(platform) as narrator:
        await tell_a_turn(narrator, platform, answered=True)
        platform.go.set()
        await platform.marked.wait()
        shown = narrator.take(TURN)
        assert shown is not None
        assert shown.doubtful  # so that the answer is posted anew, and this one points to it
        assert platform.texts == {RemoteId("9"): "💻 pytest -q …"}


async def test_one_that_comes_after_the_answer_points_to_it() -> None:
    platform = SlowPlatform()
    async with narrating(platform) as narrator:
        await tell_a_turn(narrator, platform, answered=True)
        assert narrator.take(TURN) is not None  # the answer goes out while the post still hangs
        platform.go.set()
        await platform.marked.wait()
        assert platform.texts == {RemoteId("9"): BELOW}


async def test_a_turn_without_an_answer_says_so_last_on_its_progress() -> None:
    platform = SlowPlatform()
    async with narrating(platform) as narrator:
        await tell_a_turn(narrator, platform, answered=False)
        platform.go.set()
        await platform.marked.wait()
        assert platform.texts == {RemoteId("9"): ENDED}


async def test_another_persons_message_in_the_same_group_counts_as_moving_on() -> None:
    platform = SlowPlatform()
    anna = Address(PlatformName.TELEGRAM, "42", "-7", user="1")
    ben = Address(PlatformName.TELEGRAM, "42", "-7", user="2")
    async with narrating(platform) as narrator:
        platform.go.set()
        async with narrator.telling(anna.key, TURN, ()) as narration:
            narration.emit(ToolStarted(ToolCall("c", "run", "{}"), "ls"))
            await platform.called.wait()
            narrator.moved_on(ben.key)
            assert narration.shown.moved_on
            narration.answered = True


ASK = ToolCall("a", "ask", "{}")


async def tell_a_turn_that_waits(narrator: Narrator, platform: SlowPlatform) -> None:
    """A turn that waits for a person while its progress is being shown."""
    async with narrator.telling(CHAT.key, TURN, (RemoteId("5"),)) as narration:
        narration.emit(ToolStarted(ASK, "Shall I?"))
        await platform.called.wait()
        narration.emit(ToolWaits(Waiting(ASK, ("E7",))))
        narration.parked = True


async def test_a_turn_that_waits_says_for_what_and_leaves_the_message_seen() -> None:
    platform = SlowPlatform()
    async with narrating(platform) as narrator:
        await tell_a_turn_that_waits(narrator, platform)
        platform.go.set()
        await platform.marked.wait()
        assert platform.texts == {RemoteId("9"): "✋ waiting for E7"}
        assert platform.marks == [(RemoteId("5"), Mark.WORKING), (RemoteId("5"), Mark.SEEN)]
        assert narrator.take(TURN) is None  # its answer, when it comes, is a message of its own


async def test_a_turn_that_goes_on_after_its_answer_is_told_anew() -> None:
    platform = SlowPlatform()
    async with narrating(platform) as narrator:
        await tell_a_turn_that_waits(narrator, platform)
        platform.go.set()
        await platform.marked.wait()
        async with narrator.telling(CHAT.key, TURN, ()) as narration:
            assert narration.text() == ""
            narration.answered = True


def test_a_call_that_waits_is_a_line_like_any_and_counts_as_one() -> None:
    narration = Narration(CHAT, TURN, ())
    call = ToolCall("c", "run", "{}")
    for _ in range(LINES):
        narration.emit(ToolEnded(ToolResult(call, "", Receipt(ok=True, summary="ls"))))
    narration.emit(ToolStarted(ASK, "Shall I?"))
    narration.emit(ToolWaits(Waiting(ASK, ("E7",))))
    lines = narration.text().splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("… 1 more", "✋ waiting for E7", LINES + 1)


def test_a_gate_is_told_while_it_looks_and_when_it_has() -> None:
    narration = Narration(CHAT, TURN, ())
    narration.say(GATE, "🔎 pytest -q …")
    assert narration.text() == "🔎 pytest -q …"
    for gate, result, reason in (
        (Gate.VERIFY, "passed", "pytest -q"),
        (Gate.CRITIC, "REJECT", "b is missing\n" + "x" * 500),
    ):
        event = GateEvent(gate=gate, result=result, reason=reason, bounce=0, budget=2, ms=1)
        narration.emit(GateRan(event))
    verify, critic = narration.text().split("\n")
    assert verify == "✅ pytest -q passed"
    assert critic.startswith("[critic] REJECT: b is missing xxx")
    assert len(critic) == GATE_LINE


def test_a_failed_command_is_told_whole_with_the_end_of_what_it_said() -> None:
    narration = Narration(CHAT, TURN, ())
    failed = rejected("c" * 500, CommandEnd(126, "x" * 500))
    reason = reason_of(failed)
    event = GateEvent(gate=Gate.VERIFY, result="failed", reason=reason, bounce=0, budget=2, ms=1)
    narration.emit(GateRan(event))
    assert narration.text() == f"❌ {reason}"
