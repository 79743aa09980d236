"""One turn: ask the model, run its calls, until it answers.

Every step is committed to the log before the next thing happens, so a turn that was cut goes on
where it stopped. The loop may not retry a model call (the adapter has) and knows no tool, store
or platform; `Fenced` and cancellation pass through it untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Protocol, TypeAlias

from core.agent import compaction, events, guard, prompts
from core.agent.steps import (
    Bounced,
    Finished,
    Folded,
    Injected,
    Replied,
    Started,
    StepWrite,
    TurnInput,
    TurnLog,
)
from core.agent.together import together
from core.agent.trace import Trace, advance, replay
from core.gates.chain import Blocked, Bounce, Ruling, Standing, Unverified, Verified
from core.ports import (
    Completion,
    FailureKind,
    Model,
    ModelFailure,
    Ran,
    Reply,
    Request,
    ToolSpec,
    Usage,
    Waiting,
)
from core.transcript import ToolCall, ToolResult, User

STEPS_BETWEEN_FOLDS = 4


class ToolRunner(Protocol):
    """Runs a call in the turn's own context. Faults of the call are results, not raises."""

    async def run(self, call: ToolCall) -> Ran:
        """Carry the call out to its end, or as far as it goes without a person's answer."""
        ...


@dataclass(frozen=True, slots=True)
class Prefix:
    """The part of every request that never changes while a session lives."""

    system: str
    tools: tuple[ToolSpec, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopOptions:
    """Limits of a turn.

    `max_steps` counts model calls that may use tools, `steps_key` is the setting that a person
    raises for more. `resumable` names the tools whose started calls are taken up again after a
    restart; as each keeps its own account, neighbours of that kind run side by side. `fold_at` is
    the share of the window at which the conversation is folded.
    """

    max_steps: int = 60
    steps_key: str = "agent.max_steps"
    resumable: frozenset[str] = frozenset()
    fold_at: float = 0.6


class Gates(Protocol):
    """What a turn's answer has to pass; see `core.gates`."""

    max_bounces: int
    """How often an answer may be sent back in the turn."""

    async def judge(
        self, answer: str, results: Sequence[ToolResult], standing: Standing
    ) -> Ruling:
        """What becomes of an answer; `results` are all of the turn's."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """What works on a turn: the stable prefix, the model, the one that writes summaries, and the
    gates that its answer passes, None without any."""

    prefix: Prefix
    model: Model
    compactor: Model
    options: LoopOptions = field(default_factory=LoopOptions)
    gates: Gates | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The model's final answer, not recorded yet.

    `results` are all tool results of the turn in order, earlier attempts' included. `counted` is
    the provider's count of the session's tokens after this answer.
    """

    text: str
    results: tuple[ToolResult, ...]
    counted: int
    ruling: Unverified | Blocked | None = None
    """What the gates say against it, None when they passed it or there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The turn has no answer; `error` is a sentence. A permanent one needs a person."""

    error: str
    permanent: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OutOfBudget:
    """A cap of the goal does not cover the next call; `sentence` says how to raise it."""

    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """The turn cannot go on before a person has answered what these calls asked; it is taken up
    again then. The calls behind them in their step have not started."""

    waiting: tuple[Waiting, ...]


TurnResult: TypeAlias = Answered | Failed | OutOfBudget | Parked
Emit: TypeAlias = Callable[[events.TurnEvent], None]


async def run_turn(
    start: TurnInput,
    *,
    agent: Agent,
    tools: ToolRunner,
    log: TurnLog,
    emit: Emit,
    counted: int = 0,
) -> TurnResult:
    """Work a turn to its outcome, from its beginning or from the steps stored earlier.

    `counted` is `Answered.counted` of the session's previous turn, 0 when unknown. Raises
    `Fenced` when the turn has lost its lane.
    """
    return await _Turn(start, agent, tools, log, emit, replay(start, counted)).outcome()


@dataclass(slots=True)
class _Turn:
    start: TurnInput
    agent: Agent
    tools: ToolRunner
    log: TurnLog
    emit: Emit
    trace: Trace
    fold_failed_at: int = -1

    async def outcome(self) -> TurnResult:
        if waiting := await self._run_calls():
            return Parked(waiting=waiting)
        while True:
            if self._fold_is_due():
                await self._fold()
            match await self._complete():
                case OutOfBudget() as refused:
                    return refused
                case Reply() as reply:
                    earlier = {result.call.id for result in self.trace.results}
                    taken = earlier | self.start.taken
                    outcome = await self._use(guard.with_own_ids(reply, taken))
                case ModelFailure() as failure:
                    outcome = await self._mend(failure)
            if outcome is not None:
                return outcome

    async def _commit(self, *writes: StepWrite) -> None:
        before = self.trace.n
        await self.log.record(*writes)
        for write in writes:
            self.trace = advance(self.trace, write)
            if isinstance(write, Finished):
                self.emit(events.ToolEnded(write.result))
        if self.trace.n > before:
            self.emit(events.StepDone(before))

    async def _heard(self) -> tuple[Injected, ...]:
        """What is to enter the turn before its next call."""
        n = self.trace.n
        messages = await self.log.steered()
        if self._is_over() and User(prompts.LIMIT) not in self.trace.injected:
            messages += (User(prompts.LIMIT),)
        return tuple(Injected(n, message) for message in messages)

    async def _complete(self) -> Completion | OutOfBudget:
        """One call; what was steered into the turn enters it only when a budget covers it."""
        model, prefix = self.agent.model, self.agent.prefix
        heard = await self._heard()
        trace = reduce(advance, heard, self.trace)
        request = Request(system=prefix.system, tools=prefix.tools, messages=trace.messages)
        if sentence := await self.log.allowance(model, request, trace.counted):
            return OutOfBudget(sentence=sentence)
        if heard:
            await self._commit(*heard)
        self.emit(events.ModelAsked(self.trace.n))
        completion = await model.complete(
            request, lambda piece: self.emit(events.TextStreamed(piece))
        )
        await self.log.settle(completion.usage)
        self.emit(events.ModelReplied(self.trace.n, completion.usage))
        return completion

    async def _ask_compactor(self, request: Request) -> Completion | compaction.NotFolded:
        compactor = self.agent.compactor
        if sentence := await self.log.allowance(compactor, request, 0):
            return compaction.NotFolded(sentence)
        completion = await compactor.complete(request)
        await self.log.settle(completion.usage)
        return completion

    async def _use(self, reply: Reply) -> TurnResult | None:
        if not reply.calls:
            return await self._answer(reply)
        n, options = self.trace.n, self.agent.options
        if not self._is_over():
            waiting = await self._run_calls(Replied(n, reply))
            return Parked(waiting=waiting) if waiting else None
        error = prompts.OUT_OF_STEPS.format(most=options.max_steps, key=options.steps_key)
        return Failed(error=error if n >= options.max_steps else prompts.STUCK, permanent=True)

    def _is_over(self) -> bool:
        """Whether the turn's next reply must be its answer."""
        return self.trace.n >= self.agent.options.max_steps or guard.stuck(self.trace.entries)

    async def _run_calls(self, *pending: StepWrite) -> tuple[Waiting, ...]:
        """End what is open of the step, group after group in the order given, up to one that has
        to wait for a person: what stands behind it was meant to come after it.

        `pending` is the step's reply when it is new: it is committed with its first call's start.
        """
        trace = reduce(advance, pending, self.trace)
        still = {call.id for call in trace.waiting}
        for beside in guard.side_by_side(trace.calls, self.agent.options.resumable):
            if still.isdisjoint(call.id for call in beside):
                continue
            if waiting := await self._run_group(beside, trace, pending):
                return waiting
            pending = ()
        return ()

    async def _run_group(
        self, beside: Sequence[ToolCall], trace: Trace, pending: Sequence[StepWrite]
    ) -> tuple[Waiting, ...]:
        """End what is open of calls that run at the same time; their results are kept in the order
        given, as a turn that is taken up again finds them. Those that wait for a person stay
        open."""
        group = [call for call in beside if call in trace.waiting]
        before = [result for result in self.trace.results if result.call not in beside]
        done: dict[str, ToolResult] = {}
        for call in group:
            begun = call.id in trace.started
            if own := self._answer_for(call, before, begun=begun, cut=trace.cut):
                done[call.id] = own
        starts = [Started(trace.n, call.id) for call in group if call.id not in trace.started]
        to_run = [call for call in group if call.id not in done]
        waiting: list[Waiting] = []
        if to_run:
            if begins := (*pending, *starts):
                await self._commit(*begins)
            pending, starts = (), []
            for ran in await together(map(self._run, to_run)):
                if isinstance(ran, Waiting):
                    waiting.append(ran)
                    self.emit(events.ToolWaits(ran))
                else:
                    done[ran.call.id] = ran
        ends = [Finished(trace.n, done[call.id]) for call in group if call.id in done]
        if writes := (*pending, *starts, *ends):
            await self._commit(*writes)
        return tuple(waiting)

    def _answer_for(
        self, call: ToolCall, before: Sequence[ToolResult], *, begun: bool, cut: bool
    ) -> ToolResult | None:
        """The host's own result for a call that must not run, None for one that runs now.

        A refused call counts as begun with its group, and is refused again when the group is
        taken up again.
        """
        if begun and call.id in self.start.asked:
            return None
        if begun and call.name not in self.agent.options.resumable:
            return guard.interrupted(call)
        return guard.refusal(before, call, cut=cut)

    async def _run(self, call: ToolCall) -> Ran:
        self.emit(events.ToolStarted(call, events.call_summary(call)))
        return await self.tools.run(call)

    async def _answer(self, reply: Reply) -> TurnResult | None:
        text = reply.text.strip()
        if not text:
            if User(prompts.NUDGE) in self.trace.injected:
                return Failed(error=prompts.EMPTY, permanent=False)
            await self._commit(Injected(self.trace.n, User(prompts.NUDGE)))
            return None
        return await self._deliver(reply, f"{text}\n\n{prompts.CUT_MARK}" if reply.cut else text)

    async def _deliver(self, reply: Reply, text: str) -> TurnResult | None:
        """Let an answer pass the gates, where there are any; None when it was sent back."""
        answered = Answered(
            text=text,
            results=self.trace.results,
            counted=reply.usage.input_tokens + reply.usage.output_tokens,
        )
        gates = self.agent.gates
        if gates is None:
            return answered
        may_go_on = self.trace.n + 1 < self.agent.options.max_steps
        standing = Standing(
            bounces=self.trace.bounces,
            budget=gates.max_bounces if may_go_on else self.trace.bounces,
            repeated=self.trace.returned == (reply.text, len(self.trace.results)),
            spoken=self.trace.spoken,
        )
        match await gates.judge(text, self.trace.results, standing):
            case Bounce(reflection):
                n = self.trace.n
                await self._commit(Replied(n, reply), Bounced(n + 1, User(reflection)))
                return None
            case Verified():
                return answered
            case ruling:
                return replace(answered, ruling=ruling)

    async def _mend(self, failure: ModelFailure) -> TurnResult | None:
        error, permanent = failure.message, failure.kind is not FailureKind.TRANSIENT
        if failure.kind is FailureKind.OVERFLOW:
            if self.trace.folded_at == self.trace.n:
                error = prompts.STILL_TOO_LONG
            elif reason := await self._fold():
                error = prompts.NOT_FOLDED.format(reason=reason)
            else:
                return None
        return Failed(error=error, permanent=permanent)

    def _fold_is_due(self) -> bool:
        n, agent = self.trace.n, self.agent
        tried = (self.fold_failed_at, self.trace.folded_at)
        if any(at >= 0 and n - at < STEPS_BETWEEN_FOLDS for at in tried):
            return False
        return compaction.due(
            self.trace.counted,
            self.trace.messages,
            window=agent.model.context_tokens,
            share=agent.options.fold_at,
        )

    async def _fold(self) -> str:
        """Fold what came before this step; "" when done, else why not."""
        n, messages = self.trace.n, self.trace.messages
        heard = tuple(m for m in self.trace.heard if m.text not in prompts.OURS)
        material = compaction.Material(
            entries=messages[: len(messages) - len(self.trace.injected)],
            verbatim=self.start.inputs + heard,
            pinned=self.start.pinned,
        )
        made = await compaction.fold(
            material, compactor=self.agent.compactor, ask=self._ask_compactor
        )
        if made.usage != Usage():
            self.emit(events.ModelReplied(n, made.usage))
        if isinstance(made, compaction.NotFolded):
            self.fold_failed_at = n
            self.emit(events.FoldFailed(n, made.reason))
            return made.reason.rstrip(".")
        await self._commit(Folded(n, made.text))
        self.emit(events.ContextFolded(n))
        return ""
