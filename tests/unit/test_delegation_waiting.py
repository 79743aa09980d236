"""Children that wait for a person: the call waits, the others end, and each goes on where it
stood."""

from __future__ import annotations

import asyncio
import json

import pytest

from core.delegation.waiting import Waits
from core.delegation.worker import Profile, Runner
from core.escalations.outcome import waiting_for
from core.escalations.record import Approved, Denied, State
from core.ports import Request, Waiting
from core.transcript import ToolCall, ToolResult
from tests.fakes.scripted_model import Line, calls, says
from tests.fakes.table_rig import (
    CALL,
    TableRig,
    looks,
    note_of,
    reports,
    results_in,
    told,
)
from tests.fakes.turn_log import Killed

ONE = "waiting for E7; the answer comes as a message"
TABLE = {
    "conditions": [{"condition": "It is done", "branch": {"action": "report"}}],
    "default": {"action": "escalate", "tier": "overseer"},
}


def launches(at: str) -> Line:
    """The child wants to do what needs a person's leave."""
    return calls(("launch", json.dumps({"at": at})), ids="l")


def both(*goals: str) -> dict[str, object]:
    """A batch on the model sonnet."""
    return {"model": "sonnet", "tasks": [{"goal": goal} for goal in goals]}


def by_goal(lines: dict[str, list[Line]]) -> Line:
    """A model that says to each child its own lines, by how many results that one has seen."""

    def say(request: Request) -> object:
        goal = next(goal for goal in lines if goal in str(request.messages[0]))
        return lines[goal][len(results_in(request))]

    return say  # type: ignore[return-value]


def batch_of(ran: object) -> list[dict[str, object]]:
    assert isinstance(ran, ToolResult), ran
    read = json.loads(ran.text)
    assert isinstance(read, list), ran.text
    return read


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ([("E7",)], ONE),
        ([("E7",), ("E7",)], ONE),
        ([("E12",), ("E7",)], "waiting for E7 and E12; the answers come as messages"),
        ([("E10",), ("E7", "E9")], "waiting for E7, E9 and E10; the answers come as messages"),
        ([("E7",), ()], ONE),
    ],
)
def test_what_several_wait_for_is_one_sentence(asked: list[tuple[str, ...]], said: str) -> None:
    calls_ = [Waiting(ToolCall("c", "ask", "{}"), ids) for ids in asked]
    assert waiting_for(Waits.of(calls_).asked) == said
    assert Waits.of([Waits.of(calls_)]) == Waits.of(calls_)


async def test_a_child_whose_call_asks_makes_the_call_wait_and_goes_on_with_the_answer() -> None:
    rig = TableRig()
    rig.child(looks(), launches("x"), says("Launched."), on="opus")
    assert note_of(await rig.run({"goal": "launch x"})) == ONE
    assert rig.touched == []
    assert rig.desk.calls == [CALL], "it is the turn's own call that waits"
    rig.desk.answer(Approved())
    result = told(await rig.run({"goal": "launch x"}))
    assert (result["status"], result["summary"]) == ("ok", "Launched.")
    assert result["escalations"] == 1
    assert rig.touched == ["x"]
    assert len(rig.models.children["opus"].requests) == 3, "nothing was asked twice"


async def test_the_call_waits_as_long_as_there_is_no_answer() -> None:
    rig = TableRig()
    rig.child(launches("x"), says("No."), on="opus")
    for _ in range(9):
        assert note_of(await rig.run({"goal": "launch x"})) == ONE
    rig.desk.answer(Denied("not on a Friday"))
    assert told(await rig.run({"goal": "launch x"}))["summary"] == "No."
    assert "not on a Friday" in results_in(rig.models.children["opus"].requests[1])[0]
    assert rig.touched == []


async def test_others_of_the_batch_end_first_and_are_not_run_again() -> None:
    rig = TableRig()
    lines: dict[str, list[Line]] = {
        "first": [looks(), says("One.")],
        "second": [launches("x"), says("Two.")],
        "third": [launches("y"), says("Three.")],
    }
    rig.child(always=by_goal(lines), on="sonnet")
    given = both("first", "second", "third")
    both_wait = "waiting for E7 and E8; the answers come as messages"
    assert note_of(await rig.run(given)) == both_wait
    rig.desk.answer(Approved())
    assert note_of(await rig.run(given)) == "waiting for E8; the answer comes as a message"
    rig.desk.end(State.EXPIRED)
    results = batch_of(await rig.run(given))
    assert [result["summary"] for result in results] == ["One.", "Two.", "Three."]
    assert [result["escalations"] for result in results] == [0, 1, 1]
    assert len(rig.touched) == 1
    assert len(rig.models.children["sonnet"].requests) == 6


async def test_a_child_that_waits_leaves_its_place_to_others() -> None:
    rig = TableRig()
    lines: dict[str, list[Line]] = {
        goal: [launches(goal), says("Done.")] for goal in ("g1", "g2", "g3")
    }
    rig.child(always=by_goal(lines), on="sonnet")
    first = await rig.run(both("g1", "g2", "g3"), "call_1")
    assert isinstance(first, Waiting)
    rig.child(says("Free."), on="sonnet")
    assert told(await rig.run({"goal": "g4", "model": "sonnet"}, "call_2"))["summary"] == "Free."


async def test_a_local_runner_beside_a_child_that_waits_is_run_once() -> None:
    runner = Profile(name="local", runner=Runner(command="sh"))
    rig = TableRig(profiles=(runner,))
    rig.child(launches("x"), says("Done."), on="opus")
    given = {"tasks": [{"goal": "a", "profile": "local"}, {"goal": "b"}]}
    async with asyncio.TaskGroup() as group:
        life = group.create_task(rig.live.run())
        assert isinstance(await rig.run(given), Waiting)
        rig.desk.answer(Approved())
        first, second = batch_of(await rig.run(given))
        life.cancel()
    assert (first["status"], first["summary"]) == ("ok", "sh did # Task\na")
    assert second["summary"] == "Done."


async def test_a_restart_while_a_person_thinks_asks_nothing_twice() -> None:
    rig = TableRig()
    rig.child(launches("x"), says("Done."), on="opus")
    await rig.run({"goal": "launch x"})
    for _ in range(5):
        assert note_of(await rig.run({"goal": "launch x"})) == ONE
    assert len(rig.desk.cards) == 1
    rig.desk.answer(Approved())
    rig.desk.apply_all()  # its command ran, and the process died before that was stored
    result = told(await rig.run({"goal": "launch x"}))
    assert result["summary"] == "Done."
    assert rig.touched == []
    assert "interrupted" in results_in(rig.models.children["opus"].requests[1])[0]


async def test_a_table_whose_child_waits_goes_on_with_that_child() -> None:
    rig = TableRig()
    rig.child(launches("x"), reports("c1", observed="It is launched"))
    assert await rig.waiting(TABLE) == ONE
    rig.desk.answer(Approved())
    result = await rig.result(TABLE)
    assert (result["branch"], result["summary"]) == ("c1", "It is launched")
    assert result["escalations"] == 1
    assert rig.touched == ["x"]
    assert rig.briefs == [f"{CALL}.0", f"{CALL}.0#1"]


async def test_a_childs_questions_and_its_tables_add_up() -> None:
    rig = TableRig()
    ask = {"action": "escalate", "tier": "human", "human": {"kind": "approve"}}
    given = {"conditions": [{"condition": "Odd", "branch": ask}], "default": ask}
    rig.child(launches("x"), reports("c1"))
    await rig.waiting(given)
    rig.desk.answer(Approved())
    assert await rig.waiting(given) == "waiting for E8; the answer comes as a message"
    rig.desk.answer(Approved())
    assert (await rig.result(given))["escalations"] == 2


async def test_the_chat_sees_what_is_waited_for() -> None:
    rig = TableRig()
    boards: list[object] = []
    rig.child(launches("x"), on="opus")
    rig.watch = boards.append
    await rig.run({"goal": "launch x"})
    (board,) = boards
    assert callable(board)
    assert ONE in board()


async def test_a_child_that_was_cut_and_one_that_waited_are_told_apart() -> None:
    dying = [True, True, True]

    def line(request: Request) -> object:
        if results_in(request) and dying:
            dying.pop()
            raise Killed
        return says("Done.") if results_in(request) else launches("x")

    rig = TableRig()
    rig.child(always=line, on="opus")  # type: ignore[arg-type]
    await rig.run({"goal": "launch x"})
    rig.desk.answer(Approved())
    for _ in range(3):
        with pytest.raises(Killed):
            await rig.run({"goal": "launch x"})
    assert told(await rig.run({"goal": "launch x"}))["summary"] == "Done."
