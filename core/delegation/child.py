"""One child from its brief to its result: it works, is checked, and works at most once more.

A run is stored as it goes: its steps, then what it came to, then the verdict. What is there
already is not done again, so a child that a restart cut, or that waited for a person, goes on
where it was. `Fenced` and cancellation pass through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from core.agent.compaction import total
from core.agent.events import TurnEvent
from core.delegation import prompts
from core.delegation.acceptance import criteria
from core.delegation.acceptance.criteria import Criterion
from core.delegation.acceptance.prompts import Delivered
from core.delegation.acceptance.verdict import Ruling, Verdict, feedback
from core.delegation.acceptance.verify import Host, examine, missing, verify
from core.delegation.branching import TableRun
from core.delegation.child_log import CHILD, OVERSEER, ChildLog
from core.delegation.kept import Kept
from core.delegation.ports import ChildRef
from core.delegation.result import EVIDENCE_SHOWN, ChildResult, Status, Work
from core.delegation.task import Task
from core.delegation.waiting import Waits
from core.delegation.worker import Agent
from core.delegation.working import Run, Surroundings, stored_receipts, work
from core.errors import UserError
from core.evidence import receipt_line
from core.ports import Line, ToolContext, Usage
from core.sessions.ports import ReceiptOf

UNJUDGED = "the child ended without an answer ({status}), so there was nothing to judge"

SECOND = "the second run, made to mend what failed, came to nothing ({status}): {error}"


@dataclass(frozen=True, slots=True)
class Worked:
    """What one run came to and has stored, with all that it used; `receipts` are oldest first."""

    work: Work
    kept: Kept
    receipts: tuple[ReceiptOf, ...]
    used: Usage
    calls: int


@dataclass(frozen=True, slots=True)
class Round:
    """One run and what was made of it; `receipts` are those of the run before it too. `began` is
    wall time."""

    work: Work
    verdict: Verdict | None
    receipts: tuple[ReceiptOf, ...]
    used: Usage
    calls: int
    asked: tuple[str, ...]
    began: float


@dataclass(frozen=True, slots=True)
class Child:
    """One task in the hands of one worker; `emit` takes what it does, `say` the same in words."""

    around: Surroundings
    task: Task
    ref: ChildRef
    context: ToolContext
    emit: Callable[[TurnEvent], None]
    say: Callable[[Line], None]
    room: int
    """The most characters of its report that its parent reads."""

    async def result(self) -> ChildResult | Waits:
        """Work the task to its result, or as far as it goes before people have answered."""
        first = await self._round(self.ref)
        if isinstance(first, Waits):
            return first
        if not (self.task.retry and _refuted(first)):
            return await self._result((first,), first)
        again = replace(self.ref, path=f"{self.ref.path}~2")
        second = await self._round(again, first)
        if isinstance(second, Waits):
            return second
        return await self._result((first, second), _better(first, second))

    async def _round(self, ref: ChildRef, first: Round | None = None) -> Round | Waits:
        run = await self._open(ref, _to_mend(first, self.task.criteria))
        done = await self._worked(run)
        if isinstance(done, Waits):
            return done
        kept, receipts = done.kept, done.receipts
        if first is not None:
            receipts = first.receipts + receipts
        if self.task.criteria and done.work.judged and kept.verdict is None:
            kept = await self._check(run, kept, self._delivered(done.work, receipts))
        return Round(
            work=done.work,
            verdict=kept.verdict,
            receipts=receipts,
            used=done.used,
            calls=done.calls,
            asked=kept.asked,
            began=run.state.began,
        )

    async def _worked(self, run: Run) -> Worked | Waits:
        """Work a run, unless it is done already."""
        kept, worker = Kept.load(run.state.kept), self.task.worker
        if self.task.branching is not None and isinstance(worker, Agent):
            return await self._branched(
                TableRun(self.around, run, worker, self.task.branching, kept)
            )
        done: Work | Waits | None = kept.work
        receipts = stored_receipts(run)
        if done is None:
            done, receipts = await self._work(run)
        if isinstance(done, Waits):
            await _keep(run, kept.waiting(done))
            return done
        if kept.work is None:
            kept = await _keep(run, replace(kept, work=done))
        used, calls = _spent(run)
        return Worked(done, kept, receipts, used, calls)

    async def _branched(self, table: TableRun) -> Worked | Waits:
        done = table.kept.work or await table.work()
        if isinstance(done, Waits):
            return done
        kept, children = table.kept, await table.gathered()
        if kept.work is None:
            kept = await _keep(table.run, replace(kept, work=done))
        used, calls = _spent(table.run)
        used = total((used, children.used))
        return Worked(done, kept, children.receipts, used, calls + children.calls)

    async def _work(self, run: Run) -> tuple[Work | Waits, tuple[ReceiptOf, ...]]:
        """Let the worker work. One that cannot start has failed; what was asked is checked."""
        try:
            return await work(self.around, run)
        except UserError as error:
            return Work(status=Status.FAILED, error=str(error)), ()

    async def _open(self, ref: ChildRef, mend: str) -> Run:
        around, task = self.around, self.task
        brief = prompts.brief(
            task.goal,
            context=task.context,
            constraints=task.profile.constraints if task.profile else "",
            criteria=[criteria.words(criterion) for criterion in task.criteria],
            feedback=mend,
            small=isinstance(task.worker, Agent) and around.staff.small(task.worker),
        )
        return Run(
            task=task,
            ref=ref,
            brief=brief,
            state=await around.store.open_child(ref, brief),
            context=self.context,
            log=ChildLog(
                around.store,
                around.caps,
                ref,
                around.clock,
                started=self.context.began,
                purpose=OVERSEER if task.branching else CHILD,
            ),
            emit=self.emit,
            say=self.say,
        )

    async def _check(self, run: Run, kept: Kept, delivered: Delivered) -> Kept:
        """Hold the work against its criteria; a run without an answer too, as far as that goes.
        What the host found is kept before a judge is asked: a command is run once."""
        self.say("being checked")
        wanted, found = self.task.criteria, kept.found
        host = Host(self.around.checks, self.context)
        if found is None:
            found = await examine(wanted, delivered, host)
            kept = await _keep(run, replace(kept, found=found))
        judge, ask = self.around.staff.judge(), run.log.judge.ask
        absent = await missing(wanted, host) if judge.small else frozenset()
        verdict, _ = await verify(wanted, delivered, found, judge, ask, absent)
        return await _keep(run, replace(kept, verdict=verdict))

    def _delivered(self, done: Work, receipts: Sequence[ReceiptOf]) -> Delivered:
        agent = self.task.worker if isinstance(self.task.worker, Agent) else None
        answered = done.status is Status.OK
        return Delivered(
            objective=self.task.goal,
            output=done.text,
            unfinished="" if answered else UNJUDGED.format(status=done.status.value),
            receipts=receipts if agent else None,
            model=agent.model.id if agent else None,
        )

    async def _result(self, rounds: Sequence[Round], told: Round) -> ChildResult:
        return replace(
            self._blank(told.work),
            summary=await self._summary(told.work.text),
            verdict=told.verdict,
            calls=sum(each.calls for each in rounds),
            used=total(each.used for each in rounds),
            seconds=max(0.0, self.around.clock.now() - rounds[0].began),
            evidence=tuple(map(receipt_line, told.receipts[-EVIDENCE_SHOWN:])),
            escalations=_escalations(rounds),
        )

    def failed(self, error: str) -> ChildResult:
        """The result of a child that could not go on."""
        return self._blank(Work(status=Status.FAILED, error=error))

    def _blank(self, done: Work) -> ChildResult:
        task, worker = self.task, self.task.worker
        agent = worker if isinstance(worker, Agent) else None
        return ChildResult(
            title=task.title,
            profile=task.profile.name if task.profile else "",
            model=agent.model.name if agent else "",
            tier=agent.model.tier if agent else None,
            work=done,
        )

    async def _summary(self, text: str) -> str:
        """The report, its middle left out where it is long; the whole is kept in a file."""
        if len(text) <= self.room:
            return text
        where = await self.around.checks.keep(self.context, text)
        rest = f"; the whole is in {where}" if where else ""
        half = self.room // 2
        gap = f"[… {len(text) - 2 * half} characters are left out{rest} …]"
        return f"{text[:half]}\n{gap}\n{text[-half:]}"


def _escalations(rounds: Sequence[Round]) -> int:
    """How often anybody was called in: people by calls, overseers and people by branch tables."""
    calls = len({name for each in rounds for name in each.asked})
    return calls + sum(each.work.final.escalations for each in rounds if each.work.final)


def _spent(run: Run) -> tuple[Usage, int]:
    """What a run's own row has used, in how many calls."""
    return total((run.state.used, run.log.used)), run.state.calls + run.log.calls


async def _keep(run: Run, kept: Kept) -> Kept:
    await run.log.keep(kept.dump())
    return kept


def _refuted(done: Round) -> bool:
    """Whether a run that came to an answer failed a criterion."""
    verdict = done.verdict
    return done.work.status is Status.OK and verdict is not None and verdict.verdict is Ruling.FAIL


def _to_mend(first: Round | None, wanted: Sequence[Criterion]) -> str:
    """What the second run hears of the first."""
    return "" if first is None or first.verdict is None else feedback(first.verdict, wanted)


def _better(first: Round, second: Round) -> Round:
    """The second run, unless it has no answer: then the first stands, with what became of it."""
    if second.work.status is Status.OK:
        return second
    why = SECOND.format(status=second.work.status.value, error=second.work.error)
    return replace(first, work=replace(first.work, error=why), receipts=second.receipts)
