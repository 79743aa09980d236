"""Escalations for tests: one of each kind, with whatever differs."""

from __future__ import annotations

from dataclasses import replace

from core.escalations.events import CardSent
from core.escalations.machine import advance
from core.escalations.record import (
    Escalation,
    Fact,
    Kind,
    Label,
    OnTimeout,
    Purpose,
    approvers_of,
    digest_of,
)
from core.escalations.token import hashed
from core.messages import Address, PlatformName, Principal, RemoteId, Role, SessionId, TurnId

NOW = 1_700_000_000.0
HERE = Address(PlatformName.TELEGRAM, "42", "100", "7")
ANNA = Principal("1", "Anna", Role.OWNER)
BELA = Principal("2", "Bela", Role.MEMBER)
CARL = Principal("3", "Carl", Role.MEMBER)
SECRET = b"0123456789abcdef"
RM = (Fact(Label.COMMAND, "rm -rf /srv/data"), Fact(Label.DIRECTORY, "/work/a"))
COLOURS = ("Red", "Green", "Blue")


def escalation(
    kind: Kind = Kind.APPROVE,
    purpose: Purpose = Purpose.ASK,
    *,
    number: int = 7,
    facts: tuple[Fact, ...] = (),
    on_timeout: OnTimeout = OnTimeout.ABORT,
) -> Escalation:
    """One that Bela's work asked, whose card is not sent yet; it is open for a day."""
    return Escalation(
        number=number,
        kind=kind,
        purpose=purpose,
        question="Shall I deploy?",
        requester=BELA,
        approvers=approvers_of(purpose),
        address=HERE,
        session=SessionId(5),
        turn=TurnId(9),
        tool_call_id="call-1",
        created=NOW,
        expires=NOW + 86_400,
        on_timeout=on_timeout,
        facts=facts,
        options=COLOURS if kind is Kind.CHOOSE else (),
        digest=digest_of(facts),
        tokens=(hashed(secret(number)),),
    )


def secret(number: int) -> bytes:
    """The callback token of the escalation with that number."""
    return SECRET[:-1] + bytes([number])


def command(number: int = 7, facts: tuple[Fact, ...] = RM) -> Escalation:
    """A dangerous command that needs an owner."""
    return escalation(Kind.APPROVE, Purpose.COMMAND, number=number, facts=facts)


def shown(one: Escalation, at: float = NOW) -> Escalation:
    """The same with its card in the chat, as message `card-7`."""
    opened, _ = advance(one, CardSent(RemoteId(f"card-{one.number}"), at))
    return opened


def shorter(one: Escalation, seconds: float) -> Escalation:
    """The same with another time to live."""
    return replace(one, expires=one.created + seconds)
