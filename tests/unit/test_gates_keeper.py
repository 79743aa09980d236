"""One turn's gates: their order, what they share, and when they need not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.gates.chain import Bounce, Ruling, Standing, Unverified, Verified
from core.gates.gate import Gate, GateEvent, told
from core.gates.keeper import Critic, Keeper, Plan
from core.gates.ports import CommandEnd
from core.gates.verify import SHOWN
from core.gates.wanted import Wanted
from core.messages import Address, PlatformName, Principal, Role
from core.ports import (
    Completion,
    FailureKind,
    Model,
    ModelFailure,
    Reply,
    Request,
    ToolContext,
)
from core.transcript import Receipt, ToolCall, ToolResult, User
from tests.contracts.store_rig import HeldClock
from tests.fakes.gates import MemoryRecord, ScriptedCommands
from tests.fakes.scripted_model import ScriptedModel, says

APPROVE, REJECT = says('{"verdict": "APPROVE", "reason": ""}'), says("REJECT: b is missing")
RED = CommandEnd(1, "1 failed")
FIRST, BOUNCED = Standing(), Standing(bounces=1)


async def ask(model: Model, request: Request) -> Completion:
    """Without any books."""
    return await model.complete(request)


def ran(tool: str, said: str) -> ToolResult:
    """A call that went well."""
    return ToolResult(ToolCall("c1", tool, "{}"), said, Receipt(ok=True, summary=tool))


class Rig:
    """A turn's gates with their surroundings."""

    def __init__(self, *verify: str, critic: list[Reply | ModelFailure] | None = None) -> None:
        self.commands, self.record = ScriptedCommands(), MemoryRecord()
        self.clock = HeldClock()
        self.events: list[GateEvent] = []
        self.said: list[object] = []
        self.model = ScriptedModel(critic or [])
        named = Critic(model=self.model) if critic else None
        self.plan = Plan(verify=verify, critic=named)
        self.keeper = Keeper(
            plan=self._plan,
            max_bounces=2,
            task=lambda: "write it",
            commands=self.commands,
            record=self.record,
            context=ToolContext(
                Address(PlatformName.TELEGRAM, "bot", "1"),
                Principal("1", "Anna", Role.OWNER),
                1,
                Path("/srv"),
                self.said.append,
            ),
            clock=self.clock,
            ask=ask,
            emit=self.events.append,
        )

    async def _plan(self) -> Plan:
        return self.plan

    async def judge(self, standing: Standing = FIRST) -> Ruling:
        return await self.keeper.judge("It is written.", (), standing)

    @property
    def told(self) -> list[str]:
        return [told(event) for event in self.events]


async def test_without_gates_nothing_happens() -> None:
    rig = Rig()
    assert await rig.judge() == Verified()
    assert (rig.events, rig.record.events, rig.model.requests) == ([], [], [])
    assert rig.keeper.checked == Wanted()


async def test_an_answer_that_the_critic_alone_has_read_has_passed_no_command() -> None:
    rig = Rig(critic=[APPROVE])
    assert await rig.judge() == Verified()
    assert rig.keeper.checked == Wanted(critic=True)


async def test_verify_comes_first_and_the_critic_last() -> None:
    rig = Rig("lint", "test", critic=[APPROVE])
    assert await rig.judge() == Verified()
    assert rig.commands.ran == ["lint", "test"]
    assert rig.told == ["[verify] passed: lint, test", "[critic] APPROVE"]
    assert rig.record.events == rig.events
    assert rig.keeper.checked == Wanted(verify=("lint", "test"), critic=True)


async def test_a_critic_that_is_switched_on_while_verify_runs_has_not_looked() -> None:
    rig = Rig("test", critic=[APPROVE])
    on, rig.plan = rig.plan, Plan(verify=("test",))

    class Switching(ScriptedCommands):
        async def run(self, context: ToolContext, command: str) -> CommandEnd:
            rig.plan = on
            return await super().run(context, command)

    rig.keeper.commands = Switching()
    assert await rig.judge() == Verified()
    assert rig.keeper.checked == Wanted(verify=("test",))


async def test_what_fails_first_ends_the_round() -> None:
    rig = Rig("lint", "test", critic=[APPROVE])
    rig.commands.will("lint", RED)
    ruling = await rig.judge()
    assert isinstance(ruling, Bounce)
    assert "command: lint\nended with exit code 1\n1 failed" in ruling.reflection
    assert rig.commands.ran == ["lint"]
    assert rig.model.requests == []
    assert rig.keeper.checked == Wanted()


async def test_all_gates_begin_anew_after_a_bounce() -> None:
    rig = Rig("test", critic=[REJECT, APPROVE])
    assert isinstance(await rig.judge(), Bounce)
    rig.record.change()
    assert await rig.judge(BOUNCED) == Verified()
    assert rig.commands.ran == ["test", "test"]


async def test_verify_is_not_run_again_while_nothing_has_changed() -> None:
    rig = Rig("test", critic=[REJECT, APPROVE])
    assert isinstance(await rig.judge(), Bounce)
    assert await rig.judge(BOUNCED) == Verified()
    assert rig.commands.ran == ["test"]
    assert "[verify] skipped: nothing has changed since it passed" in rig.told


async def test_verify_is_always_run_again_after_a_failure() -> None:
    rig = Rig("test")
    rig.commands.will("test", RED)
    assert isinstance(await rig.judge(), Bounce)
    assert await rig.judge(BOUNCED) == Verified()
    assert rig.commands.ran == ["test", "test"]


async def test_other_commands_have_not_passed_yet() -> None:
    rig = Rig("test")
    await rig.judge()
    rig.plan = Plan(verify=("test", "types"))
    assert await rig.judge() == Verified()
    assert rig.commands.ran == ["test", "test", "types"]


@pytest.mark.parametrize("what", ["a process", "a call"])
async def test_a_pass_while_something_is_at_work_is_not_relied_on(what: str) -> None:
    rig = Rig("test")
    rig.commands.alive, rig.record.running = what == "a process", what == "a call"
    assert await rig.judge() == Verified()
    rig.commands.alive = rig.record.running = False
    assert await rig.judge() == Verified()
    assert rig.commands.ran == ["test", "test"]
    assert await rig.judge() == Verified()
    assert rig.commands.ran == ["test", "test"]


class Slow(ScriptedCommands):
    """Commands that take a second and a half each."""

    def __init__(self, clock: HeldClock) -> None:
        super().__init__()
        self.clock = clock

    async def run(self, context: ToolContext, command: str) -> CommandEnd:
        self.clock.wall += 1.5
        return await super().run(context, command)


async def test_each_run_tells_its_milliseconds() -> None:
    rig = Rig("lint", "test", critic=[APPROVE])
    rig.keeper.commands = Slow(rig.clock)
    await rig.judge()
    assert [event.ms for event in rig.events] == [3_000, 0]


class Meddling(ScriptedCommands):
    """Commands during which a call of another turn comes and goes."""

    def __init__(self, record: MemoryRecord) -> None:
        super().__init__()
        self.record = record

    async def run(self, context: ToolContext, command: str) -> CommandEnd:
        self.record.change()
        return await super().run(context, command)


async def test_a_pass_is_not_relied_on_where_a_call_came_and_went_meanwhile() -> None:
    rig = Rig("test", "types")
    rig.keeper.commands = Meddling(rig.record)
    assert await rig.judge() == Verified()
    assert rig.record.passes == set()


async def test_a_process_that_lives_has_the_commands_run_again() -> None:
    rig = Rig("test")
    await rig.judge()
    rig.commands.alive = True
    await rig.judge()
    assert rig.commands.ran == ["test", "test"]


async def test_a_command_that_cannot_be_started_is_no_failure() -> None:
    rig = Rig("test", critic=[APPROVE])
    rig.commands.will("test", CommandEnd(None, "bwrap is not\ninstalled", started=False))
    ruling = await rig.judge()
    why = "bwrap is not installed (gates.verify)"
    assert ruling == Unverified(Gate.VERIFY, why, unavailable=True)
    assert rig.told == [f"[verify] UNAVAILABLE: {why}", "[critic] APPROVE"]


async def test_a_command_that_took_too_long_has_failed() -> None:
    rig = Rig("test")
    rig.commands.will("test", CommandEnd(None, "x" * 5000))
    ruling = await rig.judge()
    assert isinstance(ruling, Bounce)
    assert "ran out of time\n[…]\n" in ruling.reflection
    assert ruling.reflection.count("x" * 100) == 30


async def test_of_a_long_output_the_agent_reads_the_end() -> None:
    rig = Rig("test")
    tail = "1 failed in 2 s\n".rjust(SHOWN, "y")
    rig.commands.will("test", CommandEnd(1, f"collected 9 items\n{'x' * SHOWN}{tail}"))
    ruling = await rig.judge()
    assert isinstance(ruling, Bounce)
    assert f"ended with exit code 1\n[…]\n{tail.rstrip()}\n>>>" in ruling.reflection
    assert "collected" not in ruling.reflection
    assert "x" * 10 not in ruling.reflection


@pytest.mark.parametrize(
    ("end", "why"),
    [
        (
            CommandEnd(127, "linting\nbash: line 1: `ruf`: command not found\n"),
            "127 (a command was not found): `bash: line 1: 'ruf': command not found`",
        ),
        (CommandEnd(127, "\n"), "127 (a command was not found)"),
        (
            CommandEnd(126, "bash: line 1: ./t: Permission denied"),
            "126 (a command could not be executed): `bash: line 1: ./t: Permission denied`",
        ),
        (CommandEnd(1, "E   assert 3\n1 `failed`\n \n"), "1: `1 'failed'`"),
        (CommandEnd(1, "a" * 500), f"1: `{'a' * 119}…`"),
        (CommandEnd(1, ""), "1"),
    ],
)
async def test_people_are_told_the_last_line_that_a_failed_command_printed(
    end: CommandEnd, why: str
) -> None:
    rig = Rig("test")
    rig.commands.will("test", end)
    ruling = await rig.judge(Standing(budget=0))
    assert isinstance(ruling, Unverified)
    told = f"`test` ended with exit code {why}"
    assert ruling.line == f"⚠ Unverified: the verify gate did not pass: {told}"
    assert [event.reason for event in rig.events] == [told]
    assert ruling.shown.endswith(end.output.strip())


async def test_a_command_whose_time_ran_out_is_told_with_its_last_line() -> None:
    rig = Rig("test")
    rig.commands.will("test", CommandEnd(None, "collecting\n"))
    await rig.judge()
    assert rig.told == ["[verify] failed: `test` ran out of time: `collecting`"]


async def test_the_same_failure_has_the_same_reason_whatever_it_printed() -> None:
    """A goal whose turns end alike is paused, and no test run takes the same time twice."""
    reasons = set()
    for seconds in (1, 2):
        rig = Rig("test")
        rig.commands.will("test", CommandEnd(1, f"1 failed in {seconds} s"))
        ruling = await rig.judge(Standing(budget=0))
        assert isinstance(ruling, Unverified)
        reasons.add(ruling.reason)
    assert reasons == {"`test` ended with exit code 1"}


async def test_the_critic_is_asked_once_more_for_a_word() -> None:
    rig = Rig(critic=[says("I cannot APPROVE this."), REJECT])
    assert isinstance(await rig.judge(), Bounce)
    assert rig.model.requests[0] == rig.model.requests[1]


async def test_the_critic_sees_the_call_that_a_turn_went_on_with_before_all_others() -> None:
    rig = Rig(critic=[APPROVE])
    rig.keeper.before = (ran("ask", "the answer was: yes"),)
    await rig.keeper.judge("It is written.", (ran("run", "written"),), FIRST)
    [message] = rig.model.requests[0].messages
    assert isinstance(message, User)
    assert (
        "<<<\nask {} -> ok; result ends: the answer was: yes\n"
        "run {} -> ok; result ends: written\n>>>"
    ) in message.text


async def test_a_critic_without_a_word_is_unavailable_after_two_tries() -> None:
    rig = Rig(critic=[says("Hm."), says("Well.")])
    ruling = await rig.judge()
    assert isinstance(ruling, Unverified)
    assert ruling.unavailable
    assert ruling.reason == "the critic's reply was no verdict, twice (gates.critic.model)"


async def test_a_critic_that_fails_is_not_asked_again() -> None:
    rig = Rig(critic=[ModelFailure(FailureKind.PERMANENT, "no such key")])
    ruling = await rig.judge()
    why = "the critic failed: no such key (gates.critic)"
    assert ruling == Unverified(Gate.CRITIC, why, unavailable=True)
    assert len(rig.model.requests) == 1


async def test_a_message_that_waits_ends_the_bouncing() -> None:
    rig = Rig("test")
    rig.commands.will("test", RED, RED, RED)
    rig.record.waits = True
    assert isinstance(await rig.judge(), Bounce)
    assert isinstance(await rig.judge(BOUNCED), Unverified)


async def test_a_message_that_the_agent_has_read_ends_the_bouncing_too() -> None:
    rig = Rig("test")
    rig.commands.will("test", RED)
    assert isinstance(await rig.judge(Standing(bounces=1, spoken=True)), Unverified)


async def test_each_run_tells_its_bounce_and_its_budget() -> None:
    rig = Rig("test")
    await rig.judge(BOUNCED)
    [event] = rig.events
    assert (event.gate, event.bounce, event.budget) == (Gate.VERIFY, 1, 2)
