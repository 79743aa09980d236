"""Where work puts its questions to people: the port that tools ask through.

A question is asked once per turn and key. Whoever asks again, in a later attempt of the turn, gets
what is stored: still open, or decided.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from core.escalations.record import Escalation, Fact, Kind, OnTimeout, Purpose
from core.ports import ToolContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question as work puts it. `key` tells it apart from all others of the turn: the id of the
    call that asks, with a mark behind it where one call asks more than once. `timeout_s` None
    takes the configured time. The rest is as in `Escalation`."""

    key: str
    kind: Kind
    purpose: Purpose
    question: str = ""
    facts: tuple[Fact, ...] = ()
    options: tuple[str, ...] = ()
    timeout_s: float | None = None
    on_timeout: OnTimeout = OnTimeout.ABORT


class Desk(Protocol):
    """Asks people in the chat that the work came from."""

    async def ask(self, context: ToolContext, call: str, asked: Asked) -> Escalation:
        """Ask, or say what became of it; `call` is the turn's own call that the work is for.

        The question is pinned to the turn's address and put for its principal. Raises UserError
        with the reason when it may not be asked, and `Fenced` when the turn has lost its lane.
        """
        ...

    async def apply(self, context: ToolContext, key: str) -> bool:
        """The work goes on with what became of it; false when it has done so before, or when it
        was cancelled since. Raises `Fenced` as above."""
        ...
