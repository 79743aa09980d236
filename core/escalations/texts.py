"""What people read about an escalation beside its card, word for word. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from core.escalations.record import (
    MAX_OPEN,
    Approved,
    Chose,
    Denied,
    Escalation,
    Kind,
    OnTimeout,
    Purpose,
    State,
    Wrote,
)
from core.escalations.shown import line, name
from core.messages import Role

LAST_SECOND = 253_402_300_799.0
WHY = 200
BRIEF = 80

UNKNOWN_BUTTON = "This button has expired: what it asked is over. /pending lists what is open."
ELSEWHERE = "This button counts only on its own message, in the chat where it was asked."
NOTHING_OPEN = "Nothing is waiting for an answer here."
REASONS = {
    Purpose.COMMAND: "a command needs approval",
    Purpose.PERMISSION: "an agent asks for permission",
    Purpose.BRANCH: "a task needs a decision",
    Purpose.ASK: "a question",
}


def moment(at: float) -> str:
    """A wall time for people, the same in every chat."""
    then = datetime.fromtimestamp(min(max(at, 0.0), LAST_SECOND), UTC)
    return then.strftime("%Y-%m-%d %H:%M UTC")


def decision(escalation: Escalation) -> str:
    """One line: what became of it, by whom, when. Nothing in it is another's words but the
    letters of a name."""
    head, when = escalation.id, moment(escalation.decided or 0.0)
    match escalation.ending:
        case State.ANSWERED:
            return f"{_mark(escalation)} {head} {_verb(escalation)}, {when}"
        case State.EXPIRED:
            return (
                f"⌛ {head} expired unanswered, {when}: {no_answer_means(escalation.on_timeout)}"
            )
        case State.CANCELLED:
            before = f" ({_verb(escalation)} before, nothing of it was done)"
            return f"⏹ {head} cancelled, {when}{before if escalation.answer else ''}"
        case State.UNDELIVERABLE:
            return f"⚠ {head} could not be shown here, {when}"
        case _:
            return f"✋ {head} waits for an answer"


def _mark(escalation: Escalation) -> str:
    return "✗" if isinstance(escalation.answer, Denied) else "✓"


def _verb(escalation: Escalation) -> str:
    by = name(escalation.decider) if escalation.decider else "nobody"
    match escalation.answer:
        case Approved():
            return f"approved by {by}"
        case Denied() if escalation.kind is Kind.APPROVE:
            return f"denied by {by}"
        case Denied():
            return f"declined by {by}"
        case Chose(index):
            return f"answered by {by} with option {index + 1}"
        case Wrote():
            return f"answered by {by}"
        case None:
            return "unanswered"


def no_answer_means(on_timeout: OnTimeout) -> str:
    """What comes of it when nobody answers."""
    if on_timeout is OnTimeout.DENY:
        return "that counts as refused, and the work goes on without it"
    return "the work that asked is ended"


def late(escalation: Escalation) -> str:
    """The answer to who comes too late: who decided, or what else became of it."""
    return f"Too late, this changed nothing. {decision(escalation)}"


def not_shown_yet(escalation: Escalation) -> str:
    """The answer to an answer to something that nobody can have seen."""
    return f"{escalation.id} has not been shown yet. Wait for its card, then answer that."


def who_may(escalation: Escalation) -> str:
    """Who may answer, in words."""
    groups = [f"{role.value}s" for role in Role if role in escalation.approvers.roles]
    own = [name(escalation.requester)] if escalation.approvers.requester else []
    return " or ".join([*own, *groups]) or "nobody"


def not_yours(escalation: Escalation) -> str:
    """The refusal for who may not answer."""
    return f"You may not answer {escalation.id}. May answer: {who_may(escalation)}."


def taken(escalation: Escalation) -> str:
    """The confirmation for who answered."""
    return decision(escalation)


def quieted(escalation: Escalation) -> str:
    """The confirmation of Later."""
    return f"{escalation.id} stays open until {moment(escalation.until)}, without reminders."


def echo(escalation: Escalation, text: str) -> str:
    """What a person is told whose plain message was taken as the answer."""
    return f"Taken as your answer to {escalation.id}: {line(text, WHY)}"


def reminder(escalation: Escalation) -> str:
    """A reminder, as a reply to the card."""
    return (
        f"⏰ {escalation.id} still waits: {REASONS[escalation.purpose]}. "
        f"Until {moment(escalation.until)}; then {no_answer_means(escalation.on_timeout)}. "
        "/pending shows it."
    )


def how_to(escalation: Escalation) -> str:
    """How to answer this one by a command."""
    match escalation.kind:
        case Kind.APPROVE:
            return f"/approve {escalation.id}, or /deny {escalation.id} reason"
        case Kind.CHOOSE:
            return f"/answer {escalation.id} with an option's number behind it"
        case Kind.TEXT:
            return f"/answer {escalation.id} with your words behind it"


def say_how(escalation: Escalation) -> str:
    """The refusal of an order that does not fit."""
    return f"This was not taken. {escalation.id} takes {how_to(escalation)}."


def still_open(escalations: Sequence[Escalation]) -> str:
    """What a person is told whose message may have been meant as an answer and was taken as none;
    at least one question."""
    *others, last = escalations
    if others:
        named = f"{', '.join(one.id for one in others)} and {last.id}"
        return f"{named} are still open: this was not taken as an answer. /pending lists them."
    return (
        f"{last.id} is still open: this was not taken as its answer. "
        f"To answer it, use {how_to(last)}."
    )


def say_which(escalations: Sequence[Escalation]) -> str:
    """The refusal of an answer that could be to several."""
    count = len(escalations)
    head = f"{count} questions are open here, so this was taken as an answer to none. Say which:"
    return "\n".join([head, *(_entry(one) for one in escalations)])


def pending(escalations: Sequence[Escalation]) -> str:
    """The answer to /pending."""
    waiting = [one for one in escalations if one.live]
    if not waiting:
        return NOTHING_OPEN
    return "\n".join(["Waiting for an answer here:", *(_entry(one) for one in waiting)])


def _entry(one: Escalation) -> str:
    what = one.exact[0].text if one.exact else one.question
    state = "" if one.state is State.OPEN else " (not shown yet)"
    options = [f"{at}. {line(option, BRIEF)}" for at, option in enumerate(one.options, 1)]
    return (
        f"· {one.id}{state}, {REASONS[one.purpose]}: {line(what, BRIEF)}\n"
        + (f"  {'; '.join(options)}\n" if options else "")
        + f"  {how_to(one)}. Until {moment(one.until)}. May answer: {who_may(one)}."
    )


def unknown_id(number: int, live: Sequence[Escalation]) -> str:
    """The answer to an id that is none here."""
    if not live:
        return f"There is no E{number} here. {NOTHING_OPEN}"
    return f"There is no E{number} here. Open: {', '.join(one.id for one in live)}."


def too_many() -> str:
    """What the asking work is told when the lane's questions are used up."""
    return (
        f"{MAX_OPEN} questions wait for a person in this chat already, so this one was not asked. "
        "Go on without it, or end your turn until one is answered."
    )
