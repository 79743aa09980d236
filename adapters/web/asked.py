"""A chat's questions to people as the page lists them, as JSON objects. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adapters.web.encode import Asks, Object, button_of
from adapters.web.markdown import clean
from core.escalations.events import Trail
from core.escalations.record import LIVE, State
from core.messages import RemoteId
from core.sessions.conversation import Question, TrailLine
from core.transcript import Json

STATES: Mapping[str, str] = {
    State.PENDING_SEND: "is being shown",
    State.OPEN: "waits for an answer",
    State.ANSWERED: "answered",
    State.EXPIRED: "expired unanswered",
    State.CANCELLED: "cancelled",
    State.UNDELIVERABLE: "could not be shown",
    State.APPLIED: "over",
}
TRAIL: Mapping[str, str] = {
    Trail.ASKED: "asked",
    Trail.SENT: "card shown",
    Trail.ADOPTED: "a copy of the card was found",
    Trail.REMINDED: "reminder sent",
    Trail.QUIETED: "no more reminders",
    Trail.ANSWERED: "answered",
    Trail.REFUSED: "an answer was refused",
    Trail.LATE: "an answer came too late",
    Trail.HELD: "kept open",
    Trail.EXPIRED: "expired unanswered",
    Trail.CANCELLED: "cancelled",
    Trail.UNDELIVERABLE: "could not be shown",
    Trail.APPLIED: "the work was told",
}
"""What people read for what the trail records; anything else is shown as it is."""
_FOR_MACHINES: frozenset[str] = frozenset({Trail.SENT, Trail.ADOPTED, Trail.REMINDED})
"""Their details are message ids and counters."""


def listed(questions: Sequence[Question]) -> list[Json]:
    """The list, in its order."""
    return [_question(question) for question in questions]


def cards(questions: Sequence[Question]) -> Mapping[RemoteId, Asks]:
    """How the messages stand that show cards."""
    return {
        remote: Asks.OPEN if waits(question) else Asks.DECIDED
        for question in questions
        for remote in question.remotes
    }


def waits(question: Question) -> bool:
    """Whether it may still be answered."""
    return question.state in LIVE


def _question(question: Question) -> Object:
    return {
        "id": question.id,
        "text": clean(question.text),
        "how": clean(question.how),
        "waits": waits(question),
        "shown": question.state != State.PENDING_SEND,
        "stands": clean(question.outcome) or STATES[question.state],
        "until": question.until,
        "buttons": [button_of(button) for button in question.buttons],
        "trail": [_trail(line) for line in question.trail],
        "messages": list(question.remotes),
    }


def _trail(line: TrailLine) -> Object:
    return {
        "at": line.at,
        "what": TRAIL.get(line.what, clean(line.what)),
        "who": clean(line.who),
        "detail": "" if line.what in _FOR_MACHINES else clean(line.detail),
    }
