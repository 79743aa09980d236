"""Questions to people, from the work that asks to the chat that it came from.

It decides nothing: the store keeps what is asked, and says what became of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from core.errors import UserError
from core.escalations.desk import Asked
from core.escalations.record import Escalation
from core.messages import Principal, TurnId
from core.ports import ToolContext
from core.sessions.ports import Signals, TurnRef


class Questions(Protocol):
    """The part of `core.sessions.ports.Store` that keeps questions."""

    async def ask(
        self, ref: TurnRef, call: str, asked: Asked, requester: Principal
    ) -> tuple[Escalation | str, Signals]:
        """See `Store.ask`."""
        ...

    async def apply(self, ref: TurnRef, key: str) -> bool:
        """See `Store.apply`."""
        ...


class ChatDesk:
    """The `Desk` of a running program; `follow` acts on what a commit asks for."""

    def __init__(self, store: Questions, follow: Callable[[Signals], None]) -> None:
        self._store = store
        self._follow = follow

    async def ask(self, context: ToolContext, call: str, asked: Asked) -> Escalation:
        """See `Desk.ask`."""
        found, signals = await self._store.ask(_ref(context), call, asked, context.principal)
        self._follow(signals)
        if isinstance(found, str):
            raise UserError(found)
        return found

    async def apply(self, context: ToolContext, key: str) -> bool:
        """See `Desk.apply`."""
        return await self._store.apply(_ref(context), key)


def _ref(context: ToolContext) -> TurnRef:
    return TurnRef(context.address.key, TurnId(context.turn), context.attempt)
