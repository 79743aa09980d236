"""A `Desk` in memory, and the person at it, who answers when the test says so."""

from __future__ import annotations

from dataclasses import replace

from core.errors import UserError
from core.escalations.asking import objection
from core.escalations.desk import Asked
from core.escalations.record import (
    Answer,
    Escalation,
    State,
    approvers_of,
    digest_of,
)
from core.messages import Principal, Role, SessionId, TurnId
from core.ports import ToolContext

ANNA = Principal("1", "Anna", Role.OWNER)
NOW = 1_700_000_000.0
DAY_S = 86_400.0


class ScriptedDesk:
    """Keeps questions by turn and key, and refuses what may not be asked."""

    def __init__(self) -> None:
        self.cards: dict[tuple[int, str], Escalation] = {}
        self.calls: list[str] = []
        self.applied: list[str] = []

    async def ask(self, context: ToolContext, call: str, asked: Asked) -> Escalation:
        """See `Desk.ask`."""
        at = (context.turn, asked.key)
        if at not in self.cards:
            made = self._made(context, asked)
            if reason := objection(made, len(self.open)):
                raise UserError(reason)
            self.cards[at] = made
            self.calls.append(call)
        return self.cards[at]

    async def apply(self, context: ToolContext, key: str) -> bool:
        """See `Desk.apply`."""
        card = self.cards[context.turn, key]
        assert not card.live, "what is open cannot be applied"
        if card.state is State.APPLIED:
            return False
        self.applied.append(key)
        self.cards[context.turn, key] = replace(card, state=State.APPLIED)
        return True

    @property
    def open(self) -> list[Escalation]:
        """What waits for an answer, oldest first."""
        return [card for card in self.cards.values() if card.live]

    def asked_of(self, path: str) -> frozenset[str]:
        """The calls of a child that asked and have not been applied."""
        keys = (key for (_, key), card in self.cards.items() if card.state is not State.APPLIED)
        under = (key.removeprefix(f"{path}/") for key in keys if key.startswith(f"{path}/"))
        return frozenset(key for key in under if "/" not in key)

    def answer(self, answer: Answer) -> None:
        """Anna answers the oldest open question."""
        card = self.open[0]
        assert card.fits(answer), (card, answer)
        self._settle(card, State.ANSWERED, answer=answer)

    def end(self, state: State, why: str = "") -> None:
        """The oldest open question comes to nothing."""
        self._settle(self.open[0], state, why=why)

    def apply_all(self) -> None:
        """The work has gone on with what is decided, and was cut before it stored that."""
        for at, card in self.cards.items():
            if not card.live:
                self.cards[at] = replace(card, state=State.APPLIED)

    def _settle(
        self, card: Escalation, state: State, *, answer: Answer | None = None, why: str = ""
    ) -> None:
        at = next(at for at, each in self.cards.items() if each is card)
        decider = ANNA if answer is not None else None
        self.cards[at] = replace(
            card,
            state=state,
            ending=state,
            answer=answer,
            decider=decider,
            decided=NOW + 60,
            why=why,
        )

    def _made(self, context: ToolContext, asked: Asked) -> Escalation:
        return Escalation(
            number=len(self.cards) + 7,
            kind=asked.kind,
            purpose=asked.purpose,
            question=asked.question,
            requester=context.principal,
            approvers=approvers_of(asked.purpose),
            address=context.address,
            session=SessionId(1),
            turn=TurnId(context.turn),
            tool_call_id=asked.key,
            created=NOW,
            expires=NOW + (asked.timeout_s or DAY_S),
            on_timeout=asked.on_timeout,
            facts=asked.facts,
            options=asked.options,
            digest=digest_of(asked.facts),
        )
