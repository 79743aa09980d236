"""What people see while a turn runs: typing, a mark on their message, one progress message.

Everything here is best effort and latest wins: it may be late, dropped or lost at a restart,
and never holds a turn or an answer up.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import structlog

from core.agent.events import GateRan, ToolEnded, ToolStarted, ToolWaits, TurnEvent
from core.errors import PursuitError, TransientError
from core.escalations.outcome import waiting_for
from core.fence import one_line
from core.gates import gate
from core.messages import Address, LaneKey, RemoteId, Say, TurnId
from core.ports import Line, Mark, Platform
from core.tools.definitions import ICONS, OTHER_ICON, THINK
from core.transcript import ToolResult
from gateway.platforms import Platforms

log = structlog.get_logger(__name__)

PATIENCE_S = 0.5
"""A turn that is over sooner shows nothing but its answer."""
PACE_S = 1.5
TYPING_S = 4.0
LINES = 8
GATE, GATE_LINE = "gate", 320
"""Under which a gate says what it is doing, and the most that is told of its end."""
BELOW = "↓ answered below"
ENDED = "⏹ ended without an answer"


@dataclass(slots=True)
class Shown:
    """A turn's progress message. `moved_on` is set when anything came after it in the chat."""

    remote: RemoteId | None = None
    moved_on: bool = False
    doubtful: bool = False


@dataclass(slots=True)
class Narration:
    """One turn's story so far; `emit` takes the turn's events."""

    address: Address
    turn: TurnId
    sources: tuple[RemoteId, ...]
    shown: Shown = field(default_factory=Shown)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    answered: bool = False
    """Whether the turn ended with an answer; its worker says so."""
    parked: bool = False
    """Whether it waits for a person, and will be told anew when it goes on."""
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=LINES))
    current: dict[str, Line] = field(default_factory=dict)
    """What each running call is doing, by its id."""
    dropped: int = 0
    shown_any: bool = False
    """Whether the turn lasted long enough to be told of at all."""
    happened: Callable[[TurnEvent], None] = lambda _: None
    """Told of every event, before it is anything here."""

    def emit(self, event: TurnEvent) -> None:
        """Take note of an event."""
        self.happened(event)
        match event:
            case ToolStarted(call, summary):
                self.current[call.id] = f"{ICONS.get(call.name, OTHER_ICON)} {summary} …"
            case ToolEnded(result):
                self.current.pop(result.call.id, None)
                self._add(result)
            case ToolWaits(waiting):
                self.current.pop(waiting.call.id, None)
                # The rest of it is for the model: people answer on the card.
                self._append(f"✋ {waiting_for(waiting.asked).partition(';')[0]}")
            case GateRan(ran):
                self.current.pop(GATE, None)
                self._append(one_line(gate.shown(ran), GATE_LINE))
            case _:
                pass

    def say(self, call_id: str, line: Line) -> None:
        """What a running call is doing."""
        self.current[call_id] = line

    def _add(self, result: ToolResult) -> None:
        if result.call.name == THINK.name:
            return  # with agent.show_thoughts the tool has told its own line
        self._append(tool_line(result))

    def _append(self, line: str) -> None:
        if len(self.lines) == LINES:
            self.dropped += 1
        self.lines.append(line)

    def text(self) -> str:
        """The progress message, "" while there is nothing to tell."""
        earlier = [f"… {self.dropped} more"] if self.dropped else []
        now = [line if isinstance(line, str) else line() for line in self.current.values()]
        return "\n".join([*earlier, *self.lines, *filter(None, now)])


def tool_line(result: ToolResult) -> str:
    """A finished call for people: `💻 pytest -q (exit 1, 2.3s)`."""
    receipt = result.receipt
    icon = ICONS.get(result.call.name, OTHER_ICON)
    notes = [f"{receipt.seconds:.1f}s"]
    if receipt.exit_code:
        notes.insert(0, f"exit {receipt.exit_code}")
    elif not receipt.ok:
        notes.insert(0, "failed")
    return f"{icon} {receipt.summary} ({', '.join(notes)})"


class Narrator:
    """Tells the stories of all running turns; `run` is its life. `happened` is told of every event
    of every turn."""

    def __init__(
        self, platforms: Platforms, happened: Callable[[TurnEvent], None] = lambda _: None
    ) -> None:
        self._platforms = platforms
        self._happened = happened
        self._telling: dict[LaneKey, Narration] = {}
        self._left: dict[TurnId, tuple[LaneKey, Shown]] = {}
        self._tasks: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Hold the background calls until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                await asyncio.Event().wait()
            finally:
                self._tasks = None  # a group that ends takes no tasks; turns that outlive it go
                # untold

    @asynccontextmanager
    async def telling(
        self, lane: LaneKey, turn: TurnId, sources: tuple[RemoteId, ...]
    ) -> AsyncIterator[Narration]:
        """Tell a turn while the block runs."""
        address = Address.of(lane)
        narration = Narration(address, turn, sources, happened=self._happened)
        platform = self._platforms.get(address.platform)
        self._telling[lane] = narration
        teller = None
        if platform is not None and self._tasks is not None:
            story = self._tell(platform, narration)
            teller = self._tasks.create_task(story, name=f"narrate {turn}")
        try:
            yield narration
        finally:
            del self._telling[lane]
            narration.over.set()
            if platform is not None and teller is not None:
                self._conclude(platform, narration, teller)

    def _conclude(
        self, platform: Platform, narration: Narration, teller: asyncio.Task[None]
    ) -> None:
        """Leave the progress message to the answer, or say on it that there is none."""
        if not narration.shown_any:
            teller.cancel()
            return
        if narration.answered:
            self._left[narration.turn] = (narration.address.key, narration.shown)
        self._later(self._epilogue(platform, narration, teller))

    async def _epilogue(
        self, platform: Platform, narration: Narration, teller: asyncio.Task[None]
    ) -> None:
        """What is left to say once the last progress call has come back: one call in flight per
        message."""
        shown = narration.shown
        late = shown.remote is None
        await asyncio.wait({teller})
        if shown.remote is not None and not narration.answered:
            text = "\n".join([*narration.lines, *([] if narration.parked else [ENDED])])
            await _quietly(platform.edit(narration.address, shown.remote, Say(text)))
        elif shown.remote is not None and late and narration.turn not in self._left:
            await _quietly(platform.edit(narration.address, shown.remote, Say(BELOW)))
        await self._mark(platform, narration, _mark_of(narration))

    def moved_on(self, lane: LaneKey) -> None:
        """Something was posted in the chat: a progress message there is no longer the last. One
        that is yet to be posted will be."""
        address = Address.of(lane)
        here = [lane] if not address.user else [k for k in self._telling if _beside(k, address)]
        for narration in filter(None, map(self._telling.get, here)):
            if narration.shown.remote or narration.shown.doubtful:
                narration.shown.moved_on = True
        for left_in, shown in self._left.values():
            if left_in == lane or _beside(left_in, address):
                shown.moved_on = True

    def take(self, turn: TurnId) -> Shown | None:
        """The progress message that a turn left behind, for its answer to replace; once."""
        return self._left.pop(turn, (None, None))[1]

    def put_back(self, lane: LaneKey, turn: TurnId, shown: Shown) -> None:
        """The answer could not take its place yet."""
        self._left[turn] = (lane, shown)

    def point_below(self, address: Address, remote: RemoteId) -> None:
        """Say on a progress message that the answer stands further down."""
        platform = self._platforms.get(address.platform)
        if platform is not None:
            self._later(platform.edit(address, remote, Say(BELOW)))

    def tell(self, lane: LaneKey, text: str) -> None:
        """Say something that no outbox holds; it may get lost."""
        address = Address.of(lane)
        platform = self._platforms.get(address.platform)
        if platform is not None:
            self._later(platform.send(address, Say(text)))

    def _later(self, call: Coroutine[object, object, object]) -> None:
        if self._tasks is None:
            call.close()
            return
        self._tasks.create_task(_quietly(call), name="narrate")

    async def _tell(self, platform: Platform, narration: Narration) -> None:
        await asyncio.sleep(PATIENCE_S)
        told, typed = "", float("-inf")
        loop = asyncio.get_running_loop()
        narration.shown_any = True
        while not narration.over.is_set():
            if loop.time() - typed >= TYPING_S:
                typed = loop.time()
                await self._mark(platform, narration, Mark.WORKING)
            text = narration.text()
            if text and text != told and await self._show(platform, narration, text):
                told = text
            if await _within(narration.over, PACE_S):
                return

    async def _mark(self, platform: Platform, narration: Narration, mark: Mark) -> None:
        for remote in narration.sources or (RemoteId(""),):
            await _quietly(platform.acknowledge(narration.address, remote, mark))

    async def _show(self, platform: Platform, narration: Narration, text: str) -> bool:
        """Whether the text is dealt with; if not, it is to be shown again later."""
        shown = narration.shown
        before = shown.doubtful
        try:
            shown.doubtful = True  # until the platform has confirmed this very text
            shown.remote = await platform.show_progress(
                narration.address, narration.turn, shown.remote, text
            )
            # Confirmed after the turn's end, it is too late for the answer to take its place.
            shown.doubtful = narration.over.is_set()
        except TransientError as error:
            shown.doubtful = before or error.doubtful
            return error.doubtful  # an orphan may stand there already: make no second one
        except PursuitError as error:
            log.debug("progress_failed", error=str(error))
        return True


def _mark_of(narration: Narration) -> Mark:
    """What the person's message is marked with at the end."""
    if narration.parked:
        return Mark.SEEN
    return Mark.DONE if narration.answered else Mark.FAILED


def _beside(lane: LaneKey, address: Address) -> bool:
    """Whether a lane is in the same chat: where people have lanes of their own, several are."""
    return replace(Address.of(lane), user="") == replace(address, user="")


async def _quietly(call: Coroutine[object, object, object]) -> None:
    try:
        await call
    except PursuitError as error:
        log.debug("narration_failed", error=str(error))


async def _within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False
