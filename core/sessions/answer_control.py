"""What `/approve`, `/deny`, `/answer` and `/pending` do. Pure; see `core.sessions.control`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from core.escalations import routing, texts
from core.escalations.commands import PENDING_USAGE, Verb, read
from core.sessions.facts import Facts, Order
from core.sessions.lane import Change, Decide, Lane, Post


def list_pending(lane: Lane, order: Order, facts: Facts) -> Change:
    """Tell what waits for an answer here."""
    text = PENDING_USAGE if order.line.argument else texts.pending(facts.scene().escalations)
    return lane, (Post(text),)


def answer(lane: Lane, order: Order, facts: Facts) -> Change:
    """Take an answer. Who may give it is the question's own matter."""
    wanted = read(Verb(order.line.name), order.line.argument)
    if isinstance(wanted, str):
        return lane, (Post(wanted),)
    found = routing.command(wanted, order.by, facts.scene(), order.sent_at)
    return lane, (Decide(found, order.by),)


ANSWERS: Mapping[str, Callable[[Lane, Order, Facts], Change]] = {
    "pending": list_pending,
    **{verb.value: answer for verb in Verb},
}
"""The commands of this module by name."""
