"""A branch table's run: where it stands, and what it came to. Values only."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias, assert_never

from core.branches.report import Quote
from core.branches.table import Human, Table
from core.fence import one_line

EVIDENCE_TOLD = 3
REASON_CHARS = 600


class Status(StrEnum):
    """Where a run stands, in a word."""

    VALIDATING = "validating"
    RUNNING = "running"
    CHECKING = "checking"
    OVERSEER = "overseer"
    WAITING_HUMAN = "waiting_human"
    RESOLVED = "resolved"
    DECLINED = "declined"
    UNANSWERED = "unanswered"
    UNDELIVERABLE = "undeliverable"
    CANCELLED = "cancelled"


class DecidedBy(StrEnum):
    """Whose word a run ended with."""

    CHILD = "child"
    OVERSEER = "overseer"
    HUMAN = "human"
    HOST = "host"
    """Nobody's: a limit, a stop, an expiry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is handed up: the branch that asks for it ("" where the child came to none) and its
    condition, what the child found, and `why` it is handed up. `question` is the table's prompt,
    filled in; `human` is how a person is asked, should it get there."""

    why: str
    label: str = ""
    condition: str = ""
    expected: str = ""
    observed: str = ""
    tried: tuple[str, ...] = ()
    quotes: tuple[Quote, ...] = ()
    question: str = ""
    human: Human = field(default_factory=Human)


@dataclass(frozen=True, slots=True, kw_only=True)
class Final:
    """All that the parent sees. `outcome` is one of the ends. `reason` says why where it is not
    resolved; `person` is who decided, "" when no person did. `aborts` is true when nobody answered
    and the table wants the parent's work ended too."""

    outcome: Status
    summary: str = ""
    branch: str = ""
    quotes: tuple[Quote, ...] = ()
    decided_by: DecidedBy = DecidedBy.HOST
    person: str = ""
    escalations: int = 0
    reason: str = ""
    aborts: bool = False


@dataclass(frozen=True, slots=True)
class Validating:
    """The table is not read yet."""

    goal: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """A child works; `faults` are those of its first report, none where it has made none yet."""

    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Checking:
    """Its report is held against what its calls gave; `report` is the call's JSON text."""

    report: str
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class Overseeing:
    """An overseer is asked; `complaint` is what was wrong with the last reply, "" at first."""

    case: Case
    complaint: str = ""


@dataclass(frozen=True, slots=True)
class WaitingHuman:
    """A person is asked."""

    case: Case
    question: str


Phase: TypeAlias = Running | Checking | Overseeing | WaitingHuman


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run under way. `original` is the parent's table, `table` the same with what overseers
    added, `seen` the fingerprints of all tables tried. `instruction` is what a person wrote last,
    "" before: all children after it are told.

    The counters only grow, and each numbers what it counts, so that what comes late is known:
    `children` started, `overseers` called in, their `bad_words` (replies of no use), and `rounds`
    of asking a person.
    """

    goal: str
    original: Table
    table: Table
    phase: Phase
    seen: tuple[str, ...] = ()
    instruction: str = ""
    children: int = 1
    overseers: int = 0
    bad_words: int = 0
    rounds: int = 0

    @property
    def asked(self) -> int:
        """The number of the question to an overseer: a reply of no use is asked for anew."""
        return self.overseers + self.bad_words

    @property
    def escalations(self) -> int:
        """How often somebody else was called in."""
        return self.overseers + self.rounds


@dataclass(frozen=True, slots=True)
class Ended:
    """It is over."""

    final: Final


State: TypeAlias = Validating | Run | Ended


def status(state: State) -> Status:
    """Where a run stands."""
    match state:
        case Validating():
            return Status.VALIDATING
        case Ended(final):
            return final.outcome
        case Run(phase=Running()):
            return Status.RUNNING
        case Run(phase=Checking()):
            return Status.CHECKING
        case Run(phase=Overseeing()):
            return Status.OVERSEER
        case Run():
            return Status.WAITING_HUMAN
        case _:
            assert_never(state)


def end(run: Run, outcome: Status, *, reason: str, case: Case | None = None) -> Ended:
    """An end that nobody decided."""
    return finish(
        run,
        Final(
            outcome=outcome,
            reason=one_line(reason, REASON_CHARS),
            summary=case.observed if case else "",
            branch=case.label if case else "",
            quotes=case.quotes if case else (),
        ),
    )


def finish(run: Run, final: Final) -> Ended:
    """The end of a run, with its count of escalations."""
    return Ended(replace(final, escalations=run.escalations))
