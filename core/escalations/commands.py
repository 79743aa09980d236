"""The arguments of /approve, /deny, /answer and /pending. Pure: it reads, `routing` decides."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_ID = re.compile(r"#?(e?)#?([0-9]{1,9})", re.IGNORECASE | re.ASCII)


class Verb(StrEnum):
    """The commands that answer; the value is the command's name."""

    APPROVE = "approve"
    DENY = "deny"
    ANSWER = "answer"


USAGE = {
    Verb.APPROVE: "Usage: /approve E7. /pending lists what is open.",
    Verb.DENY: "Usage: /deny E7 reason. Without the id when one thing is open.",
    Verb.ANSWER: "Usage: /answer E7 your words, or /answer E7 2 for the second option.",
}
PENDING_USAGE = "Usage: /pending. It takes nothing else."


@dataclass(frozen=True, slots=True)
class Order:
    """An answer by command. `number` is the id that stands in front, None without one, and `rest`
    what follows it. `sure` is false for a bare number, which may be the answer's first word as
    well: `whole` is the argument as it was typed."""

    verb: Verb
    number: int | None
    rest: str
    whole: str
    sure: bool = True


def read(verb: Verb, argument: str) -> Order | str:
    """The order in a command's argument, or what to answer when there is none."""
    whole = argument.strip()
    first, rest = (*whole.split(maxsplit=1), "", "")[:2]
    found = _ID.fullmatch(first)
    if found is None:
        order = Order(verb, None, whole, whole)
    else:
        sure = bool(found[1]) or verb is Verb.APPROVE
        order = Order(verb, int(found[2]), rest.strip(), whole, sure)
    if verb is Verb.APPROVE and order.rest:
        return f"/approve takes an id and nothing else: a yes has no conditions. {USAGE[verb]}"
    if verb is Verb.ANSWER and not (order.rest or (whole and not order.sure)):
        return USAGE[verb]
    return order
