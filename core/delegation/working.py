"""One run of a child's worker: an agent of ours on a model, or a local agent runner.

It asks no judge and keeps nothing but an agent's steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from core.agent import loop
from core.agent.events import ToolEnded, TurnEvent
from core.agent.loop import (
    Answered,
    Failed,
    LoopOptions,
    OutOfBudget,
    Parked,
    Prefix,
    ToolRunner,
    TurnResult,
    run_turn,
)
from core.agent.steps import TurnInput
from core.agent.trace import replay
from core.delegation import prompts
from core.delegation.child_log import ChildLog
from core.delegation.duty import Duty, ReportingTools
from core.delegation.kept import Kept
from core.delegation.ports import (
    Checks,
    ChildRef,
    ChildState,
    ChildStore,
    Runners,
    Staff,
)
from core.delegation.result import Status, Work
from core.delegation.runners import Errand, LiveRunners, Means
from core.delegation.task import Task
from core.delegation.waiting import Waits
from core.delegation.worker import Agent, Runner
from core.escalations.desk import Desk
from core.ports import Caller, Clock, Line, Model, Ran, ToolContext, Waiting
from core.sessions.ports import Caps, ReceiptOf
from core.sessions.receipts import receipts_of
from core.tools.registry import Registry
from core.transcript import ToolCall, ToolResult, User

MAX_TRIES = 3
TOO_OFTEN = f"it was begun {MAX_TRIES} times and each time cut by a restart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What children work with: `store` keeps them, `caps` holds their model calls to the goal's
    budgets, `compactor` folds a conversation that gets long, `desk` asks people: None where nobody
    can be asked. `live` are the local runners at work, which `runners` starts."""

    staff: Staff
    store: ChildStore
    caps: Caps
    checks: Checks
    runners: Runners
    live: LiveRunners
    clock: Clock
    compactor: Model
    tools: Registry
    desk: Desk | None = None
    runner_timeout_s: float = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a child: its task in words, what is stored of it, and who looks on. `emit` takes
    what it does, `say` the same in words; `duty` binds the child of a branch table's run."""

    task: Task
    ref: ChildRef
    brief: str
    state: ChildState
    context: ToolContext
    log: ChildLog
    emit: Callable[[TurnEvent], None]
    say: Callable[[Line], None]
    duty: Duty | None = None


@dataclass(frozen=True, slots=True)
class ChildTools:
    """A child's tools. Its calls' ids stand below its path, as what lies outside must tell the
    calls of all of a turn's agents apart."""

    tools: Registry
    context: ToolContext
    path: str

    async def run(self, call: ToolCall) -> Ran:
        """See `ToolRunner.run`."""
        own = replace(call, id=f"{self.path}/{call.id}")
        ran = await self.tools.run(own, self.context)
        return Waiting(call, ran.asked) if isinstance(ran, Waiting) else replace(ran, call=call)


async def work(around: Surroundings, run: Run) -> tuple[Work | Waits, tuple[ReceiptOf, ...]]:
    """Work a run to its end, or as far as it goes without a person, from where it stood. Raises
    `UserError` for a worker that cannot start, such as one whose key is missing."""
    worker = run.task.worker
    if isinstance(worker, Runner):
        return await _launch(around, worker, run), ()
    if run.state.tries > MAX_TRIES:
        return Work(status=Status.FAILED, error=TOO_OFTEN), stored_receipts(run)
    result, results = await employ(around, worker, run)
    return _work_of(result), receipts_of(results, kept=None)


def stored_receipts(run: Run) -> tuple[ReceiptOf, ...]:
    """What the calls of earlier attempts really did."""
    return receipts_of(results_of(run.state), kept=None)


def results_of(state: ChildState) -> tuple[ToolResult, ...]:
    """What the calls of earlier attempts gave."""
    return replay(TurnInput(turn=0, history=(), inputs=(), steps=state.steps)).results


async def employ(
    around: Surroundings, agent: Agent, run: Run
) -> tuple[TurnResult, tuple[ToolResult, ...]]:
    """Let an agent of ours work: what its loop came to, and what all of its calls gave."""
    tools = around.tools.granting(agent.toolsets)
    done = list(results_of(run.state))

    def emit(event: TurnEvent) -> None:
        if isinstance(event, ToolEnded):
            done.append(event.result)
        run.emit(event)

    caller = Caller(
        model=agent.model.name,
        client=run.task.client,
        toolsets=agent.toolsets,
        depth=run.context.caller.depth + 1,
        path=run.ref.path,
        call=run.context.caller.call,
    )
    context = replace(run.context, caller=caller, progress=run.say)
    runner: ToolRunner = ChildTools(tools, context, run.ref.path)
    asked = run.state.asked
    if run.duty is not None:
        runner, asked = ReportingTools(runner, run.duty), asked | run.duty.opened
    result = await run_turn(
        TurnInput(
            turn=context.turn,
            history=(),
            inputs=(User(run.brief),),
            steps=run.state.steps,
            asked=asked,
        ),
        agent=_agent(around, agent, run, tools),
        tools=runner,
        log=run.log,
        emit=emit,
    )
    return result, tuple(done)


def _agent(around: Surroundings, agent: Agent, run: Run, tools: Registry) -> loop.Agent:
    system = prompts.system(
        persona=run.task.profile.persona if run.task.profile else "",
        toolsets=agent.toolsets,
        small=around.staff.small(agent),
        by_table=run.duty is not None,
    )
    own = () if run.duty is None else (run.duty.spec,)
    return loop.Agent(
        prefix=Prefix(system, (*tools.specs(), *own)),
        model=around.staff.model(agent, run.task.client),
        compactor=around.compactor,
        options=LoopOptions(
            max_steps=agent.max_iterations,
            steps_key=agent.limit_key,
            resumable=tools.resumables,
        ),
    )


def _work_of(result: TurnResult) -> Work | Waits:
    match result:
        case Answered(text=text):
            return Work(status=Status.OK, text=text)
        case Failed(error=error):
            return Work(status=Status.FAILED, error=error)
        case OutOfBudget(sentence=sentence):
            return Work(status=Status.BLOCKED, error=sentence)
        case Parked(waiting=waiting):
            return Waits.of(waiting)


async def _launch(around: Surroundings, runner: Runner, run: Run) -> Work | Waits:
    """Let a local agent runner work, or go on with one that asked a person."""
    profile = run.task.profile
    errand = Errand(
        id=run.state.id,
        ref=run.ref,
        runner=runner,
        agent=profile.title if profile else runner.command,
        brief=run.brief,
        call=run.context.caller.call,
        context=replace(run.context, progress=run.say),
        opened=run.state.tries > 1,
        asked=len(Kept.load(run.state.kept).asked),
    )
    means = Means(around.runners, around.desk, around.runner_timeout_s)
    return await around.live.work(errand, means)
