"""A goal and the slot of the session it stands in: values only."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from core.gates.chain import Blocked, Unverified
from core.goals.contract import Budget
from core.messages import Principal, Role, TurnId, lowest


class GoalStatus(StrEnum):
    """Where a goal stands; the value is what people and the store see."""

    ACTIVE = "active"
    PAUSED = "paused"
    BLOCKED = "blocked"
    DONE = "done"
    CLEARED = "cleared"


@dataclass(frozen=True, slots=True)
class Judgement:
    """An open question to the judge about the turns since its last word.

    `id` is the newest of `turns`. `answer` is a digest of that turn's answer and `idle` is true
    when none of the turns called a tool; both feed the stall guard. `ruling` is what the gates
    say against the newest turn's answer.
    """

    id: TurnId
    turns: tuple[TurnId, ...]
    of_goal: bool
    answer: str = ""
    idle: bool = False
    ruling: Unverified | Blocked | None = None

    @property
    def settled(self) -> bool:
        """Whether the gates have given the verdict: a rejected answer needs no judge."""
        match self.ruling:
            case Unverified(unavailable=unavailable):
                return not unavailable
            case Blocked():
                return True
            case None:
                return False


@dataclass(frozen=True, slots=True)
class Stall:
    """How many goal turns in a row ended alike, without any tool call."""

    answer: str = ""
    reason: str = ""
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A standing objective of one session. Tokens and cost are usage rows, not kept here."""

    id: int
    text: str
    setter: Principal
    """Whose rights its turns have, at most; with the role that they had when they set it."""
    floor: Role
    """The lowest role heard in the session since the goal was set or resumed."""
    orphaned: bool = False
    """Whether its setter might no longer use the bot when its last turn came due."""
    contract: tuple[tuple[str, str], ...] = ()
    criteria: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    """Commands that must succeed before the judge is asked."""
    status: GoalStatus = GoalStatus.ACTIVE
    budget: Budget = field(default_factory=Budget)
    turns: int = 0
    """Goal turns used since it was set or resumed; a person's turns do not count."""
    continuations: int = 0
    """Continuations ever issued; with id and generation it names them apart."""
    seconds: float = 0.0
    """Worked by turns, summed from monotonic time."""
    reason: str = ""
    judgement: Judgement | None = None
    wait_until: float | None = None
    unreadable: int = 0
    """The judge's replies in a row that were no verdict."""
    failed: int = 0
    """The judge's calls in a row that failed; a call of either kind ends the row of the other."""
    unlooked: int = 0
    """The turns in a row whose gates could not look."""
    stall: Stall = Stall()

    @property
    def rights(self) -> Principal:
        """Whom the goal's turns act for: its setter, lowered to the lowest role heard since."""
        role = lowest(self.setter.role, self.floor)
        return Principal(self.setter.id, self.setter.name, role)

    def may_be_resumed_by(self, person: Principal) -> bool:
        """Whether this person may take it up: of a setter who was let out, only an owner may."""
        own = person.id == self.setter.id
        return not self.orphaned or own or person.role is Role.OWNER


@dataclass(frozen=True, slots=True)
class Slot:
    """A session's place for a goal; `generation` never goes back."""

    generation: int = 0
    goal: Goal | None = None

    @property
    def active(self) -> Goal | None:
        """The goal while it is active."""
        return self.goal if self.goal and self.goal.status is GoalStatus.ACTIVE else None
