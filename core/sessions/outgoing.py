"""What goes out, as the store hands it to the delivery. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from core.goals.goal import Goal
from core.messages import LaneKey, Outbound, RemoteId, Say, TurnId
from core.sessions.facts import Spent


@dataclass(frozen=True, slots=True)
class CardFacts:
    """A goal's status message: where it was sent as, its first line, and how the goal stands.

    `repeated` says that it was sent more than once, so that another copy may stand in the chat.
    """

    remote: RemoteId
    first_line: str
    goal: Goal
    spent: Spent
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Amend:
    """What was sent as `remote` reads so from now on."""

    remote: RemoteId
    say: Say


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """The head of a lane's outbox, marked as being sent.

    `doubtful` says that an earlier try may have arrived. `card` marks the goal's status
    message, `turn` the turn whose answer it is. `first_try` is wall time.
    """

    id: int
    lane: LaneKey
    what: Outbound | Amend
    attempts: int
    doubtful: bool
    first_try: float
    turn: TurnId | None = None
    card: bool = False
    last_part: bool = True
