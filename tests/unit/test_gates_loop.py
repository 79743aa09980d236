"""The turn loop with gates: what goes back, what stays as it is, and what a restart keeps."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from core.agent import prompts
from core.agent.loop import (
    Agent,
    Answered,
    Gates,
    LoopOptions,
    Prefix,
    TurnResult,
    run_turn,
)
from core.agent.steps import Bounced, Replied, TurnInput
from core.gates.chain import Blocked, Ruling, Standing, Unverified, Verified, rule
from core.gates.gate import Gate, Passed, Rejected, Result
from core.ports import Reply, Request
from core.transcript import Assistant, Receipt, ToolCall, ToolResult, User
from tests.fakes.scripted_model import ScriptedModel, calls, says
from tests.fakes.turn_log import Killed, MemoryTurnLog

START = TurnInput(turn=1, history=(User("hi"), Assistant("hello")), inputs=(User("do it"),))
RED = Rejected("`pytest` ended with exit code 1", "1 failed")
GREEN = Passed()


class EchoTools:
    """Each result is the call's own arguments."""

    async def run(self, call: ToolCall) -> ToolResult:
        return ToolResult(call, call.arguments, Receipt(ok=True, summary=call.name))


@dataclass(slots=True)
class ScriptedGates:
    """One gate that finds what its script says, and nothing wrong after that."""

    found: deque[Result] = field(default_factory=deque)
    max_bounces: int = 2
    seen: list[tuple[str, Standing]] = field(default_factory=list)

    async def judge(
        self, answer: str, results: Sequence[ToolResult], standing: Standing
    ) -> Ruling:
        """See `Gates.judge`."""
        self.seen.append((answer, standing))
        return rule([(Gate.VERIFY, self.found.popleft() if self.found else GREEN)], standing)


class Rig:
    """A turn with its gates."""

    def __init__(self, *script: object, found: Sequence[Result] = ()) -> None:
        self.model = ScriptedModel(script)  # type: ignore[arg-type]
        self.log = MemoryTurnLog()
        self.gates = ScriptedGates(deque(found))

    async def run(
        self, start: TurnInput = START, *, gated: bool = True, max_steps: int = 60
    ) -> TurnResult:
        gates: Gates | None = self.gates if gated else None
        agent = Agent(
            prefix=Prefix("be good"),
            model=self.model,
            compactor=self.model,
            options=LoopOptions(max_steps=max_steps),
            gates=gates,
        )
        return await run_turn(
            start, agent=agent, tools=EchoTools(), log=self.log, emit=lambda _: None
        )


def answer(outcome: TurnResult) -> Answered:
    assert isinstance(outcome, Answered), outcome
    return outcome


async def test_gates_that_pass_change_no_request_and_write_nothing() -> None:
    script = (calls(("run", "1")), says("done"))
    gated, free = Rig(*script), Rig(*script)
    first, second = await gated.run(), await free.run(gated=False)
    assert gated.model.requests == free.model.requests
    assert gated.log.commits == free.log.commits
    assert first == second


async def test_a_failure_adds_the_answer_and_one_message() -> None:
    rig = Rig(says("done"), says("now it is"), found=[RED])
    assert answer(await rig.run()).text == "now it is"
    first, second = rig.model.requests
    said, reflection = second.messages[len(first.messages) :]
    assert said == Assistant("done")
    assert isinstance(reflection, User)
    assert reflection.text.startswith("[Check verify: not passed. Bounce 1 of 2.]")
    assert (first.system, first.tools) == (second.system, second.tools)
    assert [[type(write) for write in commit] for commit in rig.log.commits] == [
        [Replied, Bounced]
    ]


async def test_every_request_extends_the_one_before_it_over_bounces_and_calls() -> None:
    script = (says("one"), calls(("run", "1")), says("two"), calls(("run", "2")), says("three"))
    rig = Rig(*script, found=[RED, RED])
    assert answer(await rig.run()).text == "three"
    for before, after in itertools.pairwise(rig.model.requests):
        assert after.messages[: len(before.messages)] == before.messages


async def test_a_spent_budget_delivers_the_last_answer_unverified() -> None:
    rig = Rig(says("one"), says("two"), says("three"), found=[RED] * 3)
    found = answer(await rig.run())
    assert (found.text, found.ruling) == (
        "three",
        Unverified(Gate.VERIFY, RED.reason, shown="1 failed"),
    )
    assert [standing.bounces for _, standing in rig.gates.seen] == [0, 1, 2]


async def test_the_same_answer_twice_is_delivered_unless_a_call_came_between() -> None:
    rig = Rig(says("one"), calls(("run", "1")), says("one"), says("one"), found=[RED] * 3)
    assert isinstance(answer(await rig.run()).ruling, Unverified)
    assert [standing.repeated for _, standing in rig.gates.seen] == [False, False, True]


@pytest.mark.parametrize("dies_at", [None, 3])
async def test_a_message_that_was_read_since_a_bounce_ends_the_bouncing(
    dies_at: int | None,
) -> None:
    def works(_: Request) -> Reply:
        rig.log.steer("with tabs")
        return calls(("run", "1"))

    rig = Rig(says("one"), works, says("two"), found=[RED, RED])
    rig.log = MemoryTurnLog(dies_at=dies_at, dies_after=True)
    if dies_at is not None:
        with pytest.raises(Killed):
            await rig.run()
        rig.log = MemoryTurnLog(rig.log.steps)
    found = answer(await rig.run(rig.log.resumed(START)))
    assert found.text == "two"
    assert isinstance(found.ruling, Unverified)
    assert User("with tabs") in rig.model.requests[-1].messages
    assert [standing.spoken for _, standing in rig.gates.seen] == [False, True]


async def test_neither_what_was_read_before_nor_the_loops_own_words_end_the_bouncing() -> None:
    def works(_: Request) -> Reply:
        rig.log.steer("with tabs")
        return calls(("run", "1"))

    rig = Rig(works, says("one"), says(""), says("two"), says("three"), found=[RED] * 3)
    assert answer(await rig.run()).text == "three"
    assert not any(standing.spoken for _, standing in rig.gates.seen)


async def test_a_blocked_answer_carries_its_reason() -> None:
    rig = Rig(says("no way"))

    class Blocking(ScriptedGates):
        async def judge(
            self, answer: str, results: Sequence[ToolResult], standing: Standing
        ) -> Ruling:
            return Blocked(Gate.CRITIC, "no such server")

    rig.gates = Blocking()
    assert answer(await rig.run()).ruling == Blocked(Gate.CRITIC, "no such server")


async def test_an_empty_answer_is_nudged_before_any_gate_sees_it() -> None:
    rig = Rig(says(""), says("done"))
    await rig.run()
    assert [seen for seen, _ in rig.gates.seen] == ["done"]


async def test_a_turn_without_steps_left_is_not_sent_back() -> None:
    rig = Rig(calls(("run", "1")), says("done"), found=[RED, RED])
    assert isinstance(answer(await rig.run(max_steps=2)).ruling, Unverified)
    assert not any(User(prompts.LIMIT) in seen.messages for seen in rig.model.requests)


@pytest.mark.parametrize("dies_at", range(4))
async def test_a_restart_keeps_the_count_and_the_requests(dies_at: int) -> None:
    script = [says("one"), calls(("run", "1")), says("two"), says("three")]
    whole = Rig(*script, found=[RED] * 3)
    expected = answer(await whole.run())
    cut = Rig(*script, found=[RED] * 3)
    cut.log = MemoryTurnLog(dies_at=dies_at, dies_after=True)
    with pytest.raises(Killed):
        await cut.run()
    steps = cut.log.steps
    replies = sum(step.reply is not None for step in steps)
    bounces = sum(step.bounced is not None for step in steps)
    again = Rig(*script[replies:], found=[RED] * 3)
    again.log = MemoryTurnLog(steps)
    found = answer(await again.run(again.log.resumed(START)))
    assert found.ruling == expected.ruling
    assert again.gates.seen[0][1].bounces == bounces
    assert again.model.requests[-1].messages[:2] == whole.model.requests[-1].messages[:2]
    assert len(again.model.requests[-1].messages) == len(whole.model.requests[-1].messages)


async def test_a_verified_answer_has_no_ruling() -> None:
    rig = Rig(says("done"))
    assert answer(await rig.run()).ruling is None
    assert rule([], Standing()) == Verified()
