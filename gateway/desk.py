"""Questions to people, from the work that asks to the chat that it came from.

It decides nothing: the store keeps what is asked, and says what became of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from core.errors import UserError
from core.escalations.desk import Asked
from core.escalations.record import EXACT, Escalation
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


UNSHOWABLE = (
    "This needs a person's approval, and what is approved is always shown whole, but it holds"
    " what looks like a key or a password, which no chat is shown. Nobody was asked and nothing"
    " was done. Leave it out: read it from a file or the environment where it is used."
)
UNSHOWABLE_OPTION = (
    "Option {number} holds what looks like a key or a password, which no chat is shown, so nobody"
    " was asked. Leave it out: say in other words what the option is."
)


class ChatDesk:
    """The `Desk` of a running program; `follow` acts on what a commit asks for, `redact` takes
    secrets out of a text."""

    def __init__(
        self,
        store: Questions,
        follow: Callable[[Signals], None],
        redact: Callable[[str], str],
    ) -> None:
        self._store = store
        self._follow = follow
        self._redact = redact

    async def ask(self, context: ToolContext, call: str, asked: Asked) -> Escalation:
        """See `Desk.ask`."""
        asked = showable(asked, self._redact)
        found, signals = await self._store.ask(_ref(context), call, asked, context.principal)
        self._follow(signals)
        if isinstance(found, str):
            raise UserError(found)
        return found

    async def apply(self, context: ToolContext, key: str) -> bool:
        """See `Desk.apply`."""
        return await self._store.apply(_ref(context), key)


def showable(asked: Asked, redact: Callable[[str], str]) -> Asked:
    """The question as a chat may be shown it. A card is redacted part by part: done to the whole,
    a pattern could hide what stands behind it.

    Raises UserError for a secret in what is approved or chosen, which stay as they are: the work
    is told of just that.
    """
    for fact in asked.facts:
        if fact.label in EXACT and redact(fact.text) != fact.text:
            raise UserError(UNSHOWABLE)
    for number, option in enumerate(asked.options, 1):
        if redact(option) != option:
            raise UserError(UNSHOWABLE_OPTION.format(number=number))
    return replace(
        asked,
        question=redact(asked.question),
        facts=tuple(replace(fact, text=redact(fact.text)) for fact in asked.facts),
    )


def _ref(context: ToolContext) -> TurnRef:
    return TurnRef(context.address.key, TurnId(context.turn), context.attempt)
