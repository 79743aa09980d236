"""A turn whose calls wait for a person ends as if they had not, once they were answered."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from hypothesis import example, given
from hypothesis import strategies as st

from core.agent import guard
from core.agent.events import ToolStarted, ToolWaits, TurnEvent
from core.agent.loop import Agent, Answered, LoopOptions, Parked, Prefix, TurnResult, run_turn
from core.agent.steps import Finished, Replied, Started, Step, TurnInput
from core.agent.trace import replay
from core.ports import Completion, Ran, Reply, Request, Waiting
from core.transcript import Assistant, Receipt, Result, ToolCall, ToolResult, User
from tests.fakes.scripted_model import ScriptedModel, calls, says
from tests.fakes.turn_log import Killed, MemoryTurnLog

START = TurnInput(turn=1, history=(User("hi"), Assistant("hello")), inputs=(User("do it"),))
ASKED = ("E1",)
CHILD = "child"
"""The tool whose started calls are taken up again, neighbours of them side by side."""

Script: TypeAlias = list[list[tuple[str, str]]]
"""For each step the (tool, arguments) of its calls."""


def calls_of(script: Script, n: int) -> Reply:
    """The reply of a step, with ids of its own."""
    return calls(*script[n], ids=f"s{n}c")


def model_of(script: Script) -> ScriptedModel:
    """A model that knows from the conversation alone where it is in its script."""

    def line(request: Request) -> Completion:
        done = sum(isinstance(entry, Assistant) for entry in request.messages) - 1
        return calls_of(script, done) if done < len(script) else says("done")

    return ScriptedModel([line], loop_last=True)


@dataclass
class World:
    """Tools that wait for a person as often as `waits` says of a call. `asked` are the calls that
    were not told their answer yet; a child's own questions have other names."""

    waits: Counter[str] = field(default_factory=Counter)
    asked: set[str] = field(default_factory=set)
    ran: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    log: MemoryTurnLog = field(default_factory=MemoryTurnLog)
    events: list[TurnEvent] = field(default_factory=list)

    async def run(self, call: ToolCall) -> Ran:
        self.ran.append(call.id)
        await asyncio.sleep(0)
        if self.waits[call.id]:
            self.waits[call.id] -= 1
            self.asked |= {call.id} - ({call.id} if call.name == CHILD else set())
            return Waiting(call, ASKED)
        self.asked.discard(call.id)
        self.ended.append(call.id)
        return ToolResult(call, f"ran {call.arguments}", Receipt(ok=True, summary="ran"))


async def attempt(start: TurnInput, model: ScriptedModel, world: World) -> TurnResult:
    agent = Agent(
        prefix=Prefix("s"),
        model=model,
        compactor=model,
        options=LoopOptions(resumable=frozenset({CHILD})),
    )
    return await run_turn(start, agent=agent, tools=world, log=world.log, emit=world.events.append)


def taken_up(world: World) -> TurnInput:
    """The next attempt's start; its log goes on from what is stored."""
    start = replace(world.log.resumed(START), asked=frozenset(world.asked))
    world.log = MemoryTurnLog(start.steps)
    return start


async def to_its_end(script: Script, world: World) -> tuple[TurnResult, list[Request], int]:
    """Answer whatever is asked; the outcome, all requests, and how often the turn waited."""
    model, start, waited = model_of(script), START, 0
    while isinstance(outcome := await attempt(start, model, world), Parked):
        assert outcome.waiting
        start, waited = taken_up(world), waited + 1
    return outcome, model.requests, waited


async def test_a_call_that_waits_ends_the_attempt_and_those_behind_it_do_not_start() -> None:
    script: Script = [[("run", "1"), ("run", "2"), ("run", "3")]]
    world = World(Counter({"s0c1": 1}))
    outcome = await attempt(START, model_of(script), world)
    (one, two, _) = calls_of(script, 0).calls
    assert outcome == Parked(waiting=(Waiting(two, ASKED),))
    assert world.ran == [one.id, two.id]
    commits = [[type(write) for write in commit] for commit in world.log.commits]
    assert commits == [[Replied, Started], [Finished], [Started]]
    assert [type(event) for event in world.events[-2:]] == [ToolStarted, ToolWaits]
    (step,) = world.log.steps
    assert step.started == {one.id, two.id}
    assert step.results.keys() == {one.id}


async def test_neighbours_all_end_or_wait_before_the_attempt_ends() -> None:
    script: Script = [[(CHILD, "1"), (CHILD, "2"), (CHILD, "3"), ("run", "4"), (CHILD, "5")]]
    world = World(Counter({"s0c0": 1, "s0c2": 2}))
    outcome = await attempt(START, model_of(script), world)
    assert isinstance(outcome, Parked)
    assert [one.call.id for one in outcome.waiting] == ["s0c0", "s0c2"]
    assert world.ended == ["s0c1"]
    assert world.ran == ["s0c0", "s0c1", "s0c2"]
    outcome = await attempt(taken_up(world), model_of(script), world)
    assert isinstance(outcome, Parked)
    assert [one.call.id for one in outcome.waiting] == ["s0c2"]
    assert world.ran[3:] == ["s0c0", "s0c2"]
    assert isinstance(await attempt(taken_up(world), model_of(script), world), Answered)
    assert world.ended == ["s0c1", "s0c0", "s0c2", "s0c3", "s0c4"]


async def test_only_a_call_that_asked_is_run_again() -> None:
    script: Script = [[("run", "1"), ("run", "2")]]
    first, second = calls_of(script, 0).calls
    step = Step(n=0, reply=calls_of(script, 0), started=frozenset({first.id}))
    for asked, text in (({first.id}, "ran 1"), (set[str](), guard.INTERRUPTED)):
        world = World(log=MemoryTurnLog([step]))
        model = model_of(script)
        await attempt(replace(START, steps=(step,), asked=frozenset(asked)), model, world)
        assert model.requests[-1].messages[-2:] == (
            Result(first.id, text),
            Result(second.id, "ran 2"),
        )


async def test_a_call_that_has_not_started_is_no_answered_one() -> None:
    script: Script = [[("run", "1")] * 3]
    world = World(Counter({"s0c0": 1}))
    assert isinstance(await attempt(START, model_of(script), world), Parked)
    start = replace(taken_up(world), asked=frozenset({"s0c0", "s0c2"}))
    model = model_of(script)
    await attempt(start, model, world)
    assert model.requests[-1].messages[-1] == Result("s0c2", guard.REPEATED)


async def test_ids_that_are_taken_are_not_given_again() -> None:
    world = World()
    model = ScriptedModel([calls(("run", "1")), calls(("run", "2")), says("done")])
    await attempt(replace(START, taken=frozenset({"c0"})), model, world)
    assert world.ran == ["c0_2", "c0_3"]


def test_an_open_call_is_closed_with_its_note_or_else_the_text() -> None:
    reply = calls(("run", "1"), ("run", "2"), ("run", "3"))
    one, two, three = reply.calls
    ended = ToolResult(two, "ran 2", Receipt(ok=True, summary="ran"))
    step = Step(n=0, reply=reply, started=frozenset({one.id, two.id}), results={two.id: ended})
    trace = replay(replace(START, steps=(step,)))
    assert trace.closed("cut off", {one.id: "asked"})[1:] == (
        Assistant("", reply.calls),
        Result(two.id, "ran 2"),
        Result(one.id, "asked"),
        Result(three.id, "cut off"),
    )


def test_results_stand_in_the_order_of_their_calls_however_they_came() -> None:
    reply = calls(("run", "1"), ("run", "2"), ("run", "3"))
    results = {
        call.id: ToolResult(call, call.arguments, Receipt(True, "")) for call in reply.calls
    }
    kept = Step(n=0, reply=reply, started=frozenset(results), results={"c1": results["c1"]})
    trace = replay(replace(START, steps=(kept,)))
    assert [result.call.id for result in trace.results] == ["c1"]
    whole = replay(replace(START, steps=(replace(kept, results=results),)))
    assert [result.call.id for result in whole.results] == ["c0", "c1", "c2"]


asked_for = st.tuples(st.sampled_from(["run", CHILD]), st.sampled_from(["1", "2", '{"a": 1}']))
scripts = st.lists(st.lists(asked_for, min_size=1, max_size=4), max_size=4)
child = st.tuples(st.just(CHILD), st.sampled_from("12"))
families = st.lists(st.lists(child, min_size=1, max_size=3), max_size=4)
waits = st.dictionaries(
    st.tuples(st.integers(0, 3), st.integers(0, 3)), st.integers(1, 2), max_size=5
)
kills = st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=4)
DRAFTS: Script = [[(CHILD, "1")] * 3 + [("run", "1")]]
"""Beside each other they are no repetition, also when the last of them waits."""


def named(found: dict[tuple[int, int], int]) -> Counter[str]:
    return Counter({f"s{n}c{place}": times for (n, place), times in found.items()})


@given(scripts, waits)
@example(DRAFTS, {(0, 2): 1})
@example([[(CHILD, "1"), (CHILD, "2")], [("run", "1")]], {(0, 0): 2})
async def test_waiting_leaves_no_trace_in_what_the_model_reads(
    script: Script, found: dict[tuple[int, int], int]
) -> None:
    expected, requests, _ = await to_its_end(script, World())
    outcome, with_waiting, _ = await to_its_end(script, World(named(found)))
    assert outcome == expected
    assert [repr(request) for request in with_waiting] == [repr(request) for request in requests]


@given(families, waits, kills)
async def test_waiting_and_kills_together_leave_none_either(
    script: Script, found: dict[tuple[int, int], int], cuts: list[tuple[int, bool]]
) -> None:
    expected, requests, _ = await to_its_end(script, World())
    world, start = World(named(found)), START
    for at, after in cuts:
        world.log = MemoryTurnLog(start.steps, dies_at=at, dies_after=after)
        with suppress(Killed):
            await attempt(start, model_of(script), world)
        start = taken_up(world)
    model = model_of(script)
    while isinstance(outcome := await attempt(start, model, world), Parked):
        start = taken_up(world)
    assert outcome == expected
    last = [repr(request) for request in model.requests]
    assert last == [repr(request) for request in requests[-len(last) :]]
