"""What goes out of a question to a person: its card, a reminder, a decision.

The outbox holds a mark of each; the words are made when it is sent, from the question as it stands
then. So a card's secret never touches the disk: what is kept of a card is shown with buttons that
stand for command lines.
"""

from __future__ import annotations

import hmac
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from adapters.sqlite import codec, escalation_rows
from adapters.sqlite.codec import Unreadable
from adapters.sqlite.escalation_rows import Stored
from adapters.sqlite.happening import CARD, REMINDER
from core.escalations import card
from core.escalations.card import TooLong
from core.escalations.record import Escalation, Kind
from core.escalations.token import TOKEN_BYTES, hashed
from core.messages import Address, Button, LaneKey, Outbound, PlatformName
from core.sessions.outgoing import Amend
from core.splitting import Room

ROOM = Room(1_900)
"""Every platform takes so much."""


@dataclass(frozen=True, slots=True)
class Cards:
    """How much one message holds by platform, and the key of this start that secrets are made
    with; a card that is sent again in the same start carries the same one."""

    key: bytes = field(repr=False)
    rooms: Mapping[PlatformName, Room] = field(default_factory=dict)

    def room(self, lane: LaneKey) -> Room:
        """How much one message of a lane's chat holds."""
        return self.rooms.get(Address.of(lane).platform, ROOM)

    def secret(self, row: int) -> bytes:
        """What the buttons of a row of the outbox carry, 128 bits that nobody can guess."""
        return hmac.digest(self.key, str(row).encode(), "sha256")[:TOKEN_BYTES]


@dataclass(frozen=True, slots=True)
class Mark:
    """A row of the outbox that shows something of a question."""

    row: int
    lane: LaneKey
    escalation: int
    shows: str
    what: Outbound | Amend


@dataclass(frozen=True, slots=True)
class Made:
    """What is sent for a mark, and what is kept of it."""

    sent: Outbound | Amend
    kept: Outbound | Amend


def made(conn: sqlite3.Connection, mark: Mark, cards: Cards, now: float) -> Made | TooLong | None:
    """The message of a mark; None where there is nothing to send any more."""
    try:
        stored = escalation_rows.by_id(conn, mark.escalation)
    except Unreadable:
        stored = None
    room = cards.room(mark.lane)
    if isinstance(mark.what, Amend) and stored is not None:
        return _decided(conn, mark.what, stored, room)
    if mark.shows not in {CARD, REMINDER}:
        return Made(mark.what, mark.what)
    if stored is None or not stored.value.live:
        return None
    if mark.shows == REMINDER:
        reminder = card.reminder(stored.value)
        return Made(reminder, reminder)
    secret = cards.secret(mark.row)
    shown = card.ask(stored.value, secret, now, room)
    if isinstance(shown, TooLong):
        return shown
    escalation_rows.keep_token(conn, stored, hashed(secret))
    return Made(shown, replace(shown, buttons=commands(stored.value)))


def _decided(conn: sqlite3.Connection, amend: Amend, stored: Stored, room: Room) -> Made:
    """The decision in the place of a card or a reminder, also where the chat is read back."""
    reminds = amend.remote in stored.value.reminders
    said = card.reminder(stored.value) if reminds else card.decided(stored.value, room)
    conn.execute(
        "UPDATE outbox SET body = ? WHERE escalation = ? AND shows = ? AND remote_id = ?",
        (codec.dump_outbound(said), stored.id, REMINDER if reminds else CARD, amend.remote),
    )
    amend = replace(amend, say=said)
    return Made(amend, amend)


def commands(escalation: Escalation) -> tuple[Button, ...]:
    """The card's buttons where no secret may stand: they say the same as commands."""
    if not escalation.live:
        return ()
    match escalation.kind:
        case Kind.APPROVE:
            return (
                Button("Approve", f"/approve {escalation.id}"),
                Button("Deny", f"/deny {escalation.id}"),
            )
        case Kind.CHOOSE:
            return tuple(
                Button(button.label, f"/answer {escalation.id} {number}")
                for number, button in enumerate(
                    card.buttons(escalation, bytes(TOKEN_BYTES))[:-1], 1
                )
            )
        case Kind.TEXT:
            return ()
