"""One chat's lane: its phase, the rows that wait in it, and the goal of its current session.

Values only. A lane's key is its address; the rows are the heads of inbox rows, without their
payloads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from itertools import takewhile
from typing import TypeAlias

from core.escalations.routing import Resolution
from core.gates.chain import Blocked, Unverified
from core.goals.events import Judged, TimerFired, TurnFailed, TurnFinished
from core.goals.goal import Slot
from core.messages import Button, LaneKey, Principal, SessionId, TurnId
from core.pairing import Admit, Expel, Mistry
from core.transcript import Json

MAX_WAITING = 100
"""People's messages that a lane holds; the next one is refused in words."""


class RowKind(StrEnum):
    """What an inbox row asks for."""

    MESSAGE = "message"
    KICKOFF = "kickoff"
    """A goal's first turn."""
    CONTINUATION = "continuation"
    SWITCH = "switch"
    """`/new` or `/resume`, in the order they came."""
    DRAFT = "draft"
    """`/goal draft`: a turn of the drafting model, outside the session's transcript."""
    ANSWER = "answer"
    """What a person was asked is decided: the work that asked goes on."""
    CONTROL = "control"
    """A command that took effect when it was accepted; never waits."""


class Prio(IntEnum):
    """The order in which waiting rows begin; within one priority they go by seq."""

    PERSON = 0
    ANSWER = 5
    CONTINUATION = 10


class Busy(StrEnum):
    """What a person's message does to a running turn."""

    QUEUE = "queue"
    STEER = "steer"
    INTERRUPT = "interrupt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The head of a ready inbox row.

    `not_before` is wall time. `more` marks a text of the platform's full length, whose rest may
    follow. `target` is the session that a SWITCH goes to, None for a new one, or that an ANSWER
    belongs to, whose asking turn is `of`. `goal` and `generation` tie a kick-off or continuation
    to the goal that asked for it; an answer, with its goal alone, outlives a pause. `held` is an
    answer for another session whose goal is not active.
    """

    seq: int
    kind: RowKind
    prio: Prio
    principal: Principal
    not_before: float = 0.0
    more: bool = False
    steer: bool = False
    target: SessionId | None = None
    goal: int | None = None
    generation: int | None = None
    of: TurnId | None = None
    held: bool = False

    @property
    def order(self) -> tuple[int, int]:
        """What rows of a lane begin by."""
        return self.prio, self.seq


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A begun turn: the rows claimed to it, and the rights it runs under.

    `attempt` is the fence: it grows each time the turn is taken up again. `tries` counts the
    attempts since its last new step. `goal` is set for a goal's own turn.
    """

    id: TurnId
    session: SessionId
    kind: RowKind
    principal: Principal
    rows: tuple[int, ...]
    attempt: int = 1
    tries: int = 1
    goal: int | None = None


class Cut(StrEnum):
    """Why a running turn is to end early."""

    STOPPED = "stopped"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Idle:
    """No turn is begun."""


@dataclass(frozen=True, slots=True)
class Running:
    """A turn is begun and not ended, here or in a process that died."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class Stopping:
    """The turn was told to end; the lane waits until its processes are gone."""

    turn: Turn
    why: Cut


Phase: TypeAlias = Idle | Running | Stopping


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """All that decides what a lane does next; `waiting` is in the order of (prio, seq).

    `parked` is the session's turn that waits for a person, with nothing after it in the
    transcript. `asking` says that a question of the session is open, of that turn or of one that
    was set aside since: then nothing of its goal runs.
    """

    key: LaneKey
    session: SessionId
    phase: Phase = field(default_factory=Idle)
    stop_seq: int = 0
    waiting: tuple[Row, ...] = ()
    slot: Slot = field(default_factory=Slot)
    parked: Turn | None = None
    asking: bool = False

    @property
    def people(self) -> tuple[Row, ...]:
        """The waiting rows that a person asked for."""
        return tuple(row for row in self.waiting if row.prio is Prio.PERSON)

    def joined_by(self, row: Row) -> Lane:
        """The lane with one more row waiting in its place. Named field by field, as this is done
        for each message that comes in: `replace` takes four times as long."""
        ahead = [waiting for waiting in self.waiting if waiting.order < row.order]
        return Lane(
            key=self.key,
            session=self.session,
            phase=self.phase,
            stop_seq=self.stop_seq,
            waiting=(*ahead, row, *self.waiting[len(ahead) :]),
            slot=self.slot,
            parked=self.parked,
            asking=self.asking,
        )

    @property
    def messages(self) -> int:
        """How many messages wait: of all rows, only these are what a person calls one."""
        return sum(row.kind is RowKind.MESSAGE for row in self.waiting)

    @property
    def reports(self) -> bool:
        """Whether a turn runs, or waits in this session, whose end its goal will hear of."""
        if self.parked is not None or self.asking:
            return True
        match self.phase:
            case Running(turn) | Stopping(turn, Cut.INTERRUPTED) if turn.kind is not RowKind.DRAFT:
                if turn.session == self.session:
                    return True
        ahead = takewhile(lambda row: row.kind is not RowKind.SWITCH, self.waiting)
        return any(self._reports(row) for row in ahead)

    def _reports(self, row: Row) -> bool:
        elsewhere = row.kind is RowKind.ANSWER and row.target != self.session
        return row.kind is not RowKind.DRAFT and not elsewhere

    @property
    def idle(self) -> bool:
        """No begun turn and no waiting message; an open verdict does not count."""
        return isinstance(self.phase, Idle) and not self.people


# What can happen to a lane.


@dataclass(frozen=True, slots=True)
class Spoke:
    """A person's message was stored as `row`; it meets a running turn as `busy` says."""

    row: Row
    busy: Busy


@dataclass(frozen=True, slots=True)
class WorkerReady:
    """Nothing runs this lane in this process; `turn` is the id a new turn would get.

    `collect` merges waiting messages of one role into one turn.
    """

    turn: TurnId
    now: float
    collect: bool = False


class Outcome(StrEnum):
    """How a turn left its lane."""

    ANSWERED = "answered"
    FAILED = "failed"
    CAPPED = "capped"
    """A cap of the session's goal does not cover its next model call."""
    REVOKED = "revoked"
    """A goal's turn was not worked on: who set the goal may no longer use the bot."""
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    PARKED = "parked"
    """It waits for a person's answer, and goes on then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    """The shell is done with a turn; `reason` says why it failed, for the person.

    `answer` is a digest of the answer, `idle` says that no tool was called, `ruling` is what the
    gates say against the answer.
    """

    turn: TurnId
    attempt: int
    outcome: Outcome
    seconds: float
    answer: str = ""
    idle: bool = False
    reason: str = ""
    ruling: Unverified | Blocked | None = None


@dataclass(frozen=True, slots=True)
class SessionEntered:
    """The lane works in its session again: after a restart, or by `/resume`."""


LaneEvent: TypeAlias = Spoke | WorkerReady | TurnEnded | SessionEntered | Judged | TimerFired

# What the shell must do about it. The store carries out the first group in the same commit and
# hands the second back, to be done after it.


@dataclass(frozen=True, slots=True)
class Post:
    """Say a text in the lane's chat; `card` makes it the goal's status message."""

    text: str
    card: bool = False
    buttons: tuple[Button, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Enqueue:
    """Add an inbox row."""

    kind: RowKind
    prio: Prio
    principal: Principal
    dedupe: str
    payload: Mapping[str, Json]
    target: SessionId | None = None
    goal: int | None = None
    generation: int | None = None
    steer: bool = False


@dataclass(frozen=True, slots=True)
class Drop:
    """Take waiting rows out unanswered."""

    seqs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Begin:
    """Begin this turn, or take it up again when its attempt is above 1."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class Finish:
    """Close a turn's books: its rows are done."""

    turn: Turn
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Done:
    """Mark waiting rows as done: what they asked for happens now."""

    seqs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Park:
    """Keep a turn with its steps until a person has answered; its rows are done."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class SetAside:
    """Close a parked turn's part of the transcript: each open call says what it waits for. The
    calls are kept, and go on in a turn of their own."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class Report:
    """Tell the goal of a session that is not the lane's any more of the end of a turn of its: it
    counts there, and is judged when somebody goes back to it."""

    session: SessionId
    ended: TurnFinished | TurnFailed


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Cancel all that the lane's turns asked and were not told yet, or with `goal` those of that
    goal's; parked turns and calls that wait end with it. `why` is in the host's words."""

    why: str
    by: Principal | None = None
    goal: int | None = None


@dataclass(frozen=True, slots=True)
class Decide:
    """Take what a command was found to mean for a question, and tell who gave it."""

    found: Resolution
    by: Principal


@dataclass(frozen=True, slots=True)
class SwitchSession:
    """Make another session current, None for a new one, and mark the asking row done."""

    row: int
    target: SessionId | None


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing can begin; look again at a wall time, or when something arrives."""

    until: float | None


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Keep a timer for the goal of the current session; None takes it away."""

    due: float | None


@dataclass(frozen=True, slots=True)
class Remember:
    """Keep a small value by key; an empty one forgets it."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class CancelTurn:
    """Signal: end the running turn's work now."""

    turn: TurnId


@dataclass(frozen=True, slots=True)
class Wake:
    """Signal: the lane has something to begin."""


@dataclass(frozen=True, slots=True)
class CallJudge:
    """Signal: the goal's open judgement may be asked now."""


LaneEffect: TypeAlias = (
    Post
    | Enqueue
    | Drop
    | Begin
    | Finish
    | Done
    | Park
    | SetAside
    | Report
    | Withdraw
    | Decide
    | SwitchSession
    | Rest
    | WakeAt
    | Remember
    | Admit
    | Expel
    | Mistry
    | CancelTurn
    | Wake
    | CallJudge
)
Change: TypeAlias = tuple[Lane, tuple[LaneEffect, ...]]
