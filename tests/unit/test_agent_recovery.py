"""A turn cut at any commit, or inside any tool, ends as if it had not been."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeAlias

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.agent import guard, prompts
from core.agent.loop import Agent, Answered, Failed, LoopOptions, Prefix, TurnResult, run_turn
from core.agent.steps import Finished, TurnInput
from core.agent.trace import advance, replay
from core.ports import Completion, Reply, Request
from core.transcript import Assistant, Entry, Receipt, Result, ToolCall, ToolResult, User
from tests.fakes.scripted_model import ScriptedModel, calls, says
from tests.fakes.turn_log import Killed, MemoryTurnLog

START = TurnInput(turn=1, history=(User("hi"), Assistant("hello")), inputs=(User("do it"),))

Script: TypeAlias = list[list[tuple[str, str]]]
"""For each step the (tool, arguments) of its calls."""

RESUMABLE = "child"
"""The tool whose started calls are taken up again, neighbours of them side by side."""


def scripts_of(*tools: str) -> st.SearchStrategy[Script]:
    asked = st.tuples(st.sampled_from(tools), st.sampled_from(["1", "2", '{"a": 1}', "{oops"]))
    return st.lists(st.lists(asked, min_size=1, max_size=3), max_size=5)


scripts = scripts_of("run", RESUMABLE)


@dataclass
class World:
    """Tools with an effect that outlives the process; `dies_in` kills inside a run, at its end.
    A resumable call takes the longer, the earlier its id."""

    dies_in: int | None = None
    ran: list[tuple[int, str]] = field(default_factory=list)
    log: MemoryTurnLog = field(default_factory=MemoryTurnLog)

    async def run(self, call: ToolCall) -> ToolResult:
        step = max(step.n for step in self.log.steps if call.id in step.started)
        number = len(self.ran)
        self.ran.append((step, call.id))
        if call.name == RESUMABLE:
            for _ in range(9 - place(call.id)):
                await asyncio.sleep(0)
        if self.dies_in == number:
            raise Killed
        return ToolResult(call, f"ran {call.arguments}", Receipt(ok=True, summary="ran"))


def place(call_id: str) -> int:
    """Which of its step's calls that is, from 0."""
    return int(call_id.rpartition("c")[2])


def plain_runs(world: World, script: Script) -> list[tuple[int, str]]:
    """The runs of calls that must not be repeated."""
    return [(n, one) for n, one in world.ran if script[n][place(one)][0] != RESUMABLE]


def model_of(script: Script) -> ScriptedModel:
    """A model that knows from the conversation alone where it is in its script."""

    def line(request: Request) -> Completion:
        done = sum(isinstance(entry, Assistant) for entry in request.messages) - 1
        if done >= len(script):
            return says("done")
        cut = done % 2 == 1
        asked = calls(*script[done], ids=f"s{done}c")
        return Reply(asked.text, asked.calls, cut=cut)

    return ScriptedModel([line], loop_last=True)


async def attempt(
    start: TurnInput, script: Script, world: World
) -> tuple[TurnResult, tuple[Entry, ...]]:
    outcome, requests = await work(start, script, world)
    return outcome, requests[-1].messages


async def work(start: TurnInput, script: Script, world: World) -> tuple[TurnResult, list[Request]]:
    model = model_of(script)
    agent = Agent(
        prefix=Prefix("s"),
        model=model,
        compactor=model,
        options=LoopOptions(max_steps=len(script) + 1, resumable=frozenset({RESUMABLE})),
    )
    outcome = await run_turn(start, agent=agent, tools=world, log=world.log, emit=lambda _: None)
    return outcome, model.requests


async def whole(script: Script) -> tuple[TurnResult, tuple[Entry, ...], int]:
    world = World()
    outcome, messages = await attempt(START, script, world)
    return outcome, messages, len(world.log.commits)


@given(scripts, st.data())
async def test_a_kill_at_any_commit_gives_the_same_transcript(
    script: Script, data: st.DataObject
) -> None:
    expected, transcript, commits = await whole(script)
    if not commits:
        return
    world = World()
    world.log = MemoryTurnLog(
        dies_at=data.draw(st.integers(0, commits - 1)), dies_after=data.draw(st.booleans())
    )
    with pytest.raises(Killed):
        await attempt(START, script, world)
    begun = [(step.n, one) for step in world.log.steps for one in step.started]
    world.log = MemoryTurnLog(world.log.steps)
    outcome, messages = await attempt(world.log.resumed(START), script, world)
    assert isinstance(outcome, Answered)
    assert isinstance(expected, Answered)
    assert outcome.text == expected.text
    assert_same_but_for_interruptions(messages, transcript)
    runs = plain_runs(world, script)
    assert len(runs) == len(set(runs)), "a call ran twice"
    finished = [(step.n, one) for step in world.log.steps for one in step.results]
    assert set(begun) <= set(finished)


@given(scripts_of("run"), st.data())
async def test_a_kill_inside_a_tool_is_told_to_the_model_and_the_tool_is_not_repeated(
    script: Script, data: st.DataObject
) -> None:
    world = World()
    await attempt(START, script, world)
    if not world.ran:
        return
    world = World(dies_in=data.draw(st.integers(0, len(world.ran) - 1)))
    with pytest.raises(Killed):
        await attempt(START, script, world)
    lost = world.ran[-1]
    world.dies_in = None
    world.log = MemoryTurnLog(world.log.steps)
    _, messages = await attempt(world.log.resumed(START), script, world)
    assert world.ran.count(lost) == 1
    assert len(world.ran) == len(set(world.ran))
    told = [e for e in messages if isinstance(e, Result) and e.text == guard.INTERRUPTED]
    assert [result.call_id for result in told] == [lost[1]]


@given(scripts, st.lists(st.integers(0, 3), max_size=6))
async def test_any_number_of_kills_ends_with_each_call_run_at_most_once(
    script: Script, kills: list[int]
) -> None:
    world, start = World(), START
    for kill in kills:
        world.log = MemoryTurnLog(start.steps, dies_at=kill, dies_after=bool(kill % 2))
        with suppress(Killed):
            await attempt(start, script, world)
        start = world.log.resumed(START)
    world.log = MemoryTurnLog(start.steps)
    outcome, _ = await attempt(start, script, world)
    assert isinstance(outcome, Answered)
    runs = plain_runs(world, script)
    assert len(runs) == len(set(runs))


THRICE: Script = [[(RESUMABLE, "1")] * 3, [(RESUMABLE, "1"), (RESUMABLE, "2")]]
"""The fourth is refused, and stays so after a restart."""

ROUND: Script = [[(tool, "1")] for tool in ("run", RESUMABLE)] * 9
"""It goes round, is refused, and is asked for its answer before its steps are used."""


@given(scripts_of(RESUMABLE), st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=6))
@example(THRICE, [(0, True)])
@example([[(RESUMABLE, "1"), (RESUMABLE, "2")]] * 2, [(0, True), (0, False), (1, True)])
async def test_resumable_calls_leave_no_trace_of_any_kill(
    script: Script, kills: list[tuple[int, bool]]
) -> None:
    expected, requests = await work(START, script, World())
    world, start = World(), START
    for at, after in kills:
        world.log = MemoryTurnLog(start.steps, dies_at=at, dies_after=after)
        with suppress(Killed):
            await attempt(start, script, world)
        start = world.log.resumed(START)
    world.log = MemoryTurnLog(start.steps)
    outcome, resumed = await work(start, script, world)
    assert outcome == expected
    assert resumed == requests[-len(resumed) :]
    assert [repr(request) for request in resumed] == [*map(repr, requests[-len(resumed) :])]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", range(18))
async def test_a_turn_that_goes_round_ends_alike_after_a_kill(at: int, after: bool) -> None:
    expected, requests = await work(START, ROUND, World())
    world = World()
    world.log = MemoryTurnLog(dies_at=at, dies_after=after)
    with pytest.raises(Killed):
        await attempt(START, ROUND, world)
    start = world.log.resumed(START)
    world.log = MemoryTurnLog(start.steps)
    outcome, resumed = await work(start, ROUND, world)
    assert outcome == expected == Failed(error=prompts.STUCK, permanent=True)
    assert_same_but_for_interruptions(resumed[-1].messages, requests[-1].messages)


@given(scripts, st.data())
async def test_a_kill_inside_a_resumable_tool_is_not_told_to_the_model(
    script: Script, data: st.DataObject
) -> None:
    untouched = World()
    _, transcript = await attempt(START, script, untouched)
    ours = [
        number
        for number, (n, one) in enumerate(untouched.ran)
        if script[n][place(one)][0] == RESUMABLE
    ]
    if not ours:
        return
    world = World(dies_in=data.draw(st.sampled_from(ours)))
    with pytest.raises(Killed):
        await attempt(START, script, world)
    world.dies_in = None
    world.log = MemoryTurnLog(world.log.steps)
    _, messages = await attempt(world.log.resumed(START), script, world)
    assert messages == transcript
    runs = plain_runs(world, script)
    assert len(runs) == len(set(runs))


async def test_a_started_resumable_call_is_taken_up_again() -> None:
    script: Script = [[(RESUMABLE, "1"), (RESUMABLE, "2")]]
    world = World(dies_in=1)
    with pytest.raises(Killed):
        await attempt(START, script, world)
    world.dies_in = None
    world.log = MemoryTurnLog(world.log.steps)
    _, messages = await attempt(world.log.resumed(START), script, world)
    assert messages[-2:] == (Result("s0c0", "ran 1"), Result("s0c1", "ran 2"))
    assert world.ran == [(0, "s0c0"), (0, "s0c1")] * 2
    assert [[type(write) for write in commit] for commit in world.log.commits] == [[Finished] * 2]


def assert_same_but_for_interruptions(
    after: tuple[Entry, ...], without_kill: tuple[Entry, ...]
) -> None:
    """Equal entry by entry, where a lost result may read as interrupted.

    A kill right after a start's commit is such a loss: the call may have run.
    """
    assert len(after) == len(without_kill)
    lost = [(a, b) for a, b in zip(after, without_kill, strict=True) if a != b]
    assert len(lost) <= 1
    for entry, _ in lost:
        assert isinstance(entry, Result)
        assert entry.text == guard.INTERRUPTED


async def test_open_calls_are_closed_when_a_turn_is_left() -> None:
    script: Script = [[("run", "1"), ("run", "2")]]
    world = World(dies_in=1)
    with pytest.raises(Killed):
        await attempt(START, script, world)
    entries = replay(world.log.resumed(START)).closed("stopped")
    assert entries[0] == START.inputs[0]
    assert entries[2:] == (Result("s0c0", "ran 1"), Result("s0c1", "stopped"))


async def test_a_trace_fed_with_each_commit_is_the_one_replayed_from_the_store() -> None:
    children = [(RESUMABLE, "1"), (RESUMABLE, "2"), ("run", "2"), (RESUMABLE, "1")]
    script: Script = [[("run", "1")], [("run", "2"), ("run", "{oops")], children]
    world = World()
    await attempt(START, script, world)
    fed = reduce(advance, world.log.writes, replay(START))
    assert fed == replay(world.log.resumed(START))
    assert fed.messages == START.history + fed.entries
