"""A `Desk` in memory: it asks nobody, keeps what a chat would show, and a test answers."""

from __future__ import annotations

from dataclasses import replace

from core.errors import UserError
from core.escalations import card
from core.escalations.asking import Asking, objection
from core.escalations.card import TooLong
from core.escalations.desk import Asked
from core.escalations.events import Answered, Applied, CardSent, EscalationEvent
from core.escalations.machine import advance
from core.escalations.record import (
    SETTLED,
    Answer,
    Approved,
    Escalation,
    State,
    approvers_of,
    digest_of,
)
from core.messages import Principal, RemoteId, Role, SessionId, TurnId
from core.ports import ToolContext
from core.splitting import Room

NOW = 1_700_000_000.0
SECRET = b"0123456789abcdef"
OWEN = Principal("9", "Owen", Role.OWNER)
ROOM = Room(4_096)


class MemoryDesk:
    """Keeps what was asked by turn and key; `cards` are the texts as they were shown, by number,
    and `calls` the turn's own calls that they are for."""

    def __init__(
        self, asking: Asking | None = None, room: Room = ROOM, *, sends: bool = True
    ) -> None:
        """Without `sends` no card arrives by itself."""
        self.sends = sends
        self._asking = asking or Asking()
        self._room = room
        self._kept: dict[tuple[int, str], Escalation] = {}
        self.calls: dict[int, str] = {}
        self.cards: dict[int, str] = {}

    @property
    def escalations(self) -> tuple[Escalation, ...]:
        """All, in the order in which they were asked."""
        return tuple(self._kept.values())

    @property
    def last(self) -> Escalation:
        """The one that was asked last."""
        return self.escalations[-1]

    async def ask(self, context: ToolContext, call: str, asked: Asked) -> Escalation:
        """See `Desk.ask`."""
        place = (context.turn, asked.key)
        if place not in self._kept:
            escalation = self._made(context, call, asked)
            live = sum(one.live for one in self.escalations)
            if said := objection(escalation, live):
                raise UserError(said)
            shown = card.ask(escalation, SECRET, NOW, self._room)
            if isinstance(shown, TooLong):
                raise UserError(shown.text)
            self._kept[place] = escalation
            self.calls[escalation.number] = call
            self.cards[escalation.number] = shown.text
            if self.sends:
                self.tell(escalation.number, CardSent(RemoteId(f"card-{escalation.number}"), NOW))
        return self._kept[place]

    async def apply(self, context: ToolContext, key: str) -> bool:
        """See `Desk.apply`."""
        escalation = self._kept[context.turn, key]
        if escalation.state not in SETTLED:
            return False
        self.tell(escalation.number, Applied(NOW))
        return escalation.ending is not State.CANCELLED

    def answer(self, answer: Answer | None = None, by: Principal = OWEN) -> None:
        """A person answers what was asked last; a yes unless said."""
        self.tell(self.last.number, Answered(by, answer or Approved(), NOW + 60))

    def tell(self, number: int, event: EscalationEvent) -> None:
        """Something happens to one of them."""
        place = next(at for at, one in self._kept.items() if one.number == number)
        self._kept[place], _ = advance(self._kept[place], event)

    def move(self, old: int, new: int) -> None:
        """What a turn asked is another's now."""
        for turn, key in [place for place in self._kept if place[0] == old]:
            moved = self._kept.pop((turn, key))
            self._kept[new, key] = replace(moved, turn=TurnId(new))

    def _made(self, context: ToolContext, call: str, asked: Asked) -> Escalation:
        also = self._asking.also.get(asked.purpose, frozenset())
        timeout_s = self._asking.timeout_s if asked.timeout_s is None else asked.timeout_s
        return Escalation(
            number=len(self._kept) + 1,
            kind=asked.kind,
            purpose=asked.purpose,
            question=asked.question,
            requester=context.principal,
            approvers=approvers_of(asked.purpose, also),
            address=context.address,
            session=SessionId(1),
            turn=TurnId(context.turn),
            tool_call_id=call,
            created=NOW,
            expires=NOW + timeout_s,
            on_timeout=asked.on_timeout,
            facts=asked.facts,
            options=asked.options,
            digest=digest_of(asked.facts),
        )
