"""Leads a turn's answer through its gates: verify, then the critic, one after the other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from core.evidence import seen_in
from core.gates import chain, critic, verify
from core.gates.chain import Ruling, Standing
from core.gates.critic import CriticInput
from core.gates.gate import Gate, GateEvent, Result, Unavailable, reason_of, word
from core.gates.ports import Commands, Record
from core.judging import Silence, reply_of
from core.ports import Clock, Completion, Model, Request, ToolContext
from core.transcript import ToolResult

RETRIES = 1

Ask = Callable[[Model, Request], Awaitable[Completion]]
"""Makes a model call that the books of the turn keep; see `Books.ask`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Critic:
    """The model that reads the answer, what the operator wants of it, and how long it may take."""

    model: Model
    instructions: str = ""
    timeout_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The gates of a turn: the commands of verify, () for none, the critic, and how often they may
    send the answer back between them."""

    verify: Sequence[str] = ()
    critic: Critic | None = None
    max_bounces: int = chain.DEFAULT_BOUNCES

    def __bool__(self) -> bool:
        """Whether there is any gate."""
        return bool(self.verify) or self.critic is not None


@dataclass(slots=True, kw_only=True)
class Keeper:
    """The gates of one turn. `task` is what the turn was asked, `emit` takes what happens."""

    plan: Plan
    task: str
    commands: Commands
    record: Record
    context: ToolContext
    clock: Clock
    ask: Ask
    emit: Callable[[GateEvent], None]
    passed_after: int | None = field(default=None, init=False)
    """How many calls that may change something had been made when verify last passed."""

    @property
    def max_bounces(self) -> int:
        """The budget of the turn."""
        return self.plan.max_bounces

    async def judge(
        self, answer: str, results: Sequence[ToolResult], standing: Standing
    ) -> Ruling:
        """What becomes of the answer; `results` are all of the turn's."""
        found: list[tuple[Gate, Result]] = []
        for gate in self._gates():
            began = self.clock.monotonic()
            result = await self._run(gate, answer, results, standing)
            found.append((gate, result))
            self._tell(gate, result, standing, self.clock.monotonic() - began)
            if chain.stops(result):
                break
        return chain.rule(found, standing)

    def _gates(self) -> Sequence[Gate]:
        wanted = {Gate.VERIFY: bool(self.plan.verify), Gate.CRITIC: self.plan.critic is not None}
        return [gate for gate in Gate if wanted[gate]]

    async def _run(
        self, gate: Gate, answer: str, results: Sequence[ToolResult], standing: Standing
    ) -> Result:
        match gate:
            case Gate.VERIFY:
                return await self._verify(results, standing)
            case Gate.CRITIC:
                return await self._criticise(answer, results)

    async def _verify(self, results: Sequence[ToolResult], standing: Standing) -> Result:
        changes = sum(result.call.name not in verify.READING for result in results)
        known = self.passed_after if self.passed_after is not None else 0
        again = (
            standing.bounces > 0 and self.passed_after is None
        )  # it failed, or a restart forgot
        result = await verify.verify(
            self.plan.verify,
            self.commands,
            self.record,
            self.context,
            fresh=again or changes > known,
        )
        self.passed_after = None if chain.stops(result) else changes
        return result

    async def _criticise(self, answer: str, results: Sequence[ToolResult]) -> Result:
        named = self.plan.critic
        if named is None:
            return critic.unavailable("none is configured")
        shown = CriticInput(
            task=self.task,
            answer=answer,
            receipts=seen_in(results),
            instructions=named.instructions,
        )
        request = critic.request(shown, named.timeout_s)
        for _ in range(1 + RETRIES):
            said = await reply_of(
                self.ask(named.model, request), named.timeout_s, who="the critic", what="word"
            )
            if isinstance(said, Silence):
                return critic.unavailable(said.why)
            if result := critic.read(said.text):
                return result
        return Unavailable(critic.NO_VERDICT)

    def _tell(self, gate: Gate, result: Result, standing: Standing, seconds: float) -> None:
        self.emit(
            GateEvent(
                gate=gate,
                result=word(gate, result),
                reason=reason_of(result),
                bounce=standing.bounces,
                budget=self.plan.max_bounces,
                ms=round(seconds * 1000),
            )
        )
