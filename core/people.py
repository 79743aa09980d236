"""The port that keeps who was let in beside the configured lists, and the audit of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from core.messages import LaneKey, PlatformName, Role
from core.pairing import Book, Decision, PairOrder
from core.sessions.ports import Signals


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Somebody without a right tried; `may_pair` says that they may be given a code for it."""

    platform: PlatformName
    person: str
    name: str
    chat: str
    lane: LaneKey
    what: Literal["message", "press", "command", "login", "answer"]
    may_pair: bool = False


@dataclass(frozen=True, slots=True)
class AuditRow:
    """Something that was granted or refused; `at` is wall time, `times` how often it happened
    within a minute of that."""

    at: float
    platform: str
    person: str
    chat: str
    what: str
    detail: str
    times: int


class People(Protocol):
    """Who was let in by pairing. Reads are cheap and see every committed change at once."""

    def role(self, platform: PlatformName, person: str) -> Role | None:
        """The role a person was let in with, None for nobody."""
        ...

    def book(self) -> Book:
        """All of pairing."""
        ...

    def audit(self, last: int) -> tuple[AuditRow, ...]:
        """The newest rows, the newest first."""
        ...

    async def refuse(self, refusals: Sequence[Refusal], *, now: float) -> tuple[str, ...]:
        """Write refusals down, those of one person within a minute as one row.

        Returns for each the code its person is to be told, or "": where none may be given, where
        one was given within the hour, or where too many are open.
        """
        ...

    async def pair(self, order: PairOrder, by: str, *, now: float) -> tuple[Decision, Signals]:
        """Carry out an owner's order that came from outside of any chat."""
        ...
