"""What can happen to a goal, and what follows from it: values only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from core.gates.chain import Blocked, Unverified
from core.goals.contract import Budget
from core.messages import Principal, Role, TurnId

# What can happen to a goal.


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalSet:
    """A person set a goal; it replaces any other."""

    id: int
    text: str
    by: Principal
    contract: tuple[tuple[str, str], ...] = ()
    budget: Budget = field(default_factory=Budget)


@dataclass(frozen=True, slots=True)
class GoalPaused:
    """Stop continuing; `line` is what the person reads."""

    line: str


@dataclass(frozen=True, slots=True)
class GoalResumed:
    """Go on, with a fresh turn counter; `idle` as in `GoalWoken`."""

    by: Principal
    idle: bool


@dataclass(frozen=True, slots=True)
class GoalCleared:
    """Drop it for good."""


@dataclass(frozen=True, slots=True)
class BudgetChanged:
    """A limit was changed in place; the counters stay."""

    budget: Budget


@dataclass(frozen=True, slots=True)
class CriteriaChanged:
    """The list of criteria is now this; `heard` is the role of who changed it."""

    criteria: tuple[str, ...]
    heard: Role


@dataclass(frozen=True, slots=True)
class GatesChanged:
    """The commands that must succeed before the judge is asked are now these."""

    gates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PersonSpoke:
    """Someone with this role sent a message into the session."""

    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFinished:
    """A turn of the session ended with an answer, or was cut by a person's interruption.

    `of_goal` is the id of the goal whose turn it was, None for a person's turn. `ruling` is what
    the gates say against the answer.
    """

    turn: TurnId
    of_goal: int | None
    seconds: float
    answer: str = ""
    idle: bool = False
    ruling: Unverified | Blocked | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFailed:
    """A turn ended in an error or at a cap; never judged.

    `revoked` says that it was the goal's own and not worked on: who set the goal may no longer
    use the bot.
    """

    of_goal: int | None
    seconds: float
    reason: str
    revoked: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judge's word; `blocked` wins over `done`. `wait_s` rests the goal that long."""

    done: bool
    reason: str
    blocked: bool = False
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The judge replied with something that is no verdict."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The judge could not be asked: an error, a timeout, an empty reply."""

    reason: str


Word: TypeAlias = Verdict | Unreadable | Unavailable


@dataclass(frozen=True, slots=True)
class TurnStopped:
    """A turn was stopped; /stop has paused the goal, this adds the turn's time."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Judged:
    """The judge answered an open judgement; `now` is wall time, `seconds` how long it took."""

    goal: int
    generation: int
    judgement: TurnId
    word: Word
    now: float
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class WaitAsked:
    """Rest until a wall time, then go on."""

    until: float


@dataclass(frozen=True, slots=True)
class TimerFired:
    """A goal's rest is over."""

    goal: int
    generation: int


@dataclass(frozen=True, slots=True)
class GoalWoken:
    """Its session works again: after a restart, or when its lane came back to it.

    `idle` says that no turn is on its way whose end the goal would hear of.
    """

    idle: bool


GoalEvent: TypeAlias = (
    GoalSet
    | GoalPaused
    | GoalResumed
    | GoalCleared
    | BudgetChanged
    | CriteriaChanged
    | GatesChanged
    | PersonSpoke
    | TurnFinished
    | TurnFailed
    | TurnStopped
    | Judged
    | WaitAsked
    | TimerFired
    | GoalWoken
)

# What the caller must do about it.


@dataclass(frozen=True, slots=True)
class Announce:
    """Say a line in the chat; `card` makes it the goal's status message."""

    text: str
    card: bool = False


@dataclass(frozen=True, slots=True)
class Continue:
    """Queue the next goal turn. `shown` is what a gate has found, as data."""

    number: int
    reason: str
    shown: str = ""


@dataclass(frozen=True, slots=True)
class CancelContinuation:
    """Drop the queued continuation and the kick-off, if any."""


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Send `TimerFired` at a wall time; `None` takes the timer away."""

    due: float | None


GoalEffect: TypeAlias = Announce | Continue | CancelContinuation | SetTimer
