"""What the work that asked is told, as labelled data. Pure and deterministic.

Declined, unanswered, undeliverable and cancelled are four different things: whoever was refused
must not try again, and whoever was not heard has been refused nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from core.escalations.record import (
    Approved,
    Chose,
    Denied,
    Escalation,
    Kind,
    OnTimeout,
    State,
    Wrote,
)
from core.fence import clip, fenced, one_line

ASKED_BYTES = 600
WHY = 200
NAME = 60


class Outcome(StrEnum):
    """What became of an escalation, for the work that asked."""

    APPROVED = "approved"
    CHOSEN = "chosen"
    WRITTEN = "answered"
    DECLINED = "declined"
    UNANSWERED = "unanswered"
    UNDELIVERABLE = "undeliverable"
    CANCELLED = "cancelled"


def outcome(escalation: Escalation) -> Outcome | None:
    """What became of it, None before it is decided. Only a person's own answer is a yes."""
    match escalation.ending:
        case State.ANSWERED:
            return _answered(escalation)
        case State.EXPIRED:
            return Outcome.UNANSWERED
        case State.UNDELIVERABLE:
            return Outcome.UNDELIVERABLE
        case State.CANCELLED:
            return Outcome.CANCELLED
        case _:
            return None


def _answered(escalation: Escalation) -> Outcome:
    match escalation.answer:
        case Approved():
            return Outcome.APPROVED
        case Chose():
            return Outcome.CHOSEN
        case Wrote():
            return Outcome.WRITTEN
        case _:
            return Outcome.DECLINED


def waiting_for(ids: Sequence[str]) -> str:
    """The result of a call that asked, as long as nothing came of it; at least one id."""
    *others, last = ids
    if not others:
        return f"waiting for {last}; the answer comes as a message"
    return f"waiting for {', '.join(others)} and {last}; the answers come as messages"


def told(escalation: Escalation) -> str:
    """The outcome in words. Between the marks stands what others wrote.

    Raises ValueError before it is decided.
    """
    result = outcome(escalation)
    if result is None:
        raise ValueError(f"{escalation.id} is not decided")
    asked = clip(escalation.question, ASKED_BYTES).strip()
    lines = [f"[Outcome of {escalation.id}: {result.value}]", *_meaning(escalation, result)]
    if asked:
        lines.append(f"What had been asked:\n{fenced(asked)}")
    return "\n".join(lines)


def _meaning(escalation: Escalation, result: Outcome) -> list[str]:
    match result:
        case Outcome.APPROVED:
            by = f"A person approved it: {_decider(escalation)}."
            return [by, "That holds once, and only for exactly what the card showed."]
        case Outcome.CHOSEN | Outcome.WRITTEN:
            return _content(escalation)
        case Outcome.DECLINED:
            return _declined(escalation)
        case Outcome.UNANSWERED:
            return _unanswered(escalation)
        case Outcome.UNDELIVERABLE:
            why = fenced(one_line(escalation.why, WHY), inline=True)
            return [
                f"It could not be shown to anybody: {why}",
                "So nobody has seen it, and nobody has refused it either. Without a yes do not do "
                "it: go on with what can be done without, and say in your answer what is open.",
            ]
        case Outcome.CANCELLED:
            return [
                "It was stopped before anything came of it. Nothing of it was done. Leave it, "
                "unless a person asks for it again."
            ]


def _content(escalation: Escalation) -> list[str]:
    match escalation.answer:
        case Chose(index, option):
            text = f"{_decider(escalation)} chose option {index + 1}:\n{fenced(option)}"
        case Wrote(written):
            text = f"{_decider(escalation)} answered:\n{fenced(written)}"
        case _:
            text = ""
    return [text]


def _declined(escalation: Escalation) -> list[str]:
    reason = escalation.answer.reason if isinstance(escalation.answer, Denied) else ""
    if escalation.kind is Kind.APPROVE:
        lines = [
            f"A person refused it: {_decider(escalation)}. Do not do it, in no other way either, "
            "and do not ask for the same again."
        ]
    else:
        lines = [
            f"A person would not answer it: {_decider(escalation)}. Go on without the answer, and "
            "do not ask the same again."
        ]
    return [*lines, f"Their reason:\n{fenced(reason)}"] if reason else lines


def _unanswered(escalation: Escalation) -> list[str]:
    silent = "Nobody answered in time. That is no consent."
    if escalation.on_timeout is OnTimeout.ABORT:
        return [f"{silent} The work that it was for is ended; say what is done and what is open."]
    return [f"{silent} Take it as refused, and go on with what can be done without it."]


def _decider(escalation: Escalation) -> str:
    decider = escalation.decider
    if decider is None:
        return "a person"
    named = one_line(decider.name, NAME) or f"the person {one_line(decider.id, NAME)}"
    return f"{fenced(named, inline=True)} ({decider.role.value})"
