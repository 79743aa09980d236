"""The card that asks, and the same with its decision: made by the host. Pure.

What others wrote stands in blocks that it cannot leave. The exact text of what is approved is
shown whole or not at all; everything else is cut before that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.escalations import texts, token
from core.escalations.record import (
    CLAIMS,
    EXACT,
    GRACE_S,
    NO_MESSAGE,
    Denied,
    Escalation,
    Fact,
    Kind,
    Label,
    Purpose,
    State,
    Wrote,
)
from core.escalations.shown import block, exact, foreign, holds_fence, line, words
from core.escalations.token import Act
from core.messages import Button, Say
from core.splitting import Room

QUESTION = (1_000, 400, 120)
"""The most characters of the model's words; the next one where the card does not fit."""
LINES = 15
FACT = (300, 120, 60)
OPTION = 100
BUTTON = 30
DIGEST_SHOWN = 8
MULTILINE = frozenset({Label.COMMAND, Label.ARGUMENTS})
HEADS = {
    (Purpose.COMMAND, Kind.APPROVE): "may this command run?",
    (Purpose.PERMISSION, Kind.APPROVE): "may an agent do this?",
}
KIND_HEADS = {
    Kind.APPROVE: "do you approve this?",
    Kind.CHOOSE: "which one?",
    Kind.TEXT: "a question for you",
}

WAYS = {
    Kind.APPROVE: "Press a button, reply to this message with yes or no",
    Kind.CHOOSE: "Press a button, reply to this message with the number",
    Kind.TEXT: "Reply to this message with your answer",
}
"""How a card is answered without a command."""

UNVERIFIED = "In the model's words, which nobody has checked:"
NOT_ASCII = (
    "⚠ It holds characters that are not ASCII; they may look like others. What cannot be seen, or "
    "would hide or move its neighbours, is shown as ⟦U+ and its number⟧."
)


@dataclass(frozen=True, slots=True)
class TooLong:
    """The card would not show all of what is approved, so it must not be asked; `text` tells
    the work that asked what to do."""

    text: str


@dataclass(frozen=True, slots=True)
class _Cuts:
    """How much of what is not exact is shown."""

    question: int
    fact: int


def ask(escalation: Escalation, secret: bytes, now: float, room: Room) -> Say | TooLong:
    """The card, with what is not exact cut as far as it takes to fit one message. `secret` is
    the callback token that the buttons carry."""
    for cuts in map(_Cuts, QUESTION, FACT):
        text = _question(escalation, cuts, now)
        if room.holds(text):
            return Say(text, _markdown(escalation), buttons(escalation, secret))
    return _too_long(escalation, now, room)


def buttons(escalation: Escalation, secret: bytes) -> tuple[Button, ...]:
    """The card's buttons: the answers there are, then Later."""
    later = Button("Later", token.encode(secret, Act.LATER))
    match escalation.kind:
        case Kind.APPROVE:
            return (
                Button("Approve", token.encode(secret, Act.APPROVE)),
                Button("Deny", token.encode(secret, Act.DENY)),
                later,
            )
        case Kind.CHOOSE:
            options = enumerate(escalation.options)
            chosen = (
                Button(f"{at + 1}. {line(option, BUTTON)}", token.encode(secret, at))
                for at, option in options
            )
            return (*chosen, later)
        case Kind.TEXT:
            return (later,)


def decided(escalation: Escalation, room: Room) -> Say:
    """What the card becomes: the decision, and as much of what was asked as fits. No buttons."""
    markdown, head = _markdown(escalation), texts.decision(escalation)
    answer = _answer(escalation, markdown=markdown)
    for cuts in map(_Cuts, QUESTION, FACT):
        text = _joined([head, *answer, *_subject(escalation, cuts)])
        if room.holds(text):
            return Say(text, markdown)
    short = _joined([head, *answer])
    return Say(short if room.holds(short) else head, markdown)


def reminder(escalation: Escalation) -> Say:
    """A reminder, or the decision in its place; the card's own buttons answer, so it has none."""
    remote = escalation.copies[0].remote if escalation.copies else NO_MESSAGE
    text = texts.reminder(escalation) if escalation.live else texts.decision(escalation)
    return Say(text, reply_to=remote)


def _answer(escalation: Escalation, *, markdown: bool) -> list[str]:
    said = _said(escalation)
    if not said:
        return []
    if _own(escalation, said):
        return [f"{said[0].upper()}{said[1:]}."]
    return [block(said, markdown=markdown)]


def _own(escalation: Escalation, said: str) -> bool:
    """Whether these are the host's own words, as of everything that it cancelled. They are plain
    ones, so that nothing else can stand on the card without its block."""
    plain = said.isascii() and said.replace(" ", "").isalpha()
    return escalation.ending is State.CANCELLED and plain


def _said(escalation: Escalation) -> str:
    """What a person, a platform or the host gave with the decision."""
    if escalation.ending is not State.ANSWERED:
        return words(escalation.why, QUESTION[-1], LINES)
    match escalation.answer:
        case Denied(reason):
            return words(reason, QUESTION[0], LINES)
        case Wrote(text):
            return words(text, QUESTION[0], LINES)
        case _:
            return ""


def _markdown(escalation: Escalation) -> bool:
    """Not every platform knows a fence of more than three backticks, and the exact text may not
    be changed: where it holds one, the card goes out as it is written."""
    return not any(holds_fence(fact.text) for fact in escalation.exact)


def _question(escalation: Escalation, cuts: _Cuts, now: float) -> str:
    head = HEADS.get((escalation.purpose, escalation.kind), KIND_HEADS[escalation.kind])
    parts = [f"✋ {escalation.id}: {head}", *_subject(escalation, cuts)]
    if any(foreign(fact.text) for fact in escalation.exact):
        parts.append(NOT_ASCII)
    until = texts.moment(max(escalation.until, now + GRACE_S))
    parts += (
        _what_happens(escalation),
        f"Without an answer until {until}, {texts.no_answer_means(escalation.on_timeout)}.",
        f"May answer: {texts.who_may(escalation)}. {_how(escalation)}",
    )
    return _joined(parts)


def _subject(escalation: Escalation, cuts: _Cuts) -> list[str]:
    """What it is about: what is approved, the host's facts, the models' words, the options."""
    markdown = _markdown(escalation)
    parts: list[str] = []
    for fact in escalation.exact:
        if fact.label in MULTILINE:
            parts += (f"The {fact.label.value}:", block(_whole(fact), markdown=markdown))
    stated = [fact for fact in escalation.facts if fact.label not in MULTILINE]
    if facts := [_labelled(fact, cuts) for fact in stated if fact.label not in CLAIMS]:
        parts.append(block("\n".join(facts), markdown=markdown))
    claims = [_labelled(fact, cuts) for fact in stated if fact.label in CLAIMS]
    question = words(escalation.question, cuts.question, LINES)
    if said := "\n\n".join(filter(None, ("\n".join(claims), question))):
        parts += (UNVERIFIED, block(said, markdown=markdown))
    options = [f"{at}. {line(one, OPTION)}" for at, one in enumerate(escalation.options, 1)]
    if options:
        parts.append(block("\n".join(options), markdown=markdown))
    return parts


def _whole(fact: Fact) -> str:
    return exact(fact.text, lines=fact.label in MULTILINE)


def _labelled(fact: Fact, cuts: _Cuts) -> str:
    text = _whole(fact) if fact.label in EXACT else line(fact.text, cuts.fact)
    return f"{fact.label.value}: {text}"


def _what_happens(escalation: Escalation) -> str:
    shown = f" (digest {escalation.digest[:DIGEST_SHOWN]})" if escalation.digest else ""
    match escalation.kind, escalation.purpose:
        case Kind.APPROVE, Purpose.COMMAND:
            return f"Approve: it runs once, exactly as shown{shown}. Deny: it does not run."
        case Kind.APPROVE, Purpose.PERMISSION:
            return f"Approve: the agent may do exactly this, once{shown}. Deny: it may not."
        case Kind.APPROVE, _:
            return f"Approve: the work goes on with your yes{shown}. Deny: it is told no."
        case Kind.CHOOSE, _:
            return "The work goes on with the option that you choose."
        case _:
            return "The work goes on with your answer."


def _how(escalation: Escalation) -> str:
    return f"{WAYS[escalation.kind]}, or use {texts.how_to(escalation)}."


def _too_long(escalation: Escalation, now: float, room: Room) -> TooLong:
    if not escalation.exact:
        return TooLong(
            "The question and its options do not fit one message of this chat, so nobody was "
            "asked. Use fewer or shorter options."
        )
    emptied = tuple(
        replace(fact, text="") if fact.label in EXACT else fact for fact in escalation.facts
    )
    bare = _question(replace(escalation, facts=emptied), _Cuts(QUESTION[-1], FACT[-1]), now)
    left = max(0, room.limit - room.size(bare))
    long = sum(len(_whole(fact)) for fact in escalation.exact)
    return TooLong(
        f"This needs a person's approval, and what is approved is always shown whole: it takes "
        f"{long} characters, and a card in this chat holds about {left}. Nobody was asked and "
        "nothing was done. Use several shorter steps that can each be shown."
    )


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(parts)
