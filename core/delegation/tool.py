"""The tool `delegate_task`: plans a call, lets its children work side by side, tells the result.

A call that a restart cut is taken up again: each child goes on where it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from weakref import WeakValueDictionary

from core.agent.together import together
from core.delegation import definition, result
from core.delegation.board import Board
from core.delegation.child import Child
from core.delegation.kept import Kept
from core.delegation.ports import ChildRef
from core.delegation.result import ChildResult
from core.delegation.task import (
    DELEGATION,
    DelegateArguments,
    Delegator,
    Offer,
    Task,
    TaskFields,
    plan,
)
from core.delegation.waiting import Waits
from core.delegation.working import Surroundings
from core.errors import Fenced, PursuitError
from core.escalations.outcome import waiting_for
from core.messages import TurnId
from core.ports import Ran, ToolContext, ToolSpec, Waiting
from core.sessions.ports import TurnRef
from core.tools.arguments import parse
from core.transcript import ToolCall, ToolResult

SUMMARY_CHARS = 6_000
SUMMARIES_CHARS = 24_000
"""The most characters of a child's report that its parent reads, and of all those of a call."""


class DelegateTask:
    """A `Tool` (see `core.ports`) whose started calls are taken up again after a restart."""

    toolset: str = DELEGATION
    resumable: bool = True

    def __init__(self, offer: Offer, *, small: bool = False) -> None:
        """`small` is for an agent on the embedded model."""
        self.spec: ToolSpec = definition.short_spec(offer) if small else definition.spec(offer)
        self._offer = offer
        self._around: Surroundings | None = None
        self._slots: WeakValueDictionary[tuple[int, str], asyncio.Semaphore]
        self._slots = WeakValueDictionary()

    def attach(self, around: Surroundings) -> None:
        """Name what children work with, this tool among it; once, before the first call."""
        self._around = around

    async def run(self, call: ToolCall, context: ToolContext) -> Ran:
        """See `Tool.run`: a call waits when one of its children does and all others have ended.
        Raises UserError for a call in which anything is wrong; then no child has started."""
        around = self._around
        assert around is not None  # noqa: S101 - `attach` comes first
        arguments = parse(DelegateArguments, call.arguments, call.name)
        reaches = around.desk is not None
        who = Delegator(context.caller, context.principal.role, reaches)
        begun = await self._begun(around, arguments, call.id, context)
        tasks = plan(arguments, self._offer, who, begun)
        began = around.clock.monotonic()
        board = Board.of([task.title for task in tasks], around.clock.monotonic)
        context.progress(board.text)
        caller = replace(context.caller, call=context.caller.call or call.id)
        lent = replace(context, caller=caller)
        assigned = [
            Assignment(around, task, board, number, lent) for number, task in enumerate(tasks)
        ]
        slots = self._slots_of(context)
        ends = await together(one.work_out(call.id, slots) for one in assigned)
        if waits := [end for end in ends if isinstance(end, Waits)]:
            return Waiting(call, Waits.of(waits).asked)
        await around.live.close_call(context.turn, call.id)
        results = [end for end in ends if isinstance(end, ChildResult)]
        receipt = result.receipt(results, around.clock.monotonic() - began)
        return ToolResult(call, result.told(results, batch=arguments.tasks is not None), receipt)

    async def _begun(
        self,
        around: Surroundings,
        arguments: DelegateArguments,
        call_id: str,
        context: ToolContext,
    ) -> frozenset[int]:
        """The places of the tasks whose branch table's run has begun."""
        tasks: Sequence[TaskFields] = arguments.tasks or [arguments]
        if all(fields.branch_table is None for fields in (arguments, *tasks)):
            return frozenset()
        most = self._offer.max_children
        refs = [_ref(context, call_id, number) for number, _ in enumerate(tasks[:most])]
        kept = [Kept.load(await around.store.kept_child(ref)) for ref in refs]
        return frozenset(number for number, each in enumerate(kept) if each.table)

    def _slots_of(self, context: ToolContext) -> asyncio.Semaphore:
        """The slots of one agent's children; a child's own children have others, for it holds one
        while it waits for them."""
        agent = (context.turn, context.caller.path)
        return self._slots.setdefault(agent, asyncio.Semaphore(self._offer.max_children))

    async def close_turn(self, turn: int) -> None:
        """See `Tool.close_turn`: children end with the call that runs them, but for local runners
        that wait for a person."""
        if self._around is not None:
            await self._around.live.close_turn(turn)


def _ref(context: ToolContext, call_id: str, number: int) -> ChildRef:
    turn = TurnRef(context.address.key, TurnId(context.turn), context.attempt)
    return ChildRef(turn, f"{call_id}.{number}")


@dataclass(frozen=True, slots=True)
class Assignment:
    """A task of a call, in the hands of its child, with its seat on the board."""

    around: Surroundings
    task: Task
    board: Board
    number: int
    context: ToolContext

    async def work_out(self, call_id: str, slots: asyncio.Semaphore) -> ChildResult | Waits:
        """Let the child work as soon as there is a slot. A fault that it does not survive, such as
        a full disk, is its failed result: its siblings go on."""
        child = Child(
            self.around,
            self.task,
            _ref(self.context, call_id, self.number),
            self.context,
            emit=partial(self.board.emit, self.number),
            say=partial(self.board.say, self.number),
            room=min(SUMMARY_CHARS, SUMMARIES_CHARS // len(self.board.seats)),
        )
        async with slots:
            self.board.start(self.number)
            try:
                ended = await child.result()
            except Fenced:
                raise
            except PursuitError as error:
                ended = child.failed(str(error))
        if isinstance(ended, Waits):
            self.board.say(self.number, waiting_for(ended.asked))
            return ended
        self.board.end(self.number, ended.line, good=ended.good)
        return ended
