"""What the store's contract suite drives a store with: people, a worker, a judge, a restart.

It speaks through the `Store` port only, so any back end can be put behind it. It keeps nothing
that a process would lose at a crash but the names of what it sent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TypeAlias

from core import commands
from core.agent.steps import Finished, Replied, Started
from core.goals.contract import Budget
from core.goals.events import Verdict, Word
from core.messages import (
    Ack,
    Address,
    LaneKey,
    Outbound,
    PlatformName,
    Principal,
    RemoteId,
    Role,
    Say,
    SendFile,
)
from core.ports import Reply, Sent, Usage
from core.sessions.arrivals import Arrival, Commanded, Relocation, Said
from core.sessions.facts import House
from core.sessions.lane import Busy, Outcome, Rest
from core.sessions.outgoing import Amend
from core.sessions.ports import (
    Begun,
    CallUsage,
    Ending,
    OpenJudgement,
    Signals,
    Store,
    TurnRef,
    UsageOf,
)
from core.transcript import Receipt, ToolCall, ToolResult

HERE = Address(PlatformName.TELEGRAM, "bot", "100")
THERE = Address(PlatformName.TELEGRAM, "bot", "200")
LANE = HERE.key
OTHER_LANE = THERE.key
OWNER = Principal("1", "Anna", Role.OWNER)
SECOND_OWNER = Principal("2", "Bela", Role.OWNER)
MEMBER = Principal("3", "Cora", Role.MEMBER)
NOW = 1_700_000_000.0

HOUSE = House(
    models=("main", "big"),
    model="main",
    folders=("/srv/site", "/srv/app"),
    home=lambda lane: f"/data/{lane}",
)

DONE = Verdict(done=True, reason="all is there")
NOT_DONE = Verdict(done=False, reason="two are missing")
BLOCKED = Verdict(done=False, reason="no key", blocked=True)


@dataclass(slots=True)
class HeldClock:
    """Time stands still until a test moves it."""

    wall: float = NOW

    def now(self) -> float:
        """See `Clock.now`."""
        return self.wall

    def monotonic(self) -> float:
        """See `Clock.monotonic`."""
        return self.wall


@dataclass(frozen=True, slots=True)
class Opening:
    """How a store is to be opened; `run` names this start."""

    folder: Path
    clock: HeldClock
    run: str
    defaults: Budget
    house: House = HOUSE


OpenStore: TypeAlias = Callable[[Opening], Awaitable[Store]]


def call(number: int, name: str = "terminal") -> ToolCall:
    """A tool call with its own id."""
    return ToolCall(f"call-{number}", name, f'{{"command": "step {number}"}}')


def result(of: ToolCall, text: str = "fine") -> ToolResult:
    """How that call went."""
    return ToolResult(of, text, Receipt(ok=True, summary=of.name, exit_code=0))


def ref(begun: Begun, lane: LaneKey = LANE) -> TurnRef:
    """The fence of a begun turn."""
    return TurnRef(lane, begun.turn.id, begun.turn.attempt)


def reply(*calls: ToolCall, text: str = "", tokens: int = 10) -> Reply:
    """What the model said at one step."""
    return Reply(text, calls, Usage(input_tokens=tokens, output_tokens=tokens, cost=0.01))


def texts(begun: Begun | Rest) -> list[str]:
    """What a turn answers."""
    assert isinstance(begun, Begun), begun
    return [message.text for message in begun.inputs]


@dataclass(slots=True)
class Rig:
    """A store in a folder. `reopen` is a restart of the whole process."""

    open_store: OpenStore
    folder: Path
    store: Store
    clock: HeldClock = field(default_factory=HeldClock)
    defaults: Budget = field(default_factory=Budget)
    signals: list[Signals] = field(default_factory=list)
    collect: bool = False
    _numbers: count[int] = field(default_factory=lambda: count(1))
    _runs: count[int] = field(default_factory=lambda: count(2))
    _remotes: count[int] = field(default_factory=lambda: count(1))

    @classmethod
    async def start(
        cls, open_store: OpenStore, folder: Path, defaults: Budget | None = None
    ) -> Rig:
        """Open a store for the first time."""
        clock, limits = HeldClock(), defaults or Budget()
        store = await open_store(Opening(folder, clock, "run-1", limits))
        return cls(open_store, folder, store, clock, limits)

    async def reopen(self) -> None:
        """Close and open again: only what is stored is left."""
        await self.store.close()
        opening = Opening(self.folder, self.clock, f"run-{next(self._runs)}", self.defaults)
        self.store = await self.open_store(opening)

    async def restart(self) -> None:
        """Reopen, then take up what the store says was left, as a start does."""
        await self.reopen()
        for lane in (await self.store.unfinished()).goals:
            self._note(await self.store.enter_session(lane))

    def _note(self, signals: Signals) -> None:
        self.signals.append(signals)

    # People

    def message(
        self,
        text: str,
        by: Principal = OWNER,
        *,
        busy: Busy = Busy.QUEUE,
        more: bool = False,
        lane: LaneKey = LANE,
    ) -> Arrival:
        """A message with a dedupe key of its own."""
        key = f"tg:bot:{next(self._numbers)}"
        return Arrival(lane, key, by, Said({"text": text}, busy, more))

    def order(self, line: str, by: Principal = OWNER, *, lane: LaneKey = LANE) -> Arrival:
        """A command line with a dedupe key of its own."""
        read = commands.read(line)
        assert read is not None
        return Arrival(lane, f"tg:bot:{next(self._numbers)}", by, Commanded(read))

    async def accept(self, *arrivals: Arrival | Relocation) -> tuple[Ack, ...]:
        """One batch, one transaction."""
        acks, signals = await self.store.accept(arrivals, cursor=None, now=self.clock.now())
        self._note(signals)
        return acks

    async def say(self, text: str, by: Principal = OWNER, *, busy: Busy = Busy.QUEUE) -> Ack:
        """A person writes a message."""
        return (await self.accept(self.message(text, by, busy=busy)))[0]

    async def tell(self, line: str, by: Principal = OWNER) -> Ack:
        """A person gives a command."""
        return (await self.accept(self.order(line, by)))[0]

    # The worker

    async def begin(self, lane: LaneKey = LANE) -> Begun | Rest:
        """Ask for the lane's next turn."""
        next_, signals = await self.store.begin(lane, now=self.clock.now(), collect=self.collect)
        self._note(signals)
        return next_

    async def turn(self, lane: LaneKey = LANE) -> Begun:
        """The lane's next turn; there must be one."""
        begun = await self.begin(lane)
        assert isinstance(begun, Begun), begun
        return begun

    async def step(self, begun: Begun, n: int, *, tokens: int = 10) -> None:
        """A whole step with one call."""
        asked = call(n)
        await self.store.record(
            ref(begun),
            [Replied(n, said := reply(asked, tokens=tokens)), Started(n, asked.id)],
            spent=[CallUsage("main", said.usage)],
        )
        await self.store.record(ref(begun), [Finished(n, result(asked))])

    async def end(self, begun: Begun, ending: Ending, lane: LaneKey = LANE) -> Begun | Rest:
        """Leave a turn."""
        next_, signals = await self.store.end_turn(
            ref(begun, lane), ending, now=self.clock.now(), collect=self.collect
        )
        self._note(signals)
        return next_

    async def answer(self, begun: Begun, text: str = "an answer") -> Begun | Rest:
        """The turn ends well."""
        return await self.end(begun, answered(text))

    async def fail(self, begun: Begun, reason: str = "no route to the model") -> Begun | Rest:
        """The turn ends in an error."""
        return await self.end(begun, Ending(outcome=Outcome.FAILED, seconds=1.0, reason=reason))

    # The judge

    async def asked(self, lane: LaneKey = LANE) -> OpenJudgement:
        """The lane's open judgement; there must be one."""
        found = await self.store.open_judgement(lane)
        assert found is not None
        return found

    async def judge(self, word: Word, asked: OpenJudgement | None = None) -> None:
        """The judge gives its word, on what is open now unless told otherwise."""
        asked = asked or await self.asked()
        spent = UsageOf(
            session=asked.session,
            goal=asked.goal.id,
            purpose="goal_judge",
            model="judge",
            usage=Usage(5, 0, 5, 0.001),
        )
        self._note(await self.store.judged(LANE, asked, word, spent, now=self.clock.now()))

    # What the chat shows

    async def heard(self, lane: LaneKey = LANE) -> list[str]:
        """Everything that waits to be sent, sent now, as its texts."""
        said: list[str] = []
        for _, what in await self.shown(lane):
            match what:
                case Say(text=text):
                    said.append(text)
                case SendFile(name=name):
                    said.append(name)
                case Amend():
                    pass
        return said

    async def shown(self, lane: LaneKey = LANE) -> list[tuple[RemoteId, Outbound | Amend]]:
        """The same whole, edits included, with the ids of the messages."""
        shown: list[tuple[RemoteId, Outbound | Amend]] = []
        while (out := await self.store.next_outgoing(lane, now=self.clock.now())) is not None:
            what = out.what
            new = RemoteId(str(next(self._remotes)))
            remote = what.remote if isinstance(what, Amend) else new
            _, signals = await self.store.sent(out, self.at(remote))
            self._note(signals)
            shown.append((remote, what))
        return shown

    def at(self, remote: str) -> Sent:
        """A message that the platform takes now."""
        return Sent(RemoteId(remote), self.clock.now())

    # What tests of goals start from

    async def goal(self, text: str = "Write four files", by: Principal = OWNER) -> Begun:
        """A goal in its kick-off turn; what the chat was told so far is taken out."""
        await self.tell(f"/goal {text}", by)
        begun = await self.turn()
        await self.heard()
        return begun

    async def judged_goal(self, *words: Word, text: str = "Write four files") -> None:
        """A goal whose first turns ended with these verdicts."""
        begun: Begun | Rest = await self.goal(text)
        for word in words:
            assert isinstance(begun, Begun)
            await self.answer(begun)
            await self.judge(word)
            begun = await self.begin()


def answered(text: str = "an answer", posts: Sequence[str] | None = None) -> Ending:
    """A turn that ends with this answer, sent as these posts."""
    return Ending(
        outcome=Outcome.ANSWERED,
        seconds=1.0,
        answer=text,
        posts=tuple(Say(post) for post in (posts or [text])),
    )
