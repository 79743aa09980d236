"""The settings of questions to people: how long they wait, and who else may answer."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from core.escalations.record import LONGEST_S, SHORTEST_S
from gateway.settings.values import Group, Seconds, unique

MOST_REMINDERS = 5


def _reminders(times: tuple[float, ...]) -> tuple[float, ...]:
    if len(times) > MOST_REMINDERS:
        raise ValueError(f"must be at most {MOST_REMINDERS} reminders")
    if any(later <= earlier for earlier, later in pairwise(times)):
        raise ValueError("must ascend: each reminder comes after the one before it")
    return times


Roles = Annotated[tuple[Literal["owner", "member"], ...], AfterValidator(unique)]
Reminders = Annotated[tuple[Seconds, ...], AfterValidator(_reminders)]


class Approvers(Group):
    """Who may answer beside those who always may, by what is asked."""

    ask: Roles = ()
    """The agent's own questions, which owners and the person it works for always may."""
    branch: Roles = ()
    """Decisions in a task's branch table, which owners and the person it works for always may."""
    command: Roles = ()
    """Dangerous commands, which owners always may: `[member]` lets members approve them."""
    permission: Roles = ()
    """What a local agent runner asks leave for, which owners always may."""


class Escalations(Group):
    """Questions to people, in the chat that the work came from."""

    timeout_s: Annotated[float, Field(ge=SHORTEST_S, le=LONGEST_S)] = 86_400
    """How long one waits that names no time of its own. No answer is never a yes."""
    reminders_s: Reminders = (900, 7_200)
    """When people are reminded, counted from the question; at most five times."""
    approvers: Approvers = Approvers()
    """Who else may answer."""
