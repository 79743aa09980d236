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
    Prefix,
    TurnResult,
    run_turn,
)
from core.agent.steps import TurnInput
from core.agent.trace import replay
from core.delegation import prompts, runners
from core.delegation.child_log import ChildLog
from core.delegation.ports import (
    Checks,
    ChildRef,
    ChildState,
    ChildStore,
    Runners,
    Staff,
)
from core.delegation.result import Status, Work
from core.delegation.task import Task
from core.delegation.worker import Agent, Runner
from core.ports import Caller, Clock, Line, Model, ToolContext
from core.sessions.ports import Caps, ReceiptOf
from core.sessions.receipts import receipts_of
from core.tools.registry import Registry
from core.transcript import ToolCall, ToolResult, User

MAX_TRIES = 3
TOO_OFTEN = f"it was begun {MAX_TRIES} times and each time cut by a restart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What children work with: `store` keeps them, `caps` holds their model calls to the goal's
    budgets, `compactor` folds a conversation that gets long."""

    staff: Staff
    store: ChildStore
    caps: Caps
    checks: Checks
    runners: Runners
    clock: Clock
    compactor: Model
    tools: Registry
    runner_timeout_s: float = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a child: its task in words, what is stored of it, and who looks on. `emit` takes
    what it does, `say` the same in words."""

    task: Task
    ref: ChildRef
    brief: str
    state: ChildState
    context: ToolContext
    log: ChildLog
    emit: Callable[[TurnEvent], None]
    say: Callable[[Line], None]


@dataclass(frozen=True, slots=True)
class ChildTools:
    """A child's tools. Its calls' ids stand below its path, as what lies outside must tell the
    calls of all of a turn's agents apart."""

    tools: Registry
    context: ToolContext
    path: str

    async def run(self, call: ToolCall) -> ToolResult:
        """See `ToolRunner.run`."""
        own = replace(call, id=f"{self.path}/{call.id}")
        return replace(await self.tools.run(own, self.context), call=call)


async def work(around: Surroundings, run: Run) -> tuple[Work, tuple[ReceiptOf, ...]]:
    """Work a run to its end, or from where it stood. Raises `UserError` for a worker that cannot
    start, such as one whose key is missing."""
    worker = run.task.worker
    receipts: tuple[ReceiptOf, ...] = ()
    if isinstance(worker, Runner):
        done = await _launch(around, worker, run)
    elif run.state.tries > MAX_TRIES:
        done, receipts = Work(status=Status.FAILED, error=TOO_OFTEN), stored_receipts(run)
    else:
        done, receipts = await _employ(around, worker, run)
    return done, receipts


def stored_receipts(run: Run) -> tuple[ReceiptOf, ...]:
    """What the calls of earlier attempts really did."""
    return receipts_of(_stored(run), kept=None)


def _stored(run: Run) -> tuple[ToolResult, ...]:
    start = TurnInput(turn=run.context.turn, history=(), inputs=(), steps=run.state.steps)
    return replay(start).results


async def _employ(
    around: Surroundings, agent: Agent, run: Run
) -> tuple[Work, tuple[ReceiptOf, ...]]:
    """Let an agent of ours work."""
    tools = around.tools.granting(agent.toolsets)
    done = list(_stored(run))

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
    )
    context = replace(run.context, caller=caller, progress=run.say)
    outcome = await run_turn(
        TurnInput(turn=context.turn, history=(), inputs=(User(run.brief),), steps=run.state.steps),
        agent=_agent(around, agent, run, tools),
        tools=ChildTools(tools, context, run.ref.path),
        log=run.log,
        emit=emit,
    )
    return _work_of(outcome), receipts_of(done, kept=None)


def _agent(around: Surroundings, agent: Agent, run: Run, tools: Registry) -> loop.Agent:
    system = prompts.system(
        persona=run.task.profile.persona if run.task.profile else "",
        toolsets=agent.toolsets,
        small=around.staff.small(agent),
    )
    return loop.Agent(
        prefix=Prefix(system, tools.specs()),
        model=around.staff.model(agent, run.task.client),
        compactor=around.compactor,
        options=LoopOptions(
            max_steps=agent.max_iterations,
            steps_key=agent.limit_key,
            resumable=tools.resumables,
        ),
    )


def _work_of(outcome: TurnResult) -> Work:
    match outcome:
        case Answered(text=text):
            return Work(status=Status.OK, text=text)
        case Failed(error=error):
            return Work(status=Status.FAILED, error=error)
        case OutOfBudget(sentence=sentence):
            return Work(status=Status.BLOCKED, error=sentence)


async def _launch(around: Surroundings, runner: Runner, run: Run) -> Work:
    """Let a local agent runner work. Nothing of it is stored, so it is begun once."""
    if run.state.tries > 1:
        return Work(status=Status.INTERRUPTED, error=runners.CUT)
    context = replace(run.context, progress=run.say)
    return await runners.launch(
        around.runners, runner, run.brief, context, around.runner_timeout_s
    )
