"""Whether something may be asked at all, and what holds for all that is. Pure.

An objection is told to the work that asks; nobody else hears of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.escalations import texts
from core.escalations.card import OPTION
from core.escalations.record import (
    LEAST_OPTIONS,
    MAX_OPEN,
    MOST_OPTIONS,
    REMINDERS_S,
    Escalation,
    Kind,
    Purpose,
    digest_of,
)
from core.escalations.shown import line
from core.messages import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What the settings say of questions: how long one waits that names no time of its own, when
    people are reminded (seconds after the card, ascending), and which roles may answer beside
    those of `approvers_of`."""

    timeout_s: float = 86_400.0
    remind_after: tuple[float, ...] = REMINDERS_S
    also: Mapping[Purpose, frozenset[Role]] = field(default_factory=dict)


def objection(escalation: Escalation, live: int) -> str | None:
    """Why this may not be asked, None when it may. `live` counts those of its lane that are not
    decided yet.

    Raises ValueError for a record that contradicts itself, which is its maker's fault.
    """
    if escalation.digest != digest_of(escalation.facts):
        raise ValueError("the digest is not that of the facts")
    dangerous = escalation.purpose in {Purpose.COMMAND, Purpose.PERMISSION}
    if dangerous and not escalation.exact:
        raise ValueError("an approval of nothing")
    if live >= MAX_OPEN:
        return texts.too_many()
    if not escalation.exact and not line(escalation.question, OPTION):
        return "There is no question in this. Say in plain words what you need to know."
    return _options(escalation)


def _options(escalation: Escalation) -> str | None:
    options = escalation.options
    if escalation.kind is not Kind.CHOOSE:
        return "Options go with the kind `choose` only." if options else None
    if not LEAST_OPTIONS <= len(options) <= MOST_OPTIONS:
        return f"A choice needs {LEAST_OPTIONS} to {MOST_OPTIONS} options, not {len(options)}."
    shown = [line(option, OPTION + 1) for option in options]
    for number, option in enumerate(shown, 1):
        if not option:
            return f"Option {number} is empty. Each option is a short text."
        if len(option) > OPTION:
            return f"Option {number} is over {OPTION} characters. Put the details in the question."
    if len({option.casefold() for option in shown}) < len(shown):
        return "Two options read alike. Make them differ in their words."
    return None
