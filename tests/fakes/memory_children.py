"""A `ChildStore` in memory: what a process would find again after it died."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from core.agent.compaction import total
from core.agent.steps import Finished, Replied, StepWrite
from core.delegation.ports import ChildRef, ChildState
from core.errors import Fenced
from core.ports import Usage
from core.sessions.ports import CallUsage
from tests.fakes.turn_log import Killed, MemoryTurnLog


@dataclass(slots=True)
class Row:
    """One child."""

    id: int
    brief: str
    tries: int = 0
    log: MemoryTurnLog = field(default_factory=MemoryTurnLog)
    kept: str = ""
    used: tuple[Usage, ...] = ()


class MemoryChildren:
    """Keeps the children of one turn.

    `dies_at` kills the write of that number (from 0), after it was made when `dies_after` is true,
    else before; the next process is not killed again. `asked` gives the calls of a child that wait
    for a person. Writes of an attempt that is not the latest one that opened a child are refused.
    """

    def __init__(self, *, dies_at: int | None = None, dies_after: bool = False) -> None:
        self.rows: dict[str, Row] = {}
        self.spent: list[CallUsage] = []
        self.writes = 0
        self.asked: Callable[[str], frozenset[str]] = lambda _: frozenset()
        self._dies_at = dies_at
        self._dies_after = dies_after
        self._attempt = 0

    async def open_child(self, ref: ChildRef, brief: str) -> ChildState:
        """See `ChildStore.open_child`."""
        self._attempt = max(self._attempt, ref.turn.attempt)
        self._fence(ref)
        row = self.rows.setdefault(ref.path, Row(len(self.rows) + 1, brief))
        row.tries += 1
        return ChildState(
            id=row.id,
            tries=row.tries,
            steps=row.log.steps,
            kept=row.kept,
            used=total(row.used),
            calls=len(row.used),
            began=100.0,
            asked=self.asked(ref.path),
        )

    async def kept_child(self, ref: ChildRef) -> str:
        """See `ChildStore.kept_child`."""
        self._fence(ref)
        return self.rows[ref.path].kept if ref.path in self.rows else ""

    async def record_child(
        self,
        ref: ChildRef,
        writes: Sequence[StepWrite],
        *,
        used: Sequence[Usage] = (),
        spent: Sequence[CallUsage] = (),
    ) -> None:
        """See `ChildStore.record_child`."""
        row = self._written(ref)
        await row.log.record(*writes)
        if any(isinstance(write, Replied | Finished) for write in writes):
            row.tries = 0
        self._book(row, used, spent)

    async def keep_child(
        self,
        ref: ChildRef,
        kept: str,
        *,
        used: Sequence[Usage] = (),
        spent: Sequence[CallUsage] = (),
    ) -> None:
        """See `ChildStore.keep_child`."""
        row = self._written(ref)
        row.kept = kept
        self._book(row, used, spent)

    def park(self) -> None:
        """The turn is parked: its children have not been cut."""
        for row in self.rows.values():
            row.tries = 0

    def _book(self, row: Row, used: Sequence[Usage], spent: Sequence[CallUsage]) -> None:
        row.used += tuple(used)
        self.spent.extend(spent)
        dying = self._dying
        self.writes += 1
        if dying and self._dies_after:
            raise Killed

    def _written(self, ref: ChildRef) -> Row:
        self._fence(ref)
        if self._dying and not self._dies_after:
            self.writes += 1
            raise Killed
        return self.rows[ref.path]

    @property
    def _dying(self) -> bool:
        return self._dies_at == self.writes

    def _fence(self, ref: ChildRef) -> None:
        if ref.turn.attempt < self._attempt:
            raise Fenced("another attempt took it over")
