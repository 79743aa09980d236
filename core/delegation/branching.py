"""A task with a branch table: carries out what the table's machine orders, until it has ended or
waits for people.

Where the run stands is stored at every change, before what follows from it is done. So a run that
was cut goes on with the order it stood at, and none of its counters begins anew. `Fenced` and
cancellation pass through.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias, assert_never

from core.agent.compaction import total
from core.agent.loop import Answered, Failed, OutOfBudget, Parked
from core.branches import codec, machine, overseer, prompts, report
from core.branches.events import (
    AskHuman,
    AskOverseer,
    CheckReport,
    ChildFailed,
    ChildReported,
    Effect,
    Event,
    Finish,
    OverseerFailed,
    OverseerSpoke,
    RepairChild,
    ReportChecked,
    RunChild,
    Validate,
    Validated,
)
from core.branches.run import Run as BranchRun
from core.branches.run import State, Validating
from core.delegation.child_log import ChildLog
from core.delegation.duty import duty, untagged
from core.delegation.kept import Kept
from core.delegation.person import ask_person
from core.delegation.ports import ChildRef, ChildState
from core.delegation.result import Status, Work, of_table
from core.delegation.task import Branching
from core.delegation.waiting import Waits
from core.delegation.worker import Agent
from core.delegation.working import MAX_TRIES, TOO_OFTEN, Run, Surroundings, employ, results_of
from core.errors import UserError
from core.fence import one_line
from core.judging import Silence, reply_of
from core.ports import Completion, Model, Request, Usage
from core.sessions.ports import ReceiptOf
from core.sessions.receipts import receipts_of
from core.transcript import ToolResult

OVERSEER_TIMEOUT_S = 120.0
"""How long an overseer's call may take."""
SAID_CHARS = 300
PLAIN_ANSWER = "it ended with a plain answer and without a report: {said}"

Happened: TypeAlias = Event | Waits | Work
"""What came of an order: something for the machine, a wait, or the end that a budget makes."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the children of a run have used and really did, oldest first."""

    used: Usage
    calls: int
    receipts: tuple[ReceiptOf, ...]


@dataclass(slots=True)
class TableRun:
    """The run of one task's table. `run` is the task's own row in the store, under which overseers
    are booked; `kept` is what that row holds; `given` is what the calls of each child gave, for
    children that worked in this process."""

    around: Surroundings
    run: Run
    agent: Agent
    branching: Branching
    kept: Kept
    given: dict[int, tuple[ToolResult, ...]] = field(default_factory=dict)

    async def work(self) -> Work | Waits:
        """Work the run to its end, or as far as it goes without a person."""
        stored = self.kept.table
        state: State = codec.load(stored) if stored else Validating(self.run.task.goal)
        while not isinstance(order := machine.orders(state), Finish):
            happened = await self._carry_out(order)
            if isinstance(happened, Waits | Work):
                return happened
            state, _ = machine.advance(state, happened)
            children = state.children if isinstance(state, BranchRun) else self.kept.children
            await self._keep(replace(self.kept, table=codec.dump(state), children=children))
        return of_table(order.final)

    async def gathered(self) -> Gathered:
        """What all children of the run have used and done."""
        states = [
            await self.around.store.open_child(self._ref(child), "")
            for child in range(1, self.kept.children + 1)
        ]
        results = [result for state in states for result in _results(state)]
        return Gathered(
            used=total(state.used for state in states),
            calls=sum(state.calls for state in states),
            receipts=receipts_of([r for r in results if r.call.name != report.NAME], kept=None),
        )

    async def _keep(self, kept: Kept) -> None:
        await self.run.log.keep(kept.dump())
        self.kept = kept

    async def _carry_out(self, order: Effect) -> Happened:
        match order:
            case Validate():
                return Validated(self.branching.table)
            case RunChild(child):
                return await self._child(child, order)
            case RepairChild(child):
                return await self._child(child, order)
            case CheckReport():
                return await self._check(order)
            case AskOverseer():
                return await self._ask_overseer(order)
            case AskHuman():
                self.run.say("asking a person")
                return await ask_person(self.around.desk, self.run, order)
            case Finish():
                raise AssertionError(f"{order} follows from no state that is under way")
            case _:
                assert_never(order)

    # Children

    def _ref(self, child: int) -> ChildRef:
        return replace(self.run.ref, path=f"{self.run.ref.path}#{child}")

    async def _child(self, child: int, order: RunChild | RepairChild) -> Happened:
        """Let a child work until it reports. What it came to without is kept with it."""
        run = await self._opened(child, order)
        if (over := Kept.load(run.state.kept).work) is not None:
            return ChildFailed(child, over.error)
        happened = await self._employed(child, run)
        if isinstance(happened, ChildFailed):
            over = Work(status=Status.FAILED, error=happened.reason)
            await run.log.keep(Kept(work=over).dump())
        elif isinstance(happened, Waits):
            await self._keep(self.kept.waiting(happened))
        return happened

    async def _opened(self, child: int, order: RunChild | RepairChild) -> Run:
        around, own, ref = self.around, self.run, self._ref(child)
        brief = prompts.step(own.brief, order.table, order.instruction)
        state = await around.store.open_child(ref, brief)
        repair = ""
        if isinstance(order, RepairChild):
            repair = prompts.repair(order.faults, report.citable(_results(state)))
        return replace(
            own,
            ref=ref,
            brief=brief,
            state=state,
            log=ChildLog(around.store, around.caps, ref, around.clock, started=own.context.began),
            duty=duty(order.table, state.steps, repair),
        )

    async def _employed(self, child: int, run: Run) -> Happened:
        if run.state.tries > MAX_TRIES:
            return ChildFailed(child, TOO_OFTEN)
        try:
            result, results = await employ(self.around, self.agent, run)
        except UserError as error:  # it cannot start, such as without its key
            return ChildFailed(child, str(error))
        self.given[child] = untagged(results)
        match result:
            case Answered(text=text):
                return ChildFailed(child, PLAIN_ANSWER.format(said=one_line(text, SAID_CHARS)))
            case Failed(error=why):
                return ChildFailed(child, why)
            case OutOfBudget(sentence=sentence):
                return _blocked(sentence)
            case Parked(waiting=waiting):
                for open_ in waiting:
                    if open_.call.name == report.NAME:
                        return ChildReported(child, open_.call.arguments)
                return Waits.of(waiting)
            case _:
                assert_never(result)

    async def _check(self, order: CheckReport) -> ReportChecked:
        """Hold a report against what this child's calls gave, those before a restart too."""
        child = order.child
        if child not in self.given:
            state = await self.around.store.open_child(self._ref(child), "")
            self.given[child] = _results(state)
        calls = report.citable(self.given[child])
        checked = report.check(order.report, order.table, calls, repaired=order.repaired)
        return ReportChecked(child, checked)

    # The overseer

    async def _ask_overseer(self, order: AskOverseer) -> Happened:
        self.run.say("asking an overseer")
        request = prompts.overseer_request(self.run.task.goal, order, OVERSEER_TIMEOUT_S)
        try:
            model = self.around.staff.overseer(self.branching.overseer, self.branching.client)
        except UserError as error:
            return OverseerFailed(order.asked, str(error))
        if sentence := await self.run.log.allowance(model, request, 0):
            return _blocked(sentence)
        call = self._consult(model, request)
        said = await reply_of(call, OVERSEER_TIMEOUT_S, who="the overseer", what="decision")
        if isinstance(said, Silence):
            return OverseerFailed(order.asked, said.why)
        return OverseerSpoke(order.asked, overseer.read(said, order.table))

    async def _consult(self, model: Model, request: Request) -> Completion:
        completion = await model.complete(request)
        await self.run.log.settle(completion.usage)
        return completion


def _results(state: ChildState) -> tuple[ToolResult, ...]:
    return untagged(results_of(state))


def _blocked(sentence: str) -> Work:
    """A budget's end. Nobody is called in: they could not be paid either."""
    return Work(status=Status.BLOCKED, error=sentence)
