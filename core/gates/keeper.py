"""Leads a turn's answer through its gates: verify, then the critic, one after the other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from core.evidence import seen_in
from core.gates import chain, critic, verify
from core.gates.chain import Ruling, Standing, Verified
from core.gates.critic import CriticInput, Sizes
from core.gates.gate import Gate, GateEvent, Result, Unavailable, reason_of, word
from core.gates.ports import Commands, Record
from core.gates.wanted import NO_GATES, Wanted
from core.judging import Silence, reply_of
from core.ports import Clock, Completion, Model, Request, ToolContext
from core.transcript import ToolResult

RETRIES = 1

Ask = Callable[[Model, Request], Awaitable[Completion]]
"""Makes a model call that the books of the turn keep; see `Books.ask`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Critic:
    """The model that reads the answer, what the operator wants of it, how long it may take, and
    how much it is shown."""

    model: Model
    instructions: str = ""
    timeout_s: float = 30.0
    sizes: Sizes = critic.FULL


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The gates of an answer: the commands of verify, () for none, and the critic."""

    verify: Sequence[str] = ()
    critic: Critic | None = None


@dataclass(slots=True, kw_only=True)
class Keeper:
    """The gates of one turn. `plan` is asked for at each answer, for people change the gates while
    it is worked on; without any the answer passes untouched. `task` says what the turn was asked,
    `before` are results of calls that belong to it and stand in no step, `emit` takes what
    happens."""

    plan: Callable[[], Awaitable[Plan]]
    max_bounces: int
    task: Callable[[], str]
    commands: Commands
    record: Record
    context: ToolContext
    clock: Clock
    ask: Ask
    emit: Callable[[GateEvent], None]
    before: Sequence[ToolResult] = ()
    checked: Wanted = field(default=NO_GATES, init=False)
    """The gates that have looked at the answer which was let through; none before there is one."""

    async def judge(
        self, answer: str, results: Sequence[ToolResult], standing: Standing
    ) -> Ruling:
        """What becomes of the answer; `results` are all of the turn's."""
        plan = await self.plan()
        found: list[tuple[Gate, Result]] = []
        for gate in _gates(plan):
            began = self.clock.monotonic()
            result = await self._run(gate, plan, answer, results)
            found.append((gate, result))
            await self._tell(gate, result, standing, self.clock.monotonic() - began)
            if chain.stops(result):
                break
        if standing.bounces and found and not standing.spoken:
            spoken = await self.record.spoken(self.context)
            standing = replace(standing, spoken=spoken)
        ruling = chain.rule(found, standing)
        if isinstance(ruling, Verified):
            self.checked = Wanted(verify=tuple(plan.verify), critic=plan.critic is not None)
        return ruling

    async def _run(
        self, gate: Gate, plan: Plan, answer: str, results: Sequence[ToolResult]
    ) -> Result:
        match gate:
            case Gate.VERIFY:
                return await verify.verify(plan.verify, self.commands, self.record, self.context)
            case Gate.CRITIC:
                return await self._criticise(plan.critic, answer, results)

    async def _criticise(
        self, named: Critic | None, answer: str, results: Sequence[ToolResult]
    ) -> Result:
        if named is None:
            return critic.unavailable("none is configured")
        self.context.progress("🔎 the critic reads the answer …")
        shown = CriticInput(
            task=self.task(),
            answer=answer,
            receipts=seen_in((*self.before, *results)),
            instructions=named.instructions,
        )
        ask = partial(self.ask, named.model)
        return await put_to_critic(shown, ask, named.timeout_s, named.sizes)

    async def _tell(self, gate: Gate, result: Result, standing: Standing, seconds: float) -> None:
        event = GateEvent(
            gate=gate,
            result=word(gate, result),
            reason=reason_of(result),
            bounce=standing.bounces,
            budget=standing.budget,
            ms=round(seconds * 1000),
        )
        self.emit(event)
        await self.record.note(self.context, event)


def _gates(plan: Plan) -> Sequence[Gate]:
    wanted = {Gate.VERIFY: bool(plan.verify), Gate.CRITIC: plan.critic is not None}
    return [gate for gate in Gate if wanted[gate]]


async def put_to_critic(
    shown: CriticInput,
    ask: Callable[[Request], Awaitable[Completion]],
    timeout_s: float,
    sizes: Sizes,
) -> Result:
    """The critic's word on what it is shown; asked once more after a reply that is none."""
    request = critic.request(shown, timeout_s, sizes)
    for _ in range(1 + RETRIES):
        said = await reply_of(ask(request), timeout_s, who="the critic", what="word")
        if isinstance(said, Silence):
            return critic.unavailable(said.why)
        if result := critic.verdict(said.text, shown, sizes):
            return result
    return Unavailable(critic.NO_VERDICT)
