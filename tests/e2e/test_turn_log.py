"""A turn's log on a real store: every call of a turn, folds too, stays within the goal's caps."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest_asyncio

from core.agent.loop import Agent, Answered, Failed, OutOfBudget, Prefix, TurnResult, run_turn
from core.agent.steps import TurnInput
from core.ports import FailureKind, ModelFailure, Reply, Request, Usage
from core.sessions import lane
from core.sessions.ports import Begun, Ending
from core.sessions.turn_log import StoredLog
from core.transcript import Receipt, ToolCall, ToolResult, User
from tests.contracts.backends import sqlite
from tests.contracts.store_rig import Rig, ref
from tests.fakes.scripted_model import Line, ScriptedModel, calls, says

OVERFLOW = ModelFailure(FailureKind.OVERFLOW, "too long", usage=Usage(30, 0, 0, 0.0))
PREFIX = Prefix("s" * 400)
LONG = "word " * 4_000


class Tools:
    """Every call gives a long text."""

    async def run(self, call: ToolCall) -> ToolResult:
        """See `ToolRunner.run`."""
        return ToolResult(call, LONG, Receipt(ok=True, summary="ran"))


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the usage table."""

    model: str
    state: str
    goal: int | None
    tokens: int


@pytest_asyncio.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """An empty store."""
    made = await Rig.start(sqlite, tmp_path)
    yield made
    await made.store.close()


def main(*script: Line, price: float = 0.0) -> ScriptedModel:
    """The agent's model."""
    return ScriptedModel(script, name="main", max_output_tokens=50, price_per_token=price)


def small(*script: Line) -> ScriptedModel:
    """The model that folds; its own limit and no price."""
    return ScriptedModel(script, name="small", max_output_tokens=100)


def counted(reply: Reply, tokens: int) -> Reply:
    """The reply, with the provider's count."""
    return Reply(reply.text, reply.calls, Usage(tokens - 10, 0, 10))


async def work(
    rig: Rig, begun: Begun, model: ScriptedModel, compactor: ScriptedModel
) -> TurnResult:
    """The turn, and its end in the store."""
    log = StoredLog(rig.store, ref(begun), begun, rig.clock)
    outcome = await run_turn(
        TurnInput(
            turn=begun.turn.id,
            history=await rig.store.history(begun.turn.session),
            inputs=(*begun.inputs, User(LONG)),
            steps=begun.steps,
        ),
        agent=Agent(prefix=PREFIX, model=model, compactor=compactor),
        tools=Tools(),
        log=log,
        emit=lambda _: None,
    )
    ended = lane.Outcome.ANSWERED if isinstance(outcome, Answered) else lane.Outcome.FAILED
    answer = outcome.text if isinstance(outcome, Answered) else ""
    await rig.end(begun, Ending(outcome=ended, seconds=1.0, answer=answer, spent=log.spent))
    return outcome


async def capped(rig: Rig, limits: str) -> Begun:
    """A goal's first turn under these limits."""
    begun = await rig.goal()
    await rig.tell(f"/goal budget {limits}")
    return begun


def usage(rig: Rig) -> list[Row]:
    """What the store has kept of each call."""
    conn = sqlite3.connect(next(rig.folder.glob("*.db")))
    found = conn.execute("SELECT model, state, goal, input + output FROM usage ORDER BY id")
    rows = [Row(*row) for row in found]
    conn.close()
    return rows


async def test_a_fold_and_every_retry_are_booked_and_settled_under_their_own_model(
    rig: Rig,
) -> None:
    begun = await capped(rig, "tokens=100000")
    model = main(
        counted(calls(("run", "1")), 5_200), OVERFLOW, says(""), counted(says("done"), 400)
    )
    outcome = await work(rig, begun, model, small(counted(says("short"), 5_100)))
    assert isinstance(outcome, Answered)
    rows = usage(rig)
    assert [row.model for row in rows] == ["main", "main", "small", "main", "main"]
    assert {row.state for row in rows} == {"settled"}
    assert [row.tokens for row in rows if row.tokens != rows[3].tokens] == [5200, 30, 5100, 400]


async def test_a_cap_stops_a_fold_that_it_does_not_cover(rig: Rig) -> None:
    begun = await capped(rig, "tokens=17000")
    dear = ModelFailure(FailureKind.OVERFLOW, "too long", usage=Usage(9_000, 0, 0, 0.0))
    model = main(counted(calls(("run", "1")), 5_200), dear)
    compactor = small()
    outcome = await work(rig, begun, model, compactor)
    assert isinstance(outcome, Failed)
    assert "token budget" in outcome.error
    assert not compactor.requests
    assert sum(row.tokens for row in usage(rig)) <= 17_000


async def test_a_step_whose_results_are_long_is_not_asked_with_the_last_count(rig: Rig) -> None:
    begun = await capped(rig, "tokens=11000")
    model = main(counted(calls(("run", "1")), 5_200))
    assert isinstance(await work(rig, begun, model, small()), OutOfBudget)
    assert len(model.requests) == 1, "5,200 spent, 5,200 counted and 5,000 of a result"


async def test_the_first_request_counts_with_its_system_text_and_inputs(rig: Rig) -> None:
    begun = await capped(rig, "tokens=5000")
    model = main()
    assert isinstance(await work(rig, begun, model, small()), OutOfBudget)
    assert not model.requests


async def test_empty_replies_count_against_a_cost_cap(rig: Rig) -> None:
    begun = await capped(rig, "cost=8")
    empty = Reply("", usage=Usage(5_200, 0, 0, 5.2))
    model = main(empty, says("done"), price=0.001)
    assert isinstance(await work(rig, begun, model, small()), OutOfBudget)
    assert len(model.requests) == 1


async def test_a_goal_resumed_in_mid_turn_caps_the_turns_next_call(rig: Rig) -> None:
    begun = await capped(rig, "tokens=10")
    await rig.tell("/goal pause")
    await rig.answer(begun)
    await rig.say("look")
    begun = await rig.turn()
    log = StoredLog(rig.store, ref(begun), begun, rig.clock)
    model, request = main(), Request(system="", messages=(User("look"),))
    assert await log.allowance(model, request, 0) == ""
    await log.settle(Usage(1, 0, 1))
    await rig.tell("/goal resume")
    assert "token budget" in await log.allowance(model, request, 0)


async def test_without_caps_usage_is_kept_with_the_step_and_the_end(rig: Rig) -> None:
    await rig.say("x")
    begun = await rig.turn()
    model = main(counted(calls(("run", "1")), 5_200), OVERFLOW, counted(says("done"), 400))
    outcome = await work(rig, begun, model, small(counted(says("short"), 5_100)))
    assert isinstance(outcome, Answered)
    assert [(row.model, row.tokens) for row in usage(rig)] == [
        ("main", 5200),
        ("main", 30),
        ("small", 5100),
        ("main", 400),
    ]
