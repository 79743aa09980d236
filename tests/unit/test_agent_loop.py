"""The turn loop on a scripted model: what is asked, run, recorded and answered, in which order."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from core.agent import guard, prompts
from core.agent.events import (
    ModelAsked,
    ModelReplied,
    StepDone,
    TextStreamed,
    ToolEnded,
    ToolStarted,
    TurnEvent,
    call_summary,
)
from core.agent.loop import (
    Agent,
    Answered,
    Failed,
    LoopOptions,
    OutOfBudget,
    Prefix,
    ToolRunner,
    TurnResult,
    run_turn,
)
from core.agent.steps import Finished, Injected, Replied, Started, TurnInput
from core.errors import Fenced
from core.ports import FailureKind, ModelFailure, Reply, ToolSpec, Usage
from core.transcript import Assistant, Receipt, Result, ToolCall, ToolResult, User
from tests.fakes.scripted_model import Held, ScriptedModel, calls, says
from tests.fakes.turn_log import MemoryTurnLog

PREFIX = Prefix("be good", (ToolSpec("run", "Run a command.", {"type": "object"}),))
START = TurnInput(turn=1, history=(User("hi"), Assistant("hello")), inputs=(User("do it"),))


class EchoTools:
    """Runs nothing: each result is the call's own arguments."""

    def __init__(self, log: MemoryTurnLog) -> None:
        self.ran: list[str] = []
        self._log = log

    async def run(self, call: ToolCall) -> ToolResult:
        started = [w.call_id for w in self._log.writes if isinstance(w, Started)]
        assert call.id in started, "a call was run before its start was committed"
        self.ran.append(call.arguments)
        return ToolResult(call, f"ran {call.arguments}", Receipt(ok=True, summary=call.arguments))


class Rig:
    """A turn with its surroundings."""

    def __init__(self, model: ScriptedModel, log: MemoryTurnLog | None = None) -> None:
        self.model = model
        self.log = log or MemoryTurnLog()
        self.tools = EchoTools(self.log)
        self.events: list[TurnEvent] = []

    async def run(
        self, start: TurnInput = START, *, max_steps: int = 60, resumable: str = ""
    ) -> TurnResult:
        options = LoopOptions(max_steps=max_steps, resumable=frozenset({resumable} - {""}))
        agent = Agent(prefix=PREFIX, model=self.model, compactor=self.model, options=options)
        return await run_turn(
            start, agent=agent, tools=self.tools, log=self.log, emit=self.events.append
        )


def answer(outcome: TurnResult) -> str:
    assert isinstance(outcome, Answered), outcome
    return outcome.text


async def test_a_plain_answer_is_returned_and_not_recorded() -> None:
    rig = Rig(ScriptedModel([says("done")]))
    assert answer(await rig.run()) == "done"
    assert rig.log.commits == []
    assert rig.model.requests[0].messages == (*START.history, *START.inputs)
    assert rig.model.requests[0].system == PREFIX.system
    assert rig.model.requests[0].tools == PREFIX.tools


async def test_each_thing_is_committed_before_the_next_one_happens() -> None:
    first = calls(("run", "1"), ("run", "2"))
    rig = Rig(ScriptedModel([first, says("done")]))
    outcome = await rig.run()
    one, two = first.calls
    commits = [[type(write) for write in commit] for commit in rig.log.commits]
    assert commits == [[Replied, Started], [Finished], [Started], [Finished]]
    assert rig.tools.ran == ["1", "2"]
    assert rig.model.requests[1].messages[3:] == (
        Assistant("", (one, two)),
        Result(one.id, "ran 1"),
        Result(two.id, "ran 2"),
    )
    assert isinstance(outcome, Answered)
    assert [result.call for result in outcome.results] == [one, two]


async def test_every_request_extends_the_one_before_it() -> None:
    script = [calls(("run", f"{n}")) for n in range(6)]
    rig = Rig(ScriptedModel([*script, says(""), says("done")]))
    await rig.run()
    requests = rig.model.requests
    assert len(requests) == 8
    for before, after in itertools.pairwise(requests):
        assert after.messages[: len(before.messages)] == before.messages
        assert (after.system, after.tools) == (before.system, before.tools)


async def test_usage_in_the_outcome_is_what_no_recorded_reply_carries() -> None:
    counted = Usage(100, 50, 7, 0.5)
    stepped = Reply("", calls(("run", "1")).calls, usage=counted)
    rig = Rig(ScriptedModel([stepped, Reply("done", usage=Usage(200, 0, 3, 0.25))]))
    outcome = await rig.run()
    assert rig.log.settled == [("scripted", counted), ("scripted", Usage(200, 0, 3, 0.25))]
    assert isinstance(outcome, Answered)
    assert outcome.counted == 203
    replied = rig.log.commits[0][0]
    assert isinstance(replied, Replied)
    assert replied.reply.usage == counted


async def test_a_spent_budget_ends_the_turn_with_its_sentence_before_the_call() -> None:
    rig = Rig(ScriptedModel([calls(("run", "1"))]), MemoryTurnLog(allowed_calls=1))
    outcome = await rig.run()
    assert isinstance(outcome, OutOfBudget)
    assert "/goal budget" in outcome.sentence
    assert len(rig.model.requests) == 1
    assert rig.tools.ran == ["1"]


async def test_a_steered_message_is_recorded_and_read_at_the_next_step() -> None:
    log = MemoryTurnLog()
    rig = Rig(ScriptedModel([calls(("run", "1")), says("done")]), log)

    async def steer_then_run(call: ToolCall) -> ToolResult:
        log.steer("use port 81")
        return await EchoTools.run(rig.tools, call)

    agent = Agent(prefix=PREFIX, model=rig.model, compactor=rig.model)

    class SteeringTools:
        async def run(self, call: ToolCall) -> ToolResult:
            return await steer_then_run(call)

    await run_turn(START, agent=agent, tools=SteeringTools(), log=log, emit=rig.events.append)
    assert log.commits[-1] == (Injected(1, User("use port 81")),)
    assert rig.model.requests[1].messages[-1] == User("use port 81")


async def test_steered_messages_stay_unclaimed_when_the_budget_is_spent() -> None:
    log = MemoryTurnLog(allowed_calls=0)
    log.steer("wait")
    assert isinstance(await Rig(ScriptedModel(), log).run(), OutOfBudget)
    assert await log.steered() == (User("wait"),)


async def test_an_empty_answer_is_nudged_once() -> None:
    rig = Rig(ScriptedModel([says(" \n"), says("sorry: done")]))
    assert answer(await rig.run()) == "sorry: done"
    assert rig.model.requests[1].messages[-1] == User(prompts.NUDGE)


async def test_a_second_empty_answer_fails_the_turn() -> None:
    rig = Rig(ScriptedModel([says(""), says("")]))
    outcome = await rig.run()
    assert isinstance(outcome, Failed)
    assert outcome.error == "The model returned an empty answer."
    assert not outcome.permanent


async def test_a_cut_answer_says_that_it_was_cut() -> None:
    rig = Rig(ScriptedModel([says("a long st", cut=True)]))
    assert answer(await rig.run()).endswith("…(cut at the output limit)")


async def test_a_call_with_cut_arguments_is_not_run_and_a_whole_one_is() -> None:
    cut = Reply(
        "", (ToolCall("a", "run", '{"x": 1}'), ToolCall("b", "run", '{"text": "lo')), cut=True
    )
    rig = Rig(ScriptedModel([cut, says("done")]))
    await rig.run()
    assert rig.tools.ran == ['{"x": 1}']
    assert rig.model.requests[1].messages[-1] == Result("b", guard.CUT)


async def test_broken_arguments_that_were_not_cut_go_to_the_tool() -> None:
    rig = Rig(ScriptedModel([calls(("run", "{oops")), says("done")]))
    await rig.run()
    assert rig.tools.ran == ["{oops"]


async def test_the_third_identical_call_in_a_row_is_refused_with_a_hint() -> None:
    same = ['{"a": 1, "b": 2}', '{"b":2,"a":1}', '{"a": 1,  "b": 2}']
    rig = Rig(ScriptedModel([*(calls(("run", a)) for a in same), says("gave up")]))
    outcome = await rig.run()
    assert rig.tools.ran == same[:2]
    last = rig.model.requests[-1].messages[-1]
    assert isinstance(last, Result)
    assert last.text == guard.REPEATED
    assert isinstance(outcome, Answered)
    assert [result.receipt.ok for result in outcome.results] == [True, True, False]


async def test_a_turn_that_goes_round_is_asked_for_its_answer_and_then_ends() -> None:
    script = [calls(("run", "w")), calls(("run", "r"))] * 50
    rig = Rig(ScriptedModel(script))
    assert await rig.run() == Failed(error=prompts.STUCK, permanent=True)
    assert rig.tools.ran == ["w", "r"] * guard.ROUNDS_ALLOWED
    steps = 2 * guard.ROUNDS_ALLOWED + guard.FUTILE_ALLOWED
    assert len(rig.model.requests) == steps + 1
    last = rig.model.requests[-1].messages
    assert last[-1] == User(prompts.LIMIT)
    assert isinstance(last[-2], Result)
    assert last[-2].text == guard.CIRCLING
    rig = Rig(ScriptedModel([*script[:steps], says("as far as I came")]))
    assert answer(await rig.run()) == "as far as I came"


async def test_at_the_step_limit_the_model_is_asked_to_answer_with_what_it_has() -> None:
    rig = Rig(ScriptedModel([calls(("run", "1")), calls(("run", "2")), says("half of it")]))
    assert answer(await rig.run(max_steps=2)) == "half of it"
    assert rig.model.requests[-1].messages[-1] == User(prompts.LIMIT)
    assert rig.model.requests[-1].tools == PREFIX.tools


async def test_calls_beyond_the_step_limit_are_not_run() -> None:
    rig = Rig(ScriptedModel([calls(("run", "1")), calls(("run", "2"))]))
    outcome = await rig.run(max_steps=1)
    assert isinstance(outcome, Failed)
    assert "agent.max_steps" in outcome.error
    assert rig.tools.ran == ["1"]


async def test_calls_beyond_the_step_limit_name_the_setting_that_a_person_raises() -> None:
    model = ScriptedModel([calls(("run", "1")), calls(("run", "2"))])
    rig = Rig(model)
    key = "delegation.profiles.coder.max_iterations"
    agent = Agent(
        prefix=PREFIX,
        model=model,
        compactor=model,
        options=LoopOptions(max_steps=1, steps_key=key),
    )
    outcome = await run_turn(
        START, agent=agent, tools=rig.tools, log=rig.log, emit=rig.events.append
    )
    assert isinstance(outcome, Failed)
    assert outcome.permanent
    assert f"used its 1 steps without an answer. Raise {key}," in outcome.error
    assert "agent.max_steps" not in outcome.error


@pytest.mark.parametrize(
    ("kind", "permanent"), [(FailureKind.TRANSIENT, False), (FailureKind.PERMANENT, True)]
)
async def test_a_provider_failure_is_not_asked_again(kind: FailureKind, permanent: bool) -> None:
    rig = Rig(ScriptedModel([ModelFailure(kind, "The key was refused.", usage=Usage(5, 0, 0))]))
    outcome = await rig.run()
    assert outcome == Failed(error="The key was refused.", permanent=permanent)
    assert rig.log.settled == [("scripted", Usage(5, 0, 0))]
    assert len(rig.model.requests) == 1


async def test_a_turn_that_lost_its_lane_runs_no_further_tool() -> None:
    rig = Rig(ScriptedModel([calls(("run", "1"))]))
    rig.log.fence()
    with pytest.raises(Fenced):
        await rig.run()
    assert rig.tools.ran == []


class Meeting:
    """Children that all wait for each other, then end in the order that `ending` names."""

    def __init__(self, size: int, *ending: str) -> None:
        self.running: list[str] = []
        self.most = 0
        self.ended: list[str] = []
        self.cancelled: list[str] = []
        self._met = asyncio.Barrier(size)
        self._may_end = {name: asyncio.Event() for name in ending}
        self._ending = list(ending)

    async def run(self, call: ToolCall) -> ToolResult:
        one = call.arguments
        self.running.append(one)
        self.most = max(self.most, len(self.running))
        try:
            if call.name == "child":
                await self._meet(one)
        except asyncio.CancelledError:
            self.cancelled.append(one)
            raise
        self.running.remove(one)
        self.ended.append(one)
        return ToolResult(call, f"ran {one}", Receipt(ok=True, summary=one))

    async def _meet(self, one: str) -> None:
        await self._met.wait()
        if one not in self._may_end:
            return
        turn = self._ending.index(one)
        if turn:
            await self._may_end[self._ending[turn - 1]].wait()
        self._may_end[one].set()


async def run_with(rig: Rig, tools: ToolRunner) -> TurnResult:
    agent = Agent(
        prefix=PREFIX,
        model=rig.model,
        compactor=rig.model,
        options=LoopOptions(resumable=frozenset({"child"})),
    )
    return await run_turn(START, agent=agent, tools=tools, log=rig.log, emit=rig.events.append)


async def test_neighbours_of_resumable_calls_run_at_the_same_time() -> None:
    rig = Rig(ScriptedModel([calls(("child", "a"), ("child", "b"), ("child", "c")), says("ok")]))
    meeting = Meeting(3)
    assert answer(await run_with(rig, meeting)) == "ok"
    assert meeting.most == 3
    shown = [type(event) for event in rig.events if isinstance(event, ToolStarted | ToolEnded)]
    assert shown == [ToolStarted] * 3 + [ToolEnded] * 3


async def test_results_are_kept_in_the_order_given_whatever_ends_first() -> None:
    asked = calls(("child", "a"), ("child", "b"), ("child", "c"))
    rig = Rig(ScriptedModel([asked, says("ok")]))
    meeting = Meeting(3, "c", "a", "b")
    outcome = await run_with(rig, meeting)
    assert meeting.ended == ["c", "a", "b"]
    assert isinstance(outcome, Answered)
    assert [result.call for result in outcome.results] == list(asked.calls)
    told = [event.result.text for event in rig.events if isinstance(event, ToolEnded)]
    assert told == ["ran a", "ran b", "ran c"]
    commits = [[type(write) for write in commit] for commit in rig.log.commits]
    assert commits == [[Replied, Started, Started, Started], [Finished] * 3]
    assert rig.model.requests[1].messages[-3:] == (
        Result("c0", "ran a"),
        Result("c1", "ran b"),
        Result("c2", "ran c"),
    )


async def test_all_other_calls_run_one_after_the_other() -> None:
    asked = [("child", "a"), ("child", "b"), ("run", "1"), ("run", "2"), ("child", "c")]
    rig = Rig(ScriptedModel([calls(*asked), says("ok")]))

    class Alone(Meeting):
        async def run(self, call: ToolCall) -> ToolResult:
            assert "1" not in self.running
            assert "2" not in self.running
            if call.arguments == "c":
                self._met = asyncio.Barrier(1)
            return await super().run(call)

    meeting = Alone(2)
    await run_with(rig, meeting)
    assert meeting.most == 2
    assert meeting.ended[2:] == ["1", "2", "c"]
    commits = [[type(write) for write in commit] for commit in rig.log.commits]
    assert commits == [
        [Replied, Started, Started],
        [Finished, Finished],
        *[[Started], [Finished]] * 3,
    ]


async def test_calls_beside_each_other_are_no_repeats_and_later_ones_are() -> None:
    drafts = calls(*[("child", "a")] * 3, ("child", "b"))
    again = calls(("child", "b"), ("child", "a"), ("child", "a"), ids="again")
    rig = Rig(ScriptedModel([drafts, calls(("child", "a"), ids="x"), again, says("ok")]))

    class Drafting(Meeting):
        async def _meet(self, one: str) -> None:
            if len(self.ended) < 4:
                await super()._meet(one)

    meeting = Drafting(4)
    outcome = await run_with(rig, meeting)
    assert sorted(meeting.ended) == ["a"] * 6 + ["b"] * 2
    assert isinstance(outcome, Answered)
    assert all(result.receipt.ok for result in outcome.results)
    assert meeting.most == 4


async def test_a_group_of_refused_calls_alone_is_one_commit() -> None:
    twice = calls(*[("child", "a")] * 2)
    rig = Rig(ScriptedModel([twice, twice, says("ok")]))
    meeting = Meeting(2)
    await run_with(rig, meeting)
    assert meeting.ended == ["a", "a"]
    commits = [[type(write) for write in commit] for commit in rig.log.commits]
    assert commits[2:] == [[Replied, Started, Started, Finished, Finished]]


async def test_a_call_with_cut_arguments_is_not_run_among_its_neighbours() -> None:
    asked = (ToolCall("a", "child", '{"x": 1}'), ToolCall("b", "child", '{"text": "lo'))
    rig = Rig(ScriptedModel([Reply("", asked, cut=True), says("ok")]))
    meeting = Meeting(1)
    await run_with(rig, meeting)
    assert meeting.ended == ['{"x": 1}']
    assert rig.model.requests[1].messages[-1] == Result("b", guard.CUT)


@pytest.mark.parametrize("error", [Fenced("the turn was stopped"), ZeroDivisionError("a bug")])
async def test_what_one_child_raises_ends_the_others_and_surfaces_as_itself(
    error: Exception,
) -> None:
    rig = Rig(ScriptedModel([calls(("child", "a"), ("child", "b"))]))

    class Failing(Meeting):
        async def _meet(self, one: str) -> None:
            await self._met.wait()
            if one == "b":
                raise error
            await asyncio.Event().wait()

    meeting = Failing(2)
    with pytest.raises(type(error)) as caught:
        await run_with(rig, meeting)
    assert caught.value is error
    assert meeting.cancelled == ["a"]
    assert not any(isinstance(write, Finished) for write in rig.log.writes)


async def test_cancelling_reaches_every_child() -> None:
    rig = Rig(ScriptedModel([calls(("child", "a"), ("child", "b"))]))
    met = asyncio.Event()

    class Hung(Meeting):
        async def _meet(self, one: str) -> None:
            await self._met.wait()
            met.set()
            await asyncio.Event().wait()

    meeting = Hung(2)
    async with asyncio.TaskGroup() as group:
        turn = group.create_task(run_with(rig, meeting), name="turn")
        await met.wait()
        turn.cancel()
    assert turn.cancelled()
    assert sorted(meeting.cancelled) == ["a", "b"]


async def test_cancelling_reaches_a_hung_model() -> None:
    rig = Rig(ScriptedModel([Held(says("never"))]))
    async with asyncio.TaskGroup() as group:
        turn = group.create_task(rig.run(), name="turn")
        await rig.model.asked.wait()
        turn.cancel()
    assert turn.cancelled()
    assert rig.model.cancelled == 1


async def test_calls_without_ids_of_their_own_get_some() -> None:
    twins = Reply(
        "", (ToolCall("", "run", "1"), ToolCall("x", "run", "2"), ToolCall("x", "run", "3"))
    )
    rig = Rig(ScriptedModel([twins, says("done")]))
    await rig.run()
    assert rig.tools.ran == ["1", "2", "3"]
    sent = rig.model.requests[1].messages[3]
    assert isinstance(sent, Assistant)
    ids = [call.id for call in sent.calls]
    assert len(set(ids)) == 3
    assert "" not in ids
    assert rig.model.requests[1].messages[4:] == tuple(
        Result(own, f"ran {n}") for n, own in enumerate(ids, 1)
    )


async def test_progress_is_told_in_the_order_it_happens() -> None:
    rig = Rig(ScriptedModel([calls(("run", '{"command": "ls  -l"}'), text="let me"), says("ok")]))
    await rig.run()
    kinds = [type(event) for event in rig.events]
    step = [ModelAsked, TextStreamed, ModelReplied]
    assert kinds == [*step, ToolStarted, ToolEnded, StepDone, *step]
    started = rig.events[3]
    assert isinstance(started, ToolStarted)
    assert started.summary == "ls -l"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ('{"n": 3, "path": "a b.txt"}', "a b.txt"),
        ("{broken", "run"),
        ("", "run"),
        ("[1]", "run"),
        ('{"command": "a\\n  b"}', "a b"),
        ('{"command": "' + "x" * 200 + '"}', "x" * 79 + "…"),
        ('{"profile": "coder", "goal": "fix it"}', "fix it"),
        ('{"content": "long", "path": "a.txt"}', "a.txt"),
        ('{"path": ".", "pattern": "def "}', "def"),
        ('{"command": " ", "title": "x"}', "x"),
        ('{"model": "m", "tasks": [{"goal": "a"}, {"model": "m", "goal": "b"}]}', "2 tasks: a; b"),
        ('{"model": "m", "tasks": [{"goal": "a"}]}', "a"),
        ('{"model": "m", "tasks": [{}, 1, {"n": 1}]}', "2 tasks"),
        ('{"model": "m", "tasks": []}', "m"),
        ('{"tasks": ' + '[{"goal": ' * 300 + '"a"' + "}]" * 300 + "}", "run"),
    ],
)
def test_a_call_is_one_short_line_for_people(arguments: str, line: str) -> None:
    assert call_summary(ToolCall("c", "run", arguments)) == line
