"""A turn cut at any commit, or inside any tool, ends as if it had not been."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.agent import guard
from core.agent.loop import Agent, Answered, LoopOptions, Prefix, TurnResult, run_turn
from core.agent.steps import Started, TurnInput
from core.agent.trace import advance, replay
from core.ports import Completion, Reply, Request
from core.transcript import Assistant, Entry, Receipt, Result, ToolCall, ToolResult, User
from tests.fakes.scripted_model import ScriptedModel, calls, says
from tests.fakes.turn_log import Killed, MemoryTurnLog

START = TurnInput(turn=1, history=(User("hi"), Assistant("hello")), inputs=(User("do it"),))

scripts = st.lists(
    st.lists(st.sampled_from(["1", "2", '{"a": 1}', "{oops"]), min_size=1, max_size=3),
    max_size=5,
)


@dataclass
class World:
    """Tools with an effect that outlives the process; `dies_in` kills inside a run, at its end."""

    dies_in: int | None = None
    ran: list[tuple[int, str]] = field(default_factory=list)
    log: MemoryTurnLog = field(default_factory=MemoryTurnLog)

    async def run(self, call: ToolCall) -> ToolResult:
        step = max(write.n for write in self.log.writes if isinstance(write, Started))
        self.ran.append((step, call.id))
        if self.dies_in == len(self.ran) - 1:
            raise Killed
        return ToolResult(call, f"ran {call.arguments}", Receipt(ok=True, summary="ran"))


def model_of(script: list[list[str]]) -> ScriptedModel:
    """A model that knows from the conversation alone where it is in its script."""

    def line(request: Request) -> Completion:
        done = sum(isinstance(entry, Assistant) for entry in request.messages) - 1
        if done >= len(script):
            return says("done")
        cut = done % 2 == 1
        asked = calls(*(("run", arguments) for arguments in script[done]))
        return Reply(asked.text, asked.calls, cut=cut)

    return ScriptedModel([line], loop_last=True)


async def attempt(
    start: TurnInput, script: list[list[str]], world: World
) -> tuple[TurnResult, tuple[Entry, ...]]:
    model = model_of(script)
    agent = Agent(
        prefix=Prefix("s"),
        model=model,
        compactor=model,
        options=LoopOptions(max_steps=len(script) + 1),
    )
    outcome = await run_turn(start, agent=agent, tools=world, log=world.log, emit=lambda _: None)
    return outcome, model.requests[-1].messages


async def whole(script: list[list[str]]) -> tuple[TurnResult, tuple[Entry, ...], int]:
    world = World()
    outcome, messages = await attempt(START, script, world)
    return outcome, messages, len(world.log.commits)


@given(scripts, st.data())
async def test_a_kill_at_any_commit_gives_the_same_transcript(
    script: list[list[str]], data: st.DataObject
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
    assert len(world.ran) == len(set(world.ran)), "a call ran twice"
    finished = [(step.n, one) for step in world.log.steps for one in step.results]
    assert set(begun) <= set(finished)


@given(scripts, st.data())
async def test_a_kill_inside_a_tool_is_told_to_the_model_and_the_tool_is_not_repeated(
    script: list[list[str]], data: st.DataObject
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
    script: list[list[str]], kills: list[int]
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
    assert len(world.ran) == len(set(world.ran))


async def test_a_started_resumable_call_is_taken_up_again() -> None:
    script = [["1"]]
    world = World(dies_in=0)
    with pytest.raises(Killed):
        await attempt(START, script, world)
    start = world.log.resumed(START)
    log = MemoryTurnLog(start.steps)
    world = World(log=log)
    log.commits.append((Started(0, "c0"),))
    model = model_of(script)
    agent = Agent(
        prefix=Prefix("s"),
        model=model,
        compactor=model,
        options=LoopOptions(resumable=frozenset({"run"})),
    )
    await run_turn(start, agent=agent, tools=world, log=log, emit=lambda _: None)
    assert model.requests[-1].messages[-1] == Result("c0", "ran 1")


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
    script = [["1", "2"]]
    world = World(dies_in=1)
    with pytest.raises(Killed):
        await attempt(START, script, world)
    entries = replay(world.log.resumed(START)).closed("stopped")
    assert entries[0] == START.inputs[0]
    assert entries[2:] == (Result("c0", "ran 1"), Result("c1", "stopped"))


async def test_a_trace_fed_with_each_commit_is_the_one_replayed_from_the_store() -> None:
    script = [["1"], ["2", "{oops"], ["1"]]
    world = World()
    await attempt(START, script, world)
    fed = reduce(advance, world.log.writes, replay(START))
    assert fed == replay(world.log.resumed(START))
    assert fed.messages == START.history + fed.entries
