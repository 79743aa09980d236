"""What comes in, as the store takes it: admitted, and addressed to its lane. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.commands import Invocation
from core.escalations.routing import Push, Words
from core.messages import LaneKey, Principal
from core.sessions.lane import Busy
from core.transcript import Json


@dataclass(frozen=True, slots=True)
class Said:
    """A message's content for the inbox; `more` as in `Message.may_continue`."""

    payload: Mapping[str, Json]
    busy: Busy = Busy.QUEUE
    more: bool = False
    words: Words | None = None
    """It as a possible answer to what a person was asked; None where it can be none."""


@dataclass(frozen=True, slots=True)
class Commanded:
    """A command line; it takes effect in the accept transaction. `sent_at` is the platform's
    time."""

    line: Invocation
    sent_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Pushed:
    """A press on a button of a question's card; it takes effect in the accept transaction."""

    push: Push
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Arrival:
    """An admitted inbound value, addressed to its lane."""

    lane: LaneKey
    dedupe: str
    principal: Principal
    what: Said | Commanded | Pushed


@dataclass(frozen=True, slots=True)
class Relocation:
    """All that belongs to one lane belongs to another key from now on."""

    dedupe: str
    old: LaneKey
    new: LaneKey
