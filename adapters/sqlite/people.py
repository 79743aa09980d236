"""`SqlitePeople`: the `People` port on the store's connections."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from adapters.sqlite import access
from adapters.sqlite.jobs import Read, Submit
from adapters.sqlite.transaction import Transaction
from core import pairing
from core.messages import PlatformName, Role
from core.pairing import Book, Decision, PairOrder
from core.people import AuditRow, Refusal
from core.sessions.ports import Signals


class SqlitePeople:
    """Who was let in by pairing."""

    def __init__(self, read: Read, submit: Submit) -> None:
        self._read = read
        self._submit = submit

    def role(self, platform: PlatformName, person: str) -> Role | None:
        """See `People.role`."""
        return self._read(lambda conn: access.role_of(conn, platform, person))

    def book(self) -> Book:
        """See `People.book`."""
        return self._read(access.load_book)

    def audit(self, last: int) -> tuple[AuditRow, ...]:
        """See `People.audit`."""
        return self._read(lambda conn: access.audit_rows(conn, last))

    async def refuse(self, refusals: Sequence[Refusal], *, now: float) -> tuple[str, ...]:
        """See `People.refuse`."""
        codes = any(refusal.may_pair for refusal in refusals)  # told once they are safe
        return await self._submit(lambda conn: access.refuse(conn, refusals, now), safe=codes)

    async def pair(self, order: PairOrder, by: str, *, now: float) -> tuple[Decision, Signals]:
        """See `People.pair`."""

        def job(conn: sqlite3.Connection) -> tuple[Decision, Signals]:
            decision = pairing.decide(access.load_book(conn), order, by, now)
            tx = Transaction(conn, now, "pair")
            for change in decision.changes:
                tx.pair(change)
            return decision, tx.signals()

        return await self._submit(job)
