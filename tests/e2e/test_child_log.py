"""A child's log on a real store: its steps, its calls and its judge's, and what a turn leaves."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest
import pytest_asyncio

from adapters.sqlite.children import SqliteChildren
from adapters.sqlite.store import SqliteStore
from core.agent.loop import Agent, Answered, OutOfBudget, Prefix, TurnResult, run_turn
from core.agent.steps import Finished, Replied, Started, TurnInput
from core.delegation.child_log import ChildLog
from core.delegation.ports import ChildRef
from core.errors import DamagedLane, Fenced, TransientError
from core.messages import LaneKey
from core.ports import FailureKind, ModelFailure, Reply, Request, Usage
from core.sessions.lane import Outcome
from core.sessions.ports import Begun, CallUsage, Ending
from core.sessions.turn_log import Books
from core.transcript import Receipt, ToolCall, ToolResult, User
from tests.contracts.backends import children_of, sqlite
from tests.contracts.store_rig import NOW, OTHER_LANE, Rig, call, ref, reply, result
from tests.fakes.scripted_model import Held, Line, ScriptedModel, calls, says
from tests.fakes.turn_log import Killed

T = TypeVar("T")
PATH = "call_1.0"
QUESTION = Request(system="", messages=(User("is it done?"),), max_tokens=20)


class Tools:
    """Counts what runs."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    async def run(self, call: ToolCall) -> ToolResult:
        """See `ToolRunner.run`."""
        self.ran.append(call.arguments)
        return ToolResult(call, "fine", Receipt(ok=True, summary="ran"))


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the usage table."""

    purpose: str
    model: str
    state: str
    tokens: int


@pytest_asyncio.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """An empty store."""
    made = await Rig.start(sqlite, tmp_path)
    yield made
    await made.store.close()


def rows(rig: Rig, sql: str) -> list[tuple[str | int, ...]]:
    """What a second reader of the file sees."""
    with closing(sqlite3.connect(next(rig.folder.glob("*.db")))) as conn:
        return conn.execute(sql).fetchall()


def usage(rig: Rig) -> list[Row]:
    """What the store has kept of each call."""
    found = rows(rig, "SELECT purpose, model, state, input + output FROM usage ORDER BY id")
    return [Row(str(a), str(b), str(c), int(d)) for a, b, c, d in found]


def model(*script: Line, name: str = "small") -> ScriptedModel:
    """Some child's model."""
    return ScriptedModel(script, name=name, max_output_tokens=50)


async def opened(rig: Rig, begun: Begun, path: str = PATH, started: float = NOW) -> ChildLog:
    """A child's log, as it begins or goes on."""
    of, children = ChildRef(ref(begun), path), children_of(rig.store)
    await children.open_child(of, "count the files")
    return ChildLog(children, rig.store, of, rig.clock, started=started)


async def work(
    rig: Rig, begun: Begun, log: ChildLog, asked: ScriptedModel, tools: Tools | None = None
) -> TurnResult:
    """The child's run, from whatever is stored of it."""
    children = children_of(rig.store)
    state = await children.open_child(ChildRef(ref(begun), PATH), "count the files")
    return await run_turn(
        TurnInput(
            turn=begun.turn.id, history=(), inputs=(User("count the files"),), steps=state.steps
        ),
        agent=Agent(prefix=Prefix("s" * 400), model=asked, compactor=asked),
        tools=tools or Tools(),
        log=log,
        emit=lambda _: None,
    )


def dies(_: Request) -> Reply:
    """The process is killed while the model is asked."""
    raise Killed


async def turn(rig: Rig) -> Begun:
    await rig.say("delegate it")
    return await rig.turn()


async def capped(rig: Rig, limits: str) -> Begun:
    """A goal's first turn under these limits."""
    begun = await rig.goal()
    await rig.tell(f"/goal budget {limits}")
    return begun


async def test_without_caps_a_childs_calls_are_kept_with_its_steps_and_its_end(rig: Rig) -> None:
    begun = await turn(rig)
    log = await opened(rig, begun)
    first = Reply("", calls(("run", "1")).calls, Usage(20, 5, 10))
    asked = model(first, Reply("four", usage=Usage(30, 0, 5)))
    assert isinstance(await work(rig, begun, log, asked), Answered)
    assert usage(rig) == [Row("child", "small", "settled", 30)]
    await log.keep("four")
    assert usage(rig)[1:] == [Row("child", "small", "settled", 35)]
    assert (log.used, log.calls) == (Usage(50, 5, 15), 2)
    state = await children_of(rig.store).open_child(ChildRef(ref(begun), PATH), "")
    assert (state.kept, state.used, state.calls) == ("four", log.used, log.calls)


async def test_under_caps_each_call_is_reserved_and_settled_at_once(rig: Rig) -> None:
    begun = await capped(rig, "tokens=100000")
    log, held = await opened(rig, begun), Held(calls(("run", "1")))
    asked = model(held, says("four"))
    async with asyncio.TaskGroup() as group:
        run = group.create_task(work(rig, begun, log, asked))
        await asked.asked.wait()
        assert [row.state for row in usage(rig)] == ["reserved"]
        held.until.set()
    assert isinstance(run.result(), Answered)
    assert [(row.purpose, row.state) for row in usage(rig)] == [("child", "settled")] * 2
    await log.keep("four")
    assert sum(row.tokens for row in usage(rig)) == log.used.input_tokens + log.used.output_tokens
    assert len(usage(rig)) == log.calls == 2


async def test_a_cap_ends_a_child_before_the_call_that_it_does_not_cover(rig: Rig) -> None:
    begun = await capped(rig, "tokens=100")
    log, asked = await opened(rig, begun), model(says("never asked"))
    outcome = await work(rig, begun, log, asked)
    assert isinstance(outcome, OutOfBudget)
    assert "token budget" in outcome.sentence
    assert not asked.requests
    assert (log.calls, usage(rig)) == (0, [])


async def test_a_child_goes_on_from_its_last_step_and_runs_nothing_twice(rig: Rig) -> None:
    begun, tools = await turn(rig), Tools()
    asked = model(calls(("run", "1"), ("run", "2")), dies)
    with pytest.raises(Killed):
        await work(rig, begun, await opened(rig, begun), asked, tools)
    await rig.restart()
    again = await rig.turn()
    resumed = model(says("two"))
    assert isinstance(await work(rig, again, await opened(rig, again), resumed, tools), Answered)
    assert tools.ran == ["1", "2"]
    assert resumed.requests == asked.requests[1:], "the request that would have been sent"


async def test_a_child_is_ended_by_its_turns_stop(rig: Rig) -> None:
    begun = await turn(rig)
    log = await opened(rig, begun)
    await rig.tell("/stop")
    with pytest.raises(Fenced):
        await work(rig, begun, log, model(calls(("run", "1"))))


async def test_what_people_write_is_not_steered_into_a_child(rig: Rig) -> None:
    assert await (await opened(rig, await turn(rig))).steered() == ()


async def test_a_cap_on_time_counts_the_age_of_the_turn_and_not_of_the_child(rig: Rig) -> None:
    begun = await capped(rig, "time=60s")
    rig.clock.wall += 59
    log = await opened(rig, begun, started=NOW)
    asked = model()
    assert await log.allowance(asked, QUESTION, 0) == ""
    assert await log.judge.allowance(asked, QUESTION, 0) == ""
    rig.clock.wall += 2
    assert "time budget" in await log.allowance(asked, QUESTION, 0)
    assert "time budget" in await log.judge.allowance(asked, QUESTION, 0)


async def test_a_judges_call_is_booked_as_such_and_is_none_of_the_childs(rig: Rig) -> None:
    begun = await capped(rig, "tokens=100000")
    log = await opened(rig, begun)
    said = await log.judge.ask(model(Reply("yes", usage=Usage(7, 0, 1)), name="big"), QUESTION)
    assert said == Reply("yes", usage=Usage(7, 0, 1))
    assert usage(rig) == [Row("acceptance_judge", "big", "settled", 8)]
    await log.keep("judged")
    assert (log.calls, len(usage(rig))) == (0, 1)


async def test_without_caps_a_judges_calls_are_kept_with_the_childs_next_write(rig: Rig) -> None:
    begun = await turn(rig)
    log = await opened(rig, begun)
    failed = ModelFailure(FailureKind.TRANSIENT, "busy", usage=Usage(7))
    judge = model(failed, Reply("yes", usage=Usage(7, 0, 1)), name="big")
    assert await log.judge.ask(judge, QUESTION) == failed
    assert isinstance(await log.judge.ask(judge, QUESTION), Reply)
    assert usage(rig) == []
    await log.keep("judged")
    await log.keep("and told")
    assert [(row.purpose, row.tokens) for row in usage(rig)] == [
        ("acceptance_judge", 7),
        ("acceptance_judge", 8),
    ]


async def test_a_judge_that_no_cap_covers_is_not_asked_and_says_what_to_raise(rig: Rig) -> None:
    begun = await capped(rig, "tokens=10")
    log, judge = await opened(rig, begun), model()
    refused = await log.judge.ask(judge, QUESTION)
    assert isinstance(refused, ModelFailure)
    assert refused.kind is FailureKind.PERMANENT
    assert refused.message.startswith("The goal's limits do not allow this call: its token budget")
    assert "/goal budget tokens=" in refused.message
    assert not judge.requests


async def test_a_judge_that_is_given_up_keeps_its_reservation_until_the_turn_ends(
    rig: Rig,
) -> None:
    begun = await capped(rig, "tokens=100000")
    log, judge = await opened(rig, begun), model(Held(says("late")), says("yes"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await log.judge.ask(judge, QUESTION)
    assert isinstance(await log.judge.ask(judge, QUESTION), Reply)
    [lost, made] = usage(rig)
    assert (lost.state, made.state) == ("reserved", "settled")
    await rig.answer(begun)
    [cut, _] = usage(rig)
    assert (cut.state, lost.tokens - cut.tokens) == ("settled", 20), "only its input counts"


async def test_what_a_failed_write_should_have_kept_goes_with_the_next_one(rig: Rig) -> None:
    begun = await turn(rig)
    log = await opened(rig, begun)
    await log.judge.ask(model(Reply("yes", usage=Usage(7, 0, 1))), QUESTION)
    with pytest.raises(TransientError), log.judge.hand_over():
        raise TransientError("the disk is full")
    await log.keep("judged")
    assert [row.tokens for row in usage(rig)] == [8]


async def test_what_a_cancelled_write_has_kept_is_not_kept_again(rig: Rig) -> None:
    begun = await turn(rig)
    log = await opened(rig, begun)
    await log.settle(Usage(7, 0, 1))
    async with asyncio.TaskGroup() as group:
        writing = group.create_task(log.keep("half"))
        await asyncio.sleep(0)
        writing.cancel()
    await log.keep("whole")
    assert [row.tokens for row in usage(rig)] == [8]
    state = await children_of(rig.store).open_child(ChildRef(ref(begun), PATH), "")
    assert (state.kept, state.calls) == ("whole", 1)


async def test_three_children_at_work_stay_within_the_caps_together(rig: Rig) -> None:
    begun = await capped(rig, "tokens=2500")
    request = Request(system="", messages=(User("word " * 800),), max_tokens=100)
    together = asyncio.Barrier(3)

    async def child(path: str) -> list[str]:
        log, refused = await opened(rig, begun, path), list[str]()
        for _ in range(4):
            await together.wait()
            asked = model(Reply("", usage=Usage(200, 0, 10)))
            if reason := await log.allowance(asked, request, 0):
                refused.append(reason)
            else:
                await log.settle((await asked.complete(request)).usage)
            assert sum(row.tokens for row in usage(rig)) <= 2500
        return refused

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(child(f"call_1.{n}")) for n in range(3)]
    assert sum(len(task.result()) for task in tasks) > 0
    assert all(row.state == "settled" for row in usage(rig))


def left(rig: Rig) -> list[tuple[str | int, ...]]:
    """What is left of all children."""
    return rows(rig, "SELECT * FROM delegation") + rows(rig, "SELECT * FROM delegation_step")


async def delegating(rig: Rig) -> Begun:
    """A goal's turn with two children at work, one of them with a step."""
    begun = await rig.goal()
    for path in ("call_1.0", "call_1.1/x.0"):
        await opened(rig, begun, path)
    of = ChildRef(ref(begun), "call_1.1/x.0")
    asked = call(0)
    await children_of(rig.store).record_child(of, [Replied(0, reply(asked)), Started(0, asked.id)])
    await children_of(rig.store).keep_child(of, "half")
    assert len(left(rig)) == 4
    return begun


@pytest.mark.parametrize(
    "how", [Outcome.ANSWERED, Outcome.FAILED, Outcome.CAPPED, Outcome.REVOKED]
)
async def test_a_turns_end_leaves_nothing_of_its_children(rig: Rig, how: Outcome) -> None:
    ending = Ending(outcome=how, seconds=1.0, answer="x", reason="y")
    await rig.end(await delegating(rig), ending)
    assert left(rig) == []


@pytest.mark.parametrize("crash", [False, True])
async def test_a_stop_leaves_nothing_of_the_children_of_its_turn(rig: Rig, *, crash: bool) -> None:
    begun = await delegating(rig)
    await rig.tell("/stop")
    if crash:
        await rig.restart()
        await rig.begin()
    else:
        await rig.end(begun, Ending(outcome=Outcome.STOPPED, seconds=1.0))
    assert left(rig) == []


async def test_a_turn_that_is_given_up_leaves_nothing_of_its_children(rig: Rig) -> None:
    await delegating(rig)
    for _ in range(4):
        await rig.restart()
        await rig.begin()
    assert rows(rig, "SELECT phase FROM turn") == [("failed",)]
    assert left(rig) == []


async def test_other_turns_children_stay_when_one_ends(rig: Rig) -> None:
    begun = await delegating(rig)
    await rig.accept(rig.message("x", lane=OTHER_LANE))
    other = await rig.turn(OTHER_LANE)
    of = ChildRef(ref(other, OTHER_LANE), PATH)
    await children_of(rig.store).open_child(of, "x")
    await rig.answer(begun)
    assert [turn for _, turn, *_ in left(rig)] == [other.turn.id]


async def test_a_child_that_cannot_be_read_rests_with_its_lane(rig: Rig) -> None:
    await delegating(rig)
    await rig.store.close()
    with closing(sqlite3.connect(next(rig.folder.glob("*.db")))) as conn:
        conn.execute("UPDATE delegation_step SET body = '{}' WHERE part = 'reply'")
        conn.commit()
    await rig.reopen()
    for _ in range(2):
        with pytest.raises(DamagedLane, match="a turn's steps cannot be read"):
            await rig.begin()
    assert len(left(rig)) == 4, "as it was, for a version that can read it"


async def test_only_a_childs_opening_and_the_start_of_its_tool_wait_for_the_disk(rig: Rig) -> None:
    waited: list[bool] = []

    async def write(lane: LaneKey, job: Callable[[sqlite3.Connection], T], *, safe: bool) -> T:
        waited.append(safe)
        return await writing(lane, job, safe=safe)

    assert isinstance(rig.store, SqliteStore)
    writing = rig.store._write_of
    children, begun = SqliteChildren(write, rig.clock), await turn(rig)  # type: ignore[arg-type]
    of, asked = ChildRef(ref(begun), PATH), call(0)
    await children.open_child(of, "")
    await children.record_child(of, [Replied(0, reply(asked))])
    await children.record_child(of, [Started(0, asked.id)])
    await children.record_child(of, [Finished(0, result(asked))])
    await children.keep_child(of, "done")
    assert waited == [True, False, True, False, False]


async def test_the_turns_own_books_carry_no_other_purpose(rig: Rig) -> None:
    begun = await turn(rig)
    books = Books(rig.store, ref(begun), rig.clock)
    await books.ask(model(Reply("yes", usage=Usage(7, 0, 1))), QUESTION)
    assert books.spent == (CallUsage("small", Usage(7, 0, 1), "agent"),)


async def test_a_tools_result_in_a_child_is_stored_before_the_next_call(rig: Rig) -> None:
    begun = await turn(rig)
    log = await opened(rig, begun)
    asked = call(0)
    await log.record(Replied(0, reply(asked)), Started(0, asked.id))
    await rig.restart()
    again = await rig.turn()
    tools = Tools()
    outcome = await work(rig, again, await opened(rig, again), model(says("?")), tools)
    assert isinstance(outcome, Answered)
    assert tools.ran == [], "it had started, and nobody knows how it ended"
    assert outcome.results[0].call == result(asked).call
    assert "interrupted by a restart" in outcome.results[0].text
