"""The duty of a branch table's child: to end with a report and not with a text. Pure but for the
tools that it hands calls on to.

A report stays an open call, with which the child's loop ends like one that waits: whoever checks
it gives it a result later, or none at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from core.agent.loop import ToolRunner
from core.agent.steps import Step
from core.branches.report import NAME, spec, tagged
from core.branches.table import Table
from core.ports import Ran, ToolSpec, Waiting
from core.transcript import Receipt, ToolCall, ToolResult

SENT_BACK = f"{NAME}: sent back"
BESIDE = "one report at a time: another one came before it; see there what is to be mended"
ALONE = f"not run: your report was sent back, and {NAME} alone can be called now"


@dataclass(frozen=True, slots=True)
class Duty:
    """What binds a child: its table, its reports without a result (`opened`), and, once a report
    has been sent back, what is told of it (`repair`). `first` are the reports of that reply."""

    table: Table
    opened: frozenset[str] = frozenset()
    first: tuple[str, ...] = ()
    repair: str = ""

    @property
    def spec(self) -> ToolSpec:
        """The tool that it reports with."""
        return spec(self.table)


def duty(table: Table, steps: Sequence[Step], repair: str = "") -> Duty:
    """The duty of a child with these steps; `repair` "" before its first report was checked."""
    opened = frozenset(call.id for step in steps for call in _open(step))
    return Duty(table, opened, _first(steps) if repair else (), repair)


def _reports(step: Step) -> Iterator[ToolCall]:
    calls = step.reply.calls if step.reply else ()
    return (call for call in calls if call.name == NAME and call.id in step.started)


def _open(step: Step) -> Iterator[ToolCall]:
    return (call for call in _reports(step) if call.id not in step.results)


def _first(steps: Sequence[Step]) -> tuple[str, ...]:
    """The reports of the reply that was checked first, with those that did not come up by then; a
    report that the loop itself refused is none."""
    for step in steps:
        ends = (step.results.get(call.id) for call in _reports(step))
        if step.reply and any(end is None or end.receipt.summary == SENT_BACK for end in ends):
            return tuple(call.id for call in step.reply.calls if call.name == NAME)
    return ()


@dataclass(frozen=True, slots=True)
class ReportingTools:
    """A child's tools and its way to report. Every result begins with the id of its call, as a
    model is not told ids in any other way."""

    tools: ToolRunner
    duty: Duty

    async def run(self, call: ToolCall) -> Ran:
        """See `ToolRunner.run`."""
        if call.name == NAME:
            return self._report(call)
        if self.duty.repair:
            return _unrun(call, ALONE, f"{call.name}: not run")
        ran = await self.tools.run(call)
        return ran if isinstance(ran, Waiting) else replace(ran, text=tagged(call.id, ran.text))

    def _report(self, call: ToolCall) -> Ran:
        if call.id not in self.duty.first:
            return Waiting(call, ())
        mended = call.id == self.duty.first[0]
        return _unrun(call, self.duty.repair if mended else BESIDE, SENT_BACK)


def _unrun(call: ToolCall, text: str, summary: str) -> ToolResult:
    return ToolResult(call, text, Receipt(ok=False, summary=summary))


def untagged(results: Iterable[ToolResult]) -> tuple[ToolResult, ...]:
    """The results as the tools gave them."""
    return tuple(
        replace(result, text=result.text.removeprefix(tagged(result.call.id, "")))
        for result in results
    )
