"""The durable trace of a running turn: one step is one model call and its tool calls.

A turn writes these as it goes, so that a crash cannot cut it: after a restart it goes on from
its last step. Values only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from core.ports import Model, Reply, Request, Usage
from core.transcript import Entry, ToolResult, User


@dataclass(frozen=True, slots=True)
class Replied:
    """The model answered step `n` (counted from 0) and asked for the reply's calls."""

    n: int
    reply: Reply


@dataclass(frozen=True, slots=True)
class Started:
    """A call of step `n` is about to run; written before it does."""

    n: int
    call_id: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A call of step `n` has ended."""

    n: int
    result: ToolResult


@dataclass(frozen=True, slots=True)
class Injected:
    """User-role text that entered the turn before step `n`: a steered message, a reflection."""

    n: int
    message: User


@dataclass(frozen=True, slots=True)
class Bounced:
    """The answer of step `n - 1` was sent back, with this user-role text before step `n`."""

    n: int
    message: User


@dataclass(frozen=True, slots=True)
class Folded:
    """A checkpoint before step `n`: all that came earlier reads as this summary from now on.

    The summary is a user-role text; the full transcript stays in the store.
    """

    n: int
    summary: str


StepWrite: TypeAlias = Replied | Started | Finished | Injected | Bounced | Folded


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is stored of one step when a turn is taken up again after a restart.

    `results` holds the finished calls by id, `started` the ids of calls that had begun.
    """

    n: int
    reply: Reply | None = None
    injected: tuple[User, ...] = ()
    started: frozenset[str] = frozenset()
    results: Mapping[str, ToolResult] = field(default_factory=dict)
    folded: str = ""
    bounced: User | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInput:
    """All that a turn starts from.

    `history` is the session's transcript before this turn (after its last checkpoint, whose
    summary comes first as a User entry), `inputs` what this turn answers, `steps` what an
    earlier attempt had stored. `pinned` is text that a compaction must keep word for word (the
    goal, its contract and criteria). `asked` are the ids of calls that have asked a person: one
    without a result is run again, and hears there what came of its question. `taken` are ids that
    no call of this turn may have.
    """

    turn: int
    history: tuple[Entry, ...]
    inputs: tuple[User, ...]
    steps: tuple[Step, ...] = ()
    pinned: str = ""
    asked: frozenset[str] = frozenset()
    taken: frozenset[str] = frozenset()


class TurnLog(Protocol):
    """Where a running turn writes its steps and hears what was sent to it meanwhile."""

    async def record(self, *writes: StepWrite) -> None:
        """Commit the writes together. Raises `Fenced` when the turn has lost its lane."""
        ...

    async def steered(self) -> tuple[User, ...]:
        """The messages that people steered into this turn; claimed by the `record` of them."""
        ...

    async def allowance(self, model: Model, request: Request, counted: int) -> str:
        """Ask for one more model call: "" to make it, else the sentence that says which cap is
        reached and how to raise it. `counted` is the provider's count of the request up to its
        last reply, 0 when unknown."""
        ...

    async def settle(self, usage: Usage) -> None:
        """The call that was allowed last has returned; the one place where usage is counted."""
        ...
