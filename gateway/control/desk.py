"""What the control socket answers: how the gateway is, the sessions of all chats, pairing.

The same facts can be read where nothing runs (`gateway.compose.offline`), so their shapes are
made here, from values of the store alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Protocol

from core.errors import UserError
from core.messages import Role
from core.pairing import Approve, Book, ListPeople, PairOrder, Remove
from core.people import AuditRow, People
from core.ports import Clock
from core.sessions.facts import Overview, SessionFact
from core.sessions.ports import Signals
from core.transcript import Json
from gateway.control.server import Answer
from gateway.control.wire import Data
from gateway.health.vitals import Report

MAX_SESSIONS = 200
MAX_AUDIT = 200
AT_THE_SHELL = "the command line"


class Books(Protocol):
    """What the desk reads of the store."""

    @property
    def people(self) -> People:
        """Who was let in."""
        ...

    def overview(self) -> Overview:
        """The whole store in a few numbers."""
        ...

    def sessions(self, limit: int) -> tuple[SessionFact, ...]:
        """The sessions of all lanes, newest first."""
        ...


class Desk:
    """Answers for a running gateway; `report` tells how its platforms are."""

    def __init__(
        self,
        books: Books,
        clock: Clock,
        report: Callable[[], Report],
        follow: Callable[[Signals], None],
        *,
        about: Mapping[str, Json],
    ) -> None:
        self._books = books
        self._clock = clock
        self._report = report
        self._follow = follow
        self._about = about
        self._since = clock.monotonic()

    @property
    def answers(self) -> Mapping[str, Answer]:
        """The requests by name."""
        return {"status": self.status, "sessions": self.sessions, "pair": self.pair}

    async def status(self, words: Mapping[str, str]) -> Data:
        """How the gateway is."""
        report = self._report()
        return {
            "running": True,
            "pid": os.getpid(),
            "uptime_s": round(self._clock.monotonic() - self._since, 1),
            **self._about,
            "stopping": report.stopping,
            "platforms": [
                {
                    "name": reading.name.value,
                    "state": reading.state.value,
                    "silent_s": round(reading.silent_s, 1),
                    "detail": reading.detail,
                }
                for reading in report.platforms
            ],
            **overview_data(self._books.overview()),
        }

    async def sessions(self, words: Mapping[str, str]) -> Data:
        """The sessions of all chats."""
        return sessions_data(self._books.sessions(MAX_SESSIONS))

    async def pair(self, words: Mapping[str, str]) -> Data:
        """Pairing, as `pursuit pair` asks for it."""
        return await pair(self._books.people, words, self._clock.now(), self._follow)


async def pair(
    people: People, words: Mapping[str, str], now: float, follow: Callable[[Signals], None]
) -> Data:
    """Carry an order out and say what became of it, with all of pairing as it stands then."""
    decision, signals = await people.pair(order_of(words), AT_THE_SHELL, now=now)
    follow(signals)
    return {
        "done": decision.done,
        "text": decision.text,
        **book_data(people.book(), now),
        "audit": audit_data(people.audit(MAX_AUDIT)),
    }


def order_of(words: Mapping[str, str]) -> PairOrder:
    """The order in a request's words. Raises UserError."""
    match words:
        case {"order": "list"}:
            return ListPeople()
        case {"order": "approve", "code": code, "role": role} if role in set(Role):
            return Approve(code, Role(role))
        case {"order": "remove", "who": who}:
            return Remove(who)
        case _:
            raise UserError("This is no order of pairing.")


def overview_data(found: Overview) -> dict[str, Json]:
    """The store in a few numbers."""
    return {
        "working": list(found.working),
        "queued": found.queued,
        "goals": [asdict(goal) for goal in found.goals],
        "outbox": {"waiting": found.unsent, "undeliverable": found.dead},
    }


def sessions_data(found: Sequence[SessionFact]) -> dict[str, Json]:
    """Sessions, newest first."""
    return {"sessions": [asdict(fact) for fact in found]}


def book_data(book: Book, now: float) -> dict[str, Json]:
    """Who waits and who was let in; no salt, no hash."""
    return {
        "waiting": [
            {
                "platform": knock.platform.value,
                "id": knock.person,
                "name": knock.name,
                "expires_in_s": round(knock.expires - now),
            }
            for knock in book.pending
            if knock.expires > now
        ],
        "people": [
            {
                "platform": one.platform.value,
                "id": one.person,
                "name": one.name,
                "role": one.role.value,
                "since": one.at,
                "by": one.by,
            }
            for one in book.paired
        ],
    }


def audit_data(rows: Sequence[AuditRow]) -> list[Json]:
    """Audit rows, newest first."""
    return [asdict(row) for row in rows]
