"""What can happen to a branch table's run, and what is then to be done. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from core.branches.report import Checked
from core.branches.run import Case, Final, State, status
from core.branches.table import Condition, Table

# What can happen to it. The numbers are those of the orders.


@dataclass(frozen=True, slots=True)
class Validated:
    """The table can be used."""

    table: Table


@dataclass(frozen=True, slots=True)
class ChildReported:
    """A child called `report_branch`; `report` is the call's JSON text as it came."""

    child: int
    report: str


@dataclass(frozen=True, slots=True)
class ChildFailed:
    """A child ended without a report: an error, no steps left, a plain answer."""

    child: int
    reason: str


@dataclass(frozen=True, slots=True)
class ReportChecked:
    """What its report comes to."""

    child: int
    checked: Checked


@dataclass(frozen=True, slots=True)
class Resolve:
    """An overseer's outcome; `label` is a branch of the table, or "" for none of them."""

    label: str
    summary: str


@dataclass(frozen=True, slots=True)
class Patch:
    """An overseer's conditions to add, each new to the table that it was shown."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class ToHuman:
    """An overseer leaves it to a person, with a question of its own."""

    question: str


@dataclass(frozen=True, slots=True)
class Unusable:
    """A reply of no use, and why: no JSON of the shape, or a patch that may not be."""

    why: str


Word: TypeAlias = Resolve | Patch | ToHuman | Unusable


@dataclass(frozen=True, slots=True)
class OverseerSpoke:
    """An overseer replied."""

    asked: int
    word: Word


@dataclass(frozen=True, slots=True)
class OverseerFailed:
    """It could not be asked: its model is down, slow or refused."""

    asked: int
    reason: str


@dataclass(frozen=True, slots=True)
class Approved:
    """A yes to an approval."""


@dataclass(frozen=True, slots=True)
class Declined:
    """A no, to whatever was asked."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Chose:
    """One of the options."""

    option: str


@dataclass(frozen=True, slots=True)
class Wrote:
    """A text: what is to be done now."""

    text: str


Answer: TypeAlias = Approved | Declined | Chose | Wrote


@dataclass(frozen=True, slots=True)
class HumanAnswered:
    """A person answered; `person` is their name."""

    round: int
    answer: Answer
    person: str


@dataclass(frozen=True, slots=True)
class Expired:
    """Nobody answered in time."""

    round: int


@dataclass(frozen=True, slots=True)
class NotDeliverable:
    """The question reached nobody."""

    round: int
    reason: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """A person stopped it, or its parent ended."""

    reason: str


ChildEvent: TypeAlias = ChildReported | ChildFailed | ReportChecked
OverseerEvent: TypeAlias = OverseerSpoke | OverseerFailed
HumanEvent: TypeAlias = HumanAnswered | Expired | NotDeliverable
Event: TypeAlias = Validated | ChildEvent | OverseerEvent | HumanEvent | Cancelled


# What is to be done. Each has a number by which a repeated order is known.


@dataclass(frozen=True, slots=True)
class Validate:
    """Read the table."""


@dataclass(frozen=True, slots=True)
class RunChild:
    """Start a fresh child on a table, or take it up again; `instruction` is a person's answer."""

    child: int
    table: Table
    instruction: str


@dataclass(frozen=True, slots=True)
class RepairChild:
    """Let the same child mend its report."""

    child: int
    table: Table
    instruction: str
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Hold a report against what the child's calls gave."""

    child: int
    table: Table
    report: str
    repaired: bool


@dataclass(frozen=True, slots=True)
class AskOverseer:
    """Ask a fresh overseer; `table` is the one tried last, `original` the parent's; `instruction`
    is a person's answer."""

    asked: int
    original: Table
    table: Table
    case: Case
    instruction: str
    complaint: str


@dataclass(frozen=True, slots=True)
class AskHuman:
    """Ask a person in the chat that the work came from, as `case.human` says."""

    round: int
    question: str
    case: Case


@dataclass(frozen=True, slots=True)
class Finish:
    """Tell the parent."""

    final: Final


Effect: TypeAlias = (
    Validate | RunChild | RepairChild | CheckReport | AskOverseer | AskHuman | Finish
)


class IllegalTransition(Exception):
    """The event makes no sense in the run's state; the caller has a bug."""

    def __init__(self, state: State, event: Event) -> None:
        super().__init__(f"{type(event).__name__} while {status(state)}")
