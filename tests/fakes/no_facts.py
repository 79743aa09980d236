"""A `Facts` for tests of commands that need no store. It remembers nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.escalations.record import Escalation
from core.escalations.routing import Scene
from core.gates.gate import GateEvent
from core.gates.wanted import ChatGates
from core.goals.contract import SetGoal
from core.messages import Address, PlatformName, SessionId
from core.pairing import Book
from core.sessions.facts import House, SessionFact, Spent, Used

KEY = Address(PlatformName.TELEGRAM, "bot", "1").key


@dataclass(frozen=True, slots=True)
class NoFacts:
    """A lane with two sessions, and nothing spent, chosen or paired, nor drafted unless said;
    `waits` says that a question does, `questions` are those of the place."""

    house: House = field(default_factory=House)
    drafted: SetGoal | None = None
    chosen: str = ""
    waits: bool = False
    questions: tuple[Escalation, ...] = ()
    gates: ChatGates = field(default_factory=ChatGates)

    def spent(self, goal: int) -> Spent:
        """See `Facts.spent`."""
        return Spent(goal * 0)

    def sessions(self) -> tuple[SessionFact, ...]:
        """See `Facts.sessions`."""
        return (
            SessionFact(SessionId(2), "two", 1, KEY),
            SessionFact(SessionId(1), "one", 3, KEY),
        )

    def all_sessions(self) -> tuple[SessionFact, ...]:
        """See `Facts.all_sessions`."""
        return self.sessions()

    def session(self, number: int) -> SessionFact | None:
        """See `Facts.session`."""
        return next((fact for fact in self.sessions() if fact.id == number), None)

    def used(self) -> Used:
        """See `Facts.used`."""
        return Used()

    def model(self) -> str:
        """See `Facts.model`."""
        return self.chosen

    def workspace(self) -> str:
        """See `Facts.workspace`."""
        return ""

    def chat_gates(self) -> ChatGates:
        """See `Facts.chat_gates`."""
        return self.gates

    def gate_events(self) -> tuple[GateEvent, ...]:
        """See `Facts.gate_events`."""
        return ()

    def book(self) -> Book:
        """See `Facts.book`."""
        return Book()

    def draft(self) -> SetGoal | None:
        """See `Facts.draft`."""
        return self.drafted

    def scene(self) -> Scene:
        """See `Facts.scene`."""
        return Scene(self.questions)

    def asked(self) -> bool:
        """See `Facts.asked`."""
        return self.waits
