"""A child's line to the store: its `TurnLog`, and what it shares with its judge."""

from __future__ import annotations

from core.agent.compaction import total
from core.agent.steps import StepWrite
from core.delegation.ports import ChildRef, ChildStore
from core.ports import Clock, Model, Request, Usage
from core.sessions.ports import Caps
from core.sessions.turn_log import Books
from core.transcript import User

CHILD = "child"
OVERSEER = "overseer"
ACCEPTANCE_JUDGE = "acceptance_judge"
"""The purposes under which their calls are booked."""


class ChildLog:
    """Writes a child's steps under its turn's fence, and books its calls and its judge's.

    `purpose` is what its calls are booked as: a branch table's run makes none but its overseers'.
    `started` is the monotonic time at which the turn's attempt began, not the child's own: a cap
    on time counts the turn's age, in which its children run side by side. `judge` books the
    judge's calls, one at a time; the child's next write keeps what those have used. `used` and
    `calls` are the child's own since this log was made; add those of its `ChildState`.
    """

    def __init__(
        self,
        children: ChildStore,
        caps: Caps,
        ref: ChildRef,
        clock: Clock,
        *,
        started: float,
        purpose: str = CHILD,
    ) -> None:
        self._children = children
        self._ref = ref
        self._books = Books(caps, ref.turn, clock, purpose=purpose, started=started)
        self.judge = Books(caps, ref.turn, clock, purpose=ACCEPTANCE_JUDGE, started=started)
        self.used = Usage()
        self.calls = 0

    async def record(self, *writes: StepWrite) -> None:
        """See `TurnLog.record`."""
        with self._books.hand_over() as own, self.judge.hand_over() as judges:
            await self._children.record_child(
                self._ref, writes, used=own.used, spent=own.spent + judges.spent
            )

    async def keep(self, kept: str) -> None:
        """Store what the run has come to, see `ChildStore.keep_child`, and all usage with it."""
        with self._books.hand_over() as own, self.judge.hand_over() as judges:
            await self._children.keep_child(
                self._ref, kept, used=own.used, spent=own.spent + judges.spent
            )

    async def steered(self) -> tuple[User, ...]:
        """Nobody can steer a child: what people write goes to the turn's own agent."""
        return ()

    async def allowance(self, model: Model, request: Request, counted: int) -> str:
        """See `TurnLog.allowance`."""
        return await self._books.allowance(model, request, counted)

    async def settle(self, usage: Usage) -> None:
        """See `TurnLog.settle`."""
        self.used, self.calls = total((self.used, usage)), self.calls + 1
        await self._books.settle(usage)
