"""People who were let in, in memory, for what stands in front of the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from core.errors import TransientError
from core.messages import PlatformName, Role
from core.pairing import Book, Decision, PairOrder
from core.people import AuditRow, Refusal
from core.sessions.ports import Signals

CODE = "ABCD2345"


@dataclass(slots=True)
class MemoryPeople:
    """Keeps people in memory; gives every stranger who may have one the same code."""

    roles: dict[tuple[PlatformName, str], Role] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)
    full: bool = False
    """Whether the disk takes nothing."""

    def role(self, platform: PlatformName, person: str) -> Role | None:
        """See `People.role`."""
        return self.roles.get((platform, person))

    def book(self) -> Book:
        """See `People.book`."""
        return Book()

    def audit(self, last: int) -> tuple[AuditRow, ...]:
        """See `People.audit`."""
        return ()

    async def refuse(self, refusals: Sequence[Refusal], *, now: float) -> tuple[str, ...]:
        """See `People.refuse`."""
        if self.full:
            raise TransientError("the disk is full")
        self.refused.extend(refusals)
        return tuple(CODE if refusal.may_pair else "" for refusal in refusals)

    async def pair(self, order: PairOrder, by: str, *, now: float) -> tuple[Decision, Signals]:
        """See `People.pair`."""
        return Decision(""), Signals()
