"""A program in small that asks people, over a real store, worked step by step.

The loop that runs turns is the real one, and so is the store; the shell round them does one write
at a time, when it is told to, and may die between any two.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from adapters.sqlite.store import SqliteStore
from core.agent.loop import Agent, Answered, LoopOptions, Parked, Prefix, run_turn
from core.agent.steps import Finished, Injected, Step, StepWrite, TurnInput
from core.errors import Fenced
from core.escalations.desk import Asked
from core.escalations.outcome import Outcome as Became
from core.escalations.outcome import outcome, told
from core.escalations.record import Fact, Kind, Label, OnTimeout, Purpose
from core.messages import LaneKey, TurnId
from core.ports import Completion, Ran, Reply, Request, Usage, Waiting
from core.sessions.lane import Outcome, Rest, RowKind
from core.sessions.ports import Begun, Ending, Signals, TurnRef
from core.transcript import Assistant, Entry, Receipt, Result, ToolCall, ToolResult, User
from tests.contracts.store_rig import HeldClock, answered

T = TypeVar("T")

RUN, ASK, LOOK = "run", "ask", "look"
OPTIONS = LoopOptions(resumable=frozenset({ASK}))
FAILS = 0.04
"""How often a turn ends before it does anything, whatever it has asked in an earlier attempt."""
KINDS = (Kind.APPROVE, Kind.CHOOSE, Kind.TEXT)


class Gate:
    """Lets so many writes pass, and then no more; `still` is set when all that could has."""

    def __init__(self) -> None:
        self._left = self._busy = self._waiting = 0
        self._more = asyncio.Event()
        self.still = asyncio.Event()

    def let(self, count: int) -> None:
        """So many more may pass."""
        self._left = count
        self.still.clear()
        self._more.set()

    async def through(self, write: Callable[[], Awaitable[T]]) -> T:
        """Wait for a turn, then write."""
        while not self._left:
            self._more.clear()
            self._waiting += 1
            self._look()
            try:
                await self._more.wait()
            finally:
                self._waiting -= 1
        self._left -= 1
        self._busy += 1
        try:
            return await write()
        finally:
            self._busy -= 1
            self._look()

    def _look(self) -> None:
        if self._waiting and not self._busy and not self._left:
            self.still.set()


def unclosed(entries: Iterable[Entry]) -> set[str]:
    """Calls that something other than a result follows, or nothing does."""
    open_: set[str] = set()
    for entry in entries:
        match entry:
            case Result(call_id=id_):
                assert id_ in open_, f"a result of no call: {id_}"
                open_.remove(id_)
            case Assistant(calls=calls):
                assert not open_, f"open calls: {open_}"
                open_ |= {call.id for call in calls}
            case User():
                assert not open_, f"open calls: {open_}"
    return open_


class Whim:
    """A model that asks for anything, or answers; `ending` makes it answer."""

    name = "whim"
    context_tokens = 10_000_000
    max_output_tokens = 1_000

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.ending = False
        self._serial = 0

    async def complete(
        self, request: Request, on_text: Callable[[str], None] | None = None
    ) -> Completion:
        """Say whatever comes to mind. No history that it is shown leaves a call open."""
        assert not unclosed(request.messages)
        self._serial += 1
        if self.ending or self.rng.random() < 0.4:
            return Reply(f"answer {self._serial}", (), Usage(1, 0, 1))
        calls = []
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            self._serial += 1
            name = self.rng.choice((RUN, RUN, ASK, ASK, LOOK))
            calls.append(ToolCall(f"c{self._serial}", name, f'{{"n": {self._serial}}}'))
        return Reply("", tuple(calls), Usage(1, 0, 1))

    def price(self, usage: Usage) -> float | None:
        """Nothing is known of it."""
        return None


@dataclass(slots=True)
class Log:
    """The turn's log, through the gate."""

    store: SqliteStore
    ref: TurnRef
    gate: Gate

    async def record(self, *writes: StepWrite) -> None:
        """See `TurnLog.record`."""
        await self.gate.through(lambda: self.store.record(self.ref, writes))

    async def steered(self) -> tuple[User, ...]:
        """Nobody steers."""
        return ()

    async def allowance(self, model: object, request: Request, counted: int) -> str:
        """There are no caps."""
        return ""

    async def settle(self, usage: Usage) -> None:
        """Nobody counts."""


@dataclass(slots=True)
class Life:
    """One life of the program. `started` counts how often each approved command was, over all
    lives."""

    store: SqliteStore
    clock: HeldClock
    model: Whim
    started: Counter[str]
    gates: dict[LaneKey, Gate] = field(default_factory=dict)
    drains: dict[LaneKey, asyncio.Task[None]] = field(default_factory=dict)
    woken: set[LaneKey] = field(default_factory=set)
    deliver: set[LaneKey] = field(default_factory=set)
    judge: set[LaneKey] = field(default_factory=set)
    _turns: dict[LaneKey, tuple[TurnId, asyncio.Task[Ending]]] = field(default_factory=dict)

    def follow(self, signals: Signals) -> None:
        """Act on what a commit asks for."""
        self.woken |= signals.wake
        self.deliver |= signals.deliver
        self.judge |= signals.judge
        for lane, turn in signals.cancel:
            running = self._turns.get(lane)
            if running is not None and running[0] == turn:
                running[1].cancel()

    async def work(self, lane: LaneKey, writes: int) -> bool:
        """Let a lane that was woken, or works, make so many writes; false for one that rests."""
        gate = self.gates.setdefault(lane, Gate())
        task = self.drains.get(lane)
        if task is None or task.done():
            if lane not in self.woken:
                return False
            self.woken.discard(lane)
            task = self.drains[lane] = asyncio.create_task(self._drain(lane, gate))
        gate.let(writes)
        still = asyncio.create_task(gate.still.wait())
        await asyncio.wait({task, still}, return_when=asyncio.FIRST_COMPLETED)
        still.cancel()
        if task.done():
            del self.drains[lane]
            task.result()
        return True

    async def die(self) -> None:
        """End between two writes."""
        for task in self.drains.values():
            task.cancel()
        await asyncio.gather(*self.drains.values(), return_exceptions=True)

    async def _drain(self, lane: LaneKey, gate: Gate) -> None:
        now = self.clock.now()
        next_, signals = await gate.through(lambda: self.store.begin(lane, now=now, collect=False))
        while True:
            self.follow(signals)
            if isinstance(next_, Rest):
                if next_.until is not None:
                    self.woken.add(lane)
                return
            ref = TurnRef(lane, next_.turn.id, next_.turn.attempt)
            ending = await self._turn(ref, next_, gate)
            next_, signals = await gate.through(lambda: self._end(ref, ending))  # noqa: B023

    async def _end(self, ref: TurnRef, ending: Ending) -> tuple[Begun | Rest, Signals]:
        return await self.store.end_turn(ref, ending, now=self.clock.now(), collect=False)

    async def _turn(self, ref: TurnRef, begun: Begun, gate: Gate) -> Ending:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self._worked(ref, begun, gate))
            self._turns[ref.lane] = (ref.turn, task)
            await asyncio.wait({task})
            del self._turns[ref.lane]
        return Ending(outcome=Outcome.STOPPED, seconds=1.0) if task.cancelled() else task.result()

    async def _worked(self, ref: TurnRef, begun: Begun, gate: Gate) -> Ending:
        if self.model.rng.random() < FAILS:  # as where its person may no longer use the bot
            return Ending(outcome=Outcome.FAILED, seconds=1.0, reason="it may not run")
        try:
            return await self._run(ref, begun, gate)
        except Fenced:
            return Ending(outcome=Outcome.STOPPED, seconds=1.0)

    async def _run(self, ref: TurnRef, begun: Begun, gate: Gate) -> Ending:
        log, tools, steps = Log(self.store, ref, gate), Tools(self, ref, begun, gate), begun.steps
        if (call := begun.call) is not None and not (steps and call.id in steps[0].results):
            ran = await tools.run(call)
            if isinstance(ran, Waiting):
                return Ending(outcome=Outcome.PARKED, seconds=1.0)
            said = User(f"[What came of {call.id}]\n{ran.text}")
            await log.record(Finished(0, ran), Injected(0, said))
            steps = (Step(n=0, injected=(said,), results={call.id: ran}),)
        history = await self.store.history(begun.turn.session)
        assert not unclosed(history)
        assert begun.inputs or begun.turn.kind is RowKind.ANSWER
        start = TurnInput(
            turn=ref.turn, history=history, inputs=begun.inputs, steps=steps, asked=begun.asked
        )
        agent = Agent(prefix=Prefix("do"), model=self.model, compactor=self.model, options=OPTIONS)
        match await run_turn(start, agent=agent, tools=tools, log=log, emit=lambda _: None):
            case Answered(text=text):
                return answered(text)
            case Parked():
                return Ending(outcome=Outcome.PARKED, seconds=1.0)
            case other:
                return Ending(outcome=Outcome.FAILED, seconds=1.0, reason=str(other))


@dataclass(slots=True)
class Tools:
    """The tools of one turn: commands that need leave, questions, and what needs nobody."""

    life: Life
    ref: TurnRef
    begun: Begun
    gate: Gate

    async def run(self, call: ToolCall) -> Ran:
        """See `ToolRunner.run`."""
        if call.name == LOOK:
            return _result(call, "seen")
        life, asked, by = self.life, _asked(call), self.begun.turn.principal
        found, signals = await self.gate.through(
            lambda: life.store.ask(self.ref, call.id, asked, by)
        )
        life.follow(signals)
        if isinstance(found, str):
            return _result(call, found)
        if found.live:
            return Waiting(call, (found.id,))
        first = await self.gate.through(lambda: life.store.apply(self.ref, call.id))
        if call.name == ASK or outcome(found) is not Became.APPROVED:
            return _result(call, told(found))
        if not first:
            return _result(call, f"interrupted by a restart: {call.id}")
        await self.gate.through(self._pause)
        life.started[f"{self.ref.lane} {call.id}"] += 1
        await self.gate.through(self._pause)
        return _result(call, f"ran {call.id}, {found.id}")

    async def _pause(self) -> None:
        """A moment at which the program may die."""


def _asked(call: ToolCall) -> Asked:
    number = int(call.id[1:])
    if call.name == RUN:
        fact = Fact(Label.COMMAND, f"rm -rf {call.id}")
        return Asked(
            key=call.id,
            kind=Kind.APPROVE,
            purpose=Purpose.COMMAND,
            facts=(fact,),
            on_timeout=OnTimeout.DENY,
            timeout_s=3600.0,
        )
    kind = KINDS[number % 3]
    options = ("red", "blue") if kind is Kind.CHOOSE else ()
    question = f"What of {call.id}?"
    return Asked(key=call.id, kind=kind, purpose=Purpose.ASK, question=question, options=options)


def _result(call: ToolCall, text: str) -> ToolResult:
    return ToolResult(call, text, Receipt(ok=True, summary=call.id))
