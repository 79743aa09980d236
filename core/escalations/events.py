"""What can happen to an escalation, and what follows from it: values only. Times are wall time."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from core.escalations.record import Answer
from core.messages import Principal, RemoteId

# What can happen to an escalation.


@dataclass(frozen=True, slots=True)
class CardSent:
    """Its card is in the chat; `at` is the platform's time where it tells one. A card that is
    sent again, or whose sending was in doubt, may come more than once."""

    remote: RemoteId
    at: float


@dataclass(frozen=True, slots=True)
class CardAdopted:
    """A message in the pinned chat carries a valid token of it and was not known: a copy of the
    card whose sending was never confirmed."""

    remote: RemoteId
    at: float


@dataclass(frozen=True, slots=True)
class ReminderSent:
    """A reminder is in the chat."""

    remote: RemoteId


@dataclass(frozen=True, slots=True)
class Answered:
    """A person answered, in a way and a place that count."""

    by: Principal
    answer: Answer
    at: float


@dataclass(frozen=True, slots=True)
class LaterPressed:
    """A person wants no more reminders."""

    by: Principal
    at: float


@dataclass(frozen=True, slots=True)
class TimeCame:
    """The time of `SetTimer` is there. `drift_s` is by how much the wall clock and the monotonic
    one differ since the timer was set, or since start-up."""

    now: float
    drift_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Stopped:
    """/stop by a person, or the end of the work that asked; `why` says which, in the host's
    words."""

    at: float
    by: Principal | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class SendFailed:
    """Its card will never be sent: the platform refused it for good, or too long. `why` is an
    error's text."""

    at: float
    why: str


@dataclass(frozen=True, slots=True)
class Restarted:
    """The process came up, and the backlog of the platform is taken."""

    now: float


@dataclass(frozen=True, slots=True)
class Applied:
    """The work was told, or there is none left to tell; in the same commit as what follows."""

    at: float


EscalationEvent: TypeAlias = (
    CardSent
    | CardAdopted
    | ReminderSent
    | Answered
    | LaterPressed
    | TimeCame
    | Stopped
    | SendFailed
    | Restarted
    | Applied
)

# What the caller must do about it.


class Trail(StrEnum):
    """What the trail of an escalation records."""

    ASKED = "asked"
    SENT = "sent"
    ADOPTED = "adopted"
    REMINDED = "reminded"
    QUIETED = "quieted"
    ANSWERED = "answered"
    REFUSED = "refused"
    LATE = "late"
    HELD = "held"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    UNDELIVERABLE = "undeliverable"
    APPLIED = "applied"


@dataclass(frozen=True, slots=True)
class SendCard:
    """Send the card, unless its row in the outbox still waits."""


@dataclass(frozen=True, slots=True)
class EditCards:
    """Put the decision into these messages: a card keeps what was asked and loses its buttons, of
    a reminder the decision alone is left. `line` says it."""

    remotes: tuple[RemoteId, ...]
    line: str


@dataclass(frozen=True, slots=True)
class Remind:
    """Reply to the card with the reminder number `number`, counted from 1."""

    number: int


@dataclass(frozen=True, slots=True)
class Resume:
    """Tell the work what became of it, once per escalation however often it is ordered. Without
    `wake` that starts no turn: the session's next one is told."""

    wake: bool = True


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Send `TimeCame` at a wall time; None takes the timer away."""

    due: float | None


@dataclass(frozen=True, slots=True)
class Audit:
    """Add to the trail."""

    what: Trail
    by: Principal | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Reject:
    """Tell one person, privately, that theirs did not count."""

    why: str
    to: Principal


@dataclass(frozen=True, slots=True)
class Confirm:
    """Tell one person that theirs counted."""

    text: str
    to: Principal


EscalationEffect: TypeAlias = (
    SendCard | EditCards | Remind | Resume | SetTimer | Audit | Reject | Confirm
)
