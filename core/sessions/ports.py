"""The two durable ports: `Store` keeps everything, `Dispatcher` gives lanes to workers.

A later back end implements both on another engine; one contract suite holds them alike, and
docs/adr/0009 says what it must keep where several processes write. Every
method that writes is one transaction, committed when it returns, and then safe from a power cut
too, but for `begin`, `end_turn`, `keep_prefix`, `sent`, `settle` and a `record` that starts no
tool; of a `ChildStore`, but for `keep_child` and a `record_child` that starts none. What follows
from those leaves nothing behind outside before a later write is safe, and a write that is safe
has made all earlier ones so.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from core.agent.steps import Step, StepWrite
from core.escalations.desk import Asked
from core.escalations.record import Escalation
from core.gates.chain import Blocked, Unverified
from core.gates.wanted import NO_GATES, Wanted
from core.goals.contract import SetGoal
from core.goals.events import Word
from core.goals.goal import Goal
from core.messages import (
    Ack,
    LaneKey,
    Outbound,
    PlatformName,
    Principal,
    SessionId,
    TurnId,
)
from core.ports import Sent, Usage
from core.sessions.arrivals import Arrival, Relocation
from core.sessions.conversation import ChatFact, Conversation, Place
from core.sessions.lane import Outcome, Rest, Turn
from core.sessions.outgoing import CardFacts, Outgoing
from core.transcript import Entry, Json, Receipt, ToolCall, User


@dataclass(frozen=True, slots=True)
class Signals:
    """What to do after a commit, for lanes by key; losing them costs time, never work."""

    wake: frozenset[LaneKey] = frozenset()
    cancel: tuple[tuple[LaneKey, TurnId], ...] = ()
    judge: frozenset[LaneKey] = frozenset()
    deliver: frozenset[LaneKey] = frozenset()
    cards: frozenset[LaneKey] = frozenset()
    """Lanes whose goal changed, so that its status message is to be brought up to date."""
    timers: bool = False
    """A timer was set or taken away."""
    ended: frozenset[TurnRef] = frozenset()
    """Parked turns that end: what their calls left running is to be ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A turn to work on, with all that was stored of earlier attempts at it.

    `goal` is the session's goal while it is active; `prefix` is the session's stored system
    prompt and tools, "" before its first turn; `sources` are the platform ids of the messages
    that the turn answers; `payloads` the rows' contents (attachments to fetch among them).
    """

    turn: Turn
    inputs: tuple[User, ...]
    payloads: tuple[Mapping[str, Json], ...]
    steps: tuple[Step, ...] = ()
    goal: Goal | None = None
    prefix: str = ""
    counted: int = 0
    """The provider's last count of the session's tokens, 0 when unknown."""
    bound: bool = False
    """Whether the session has a goal that is not over: its caps may hold for this turn."""
    asked: frozenset[str] = frozenset()
    """The keys of what the turn has asked people, see `core.escalations.desk.Asked`."""
    call: ToolCall | None = None
    """Of an ANSWER turn: the call that goes on."""


@dataclass(frozen=True, slots=True)
class Steered:
    """A message that waits to be read by the running turn at its next step."""

    seq: int
    message: User


@dataclass(frozen=True, slots=True)
class TurnRef:
    """The fence of a running turn: writes of an older attempt are refused."""

    lane: LaneKey
    turn: TurnId
    attempt: int


@dataclass(frozen=True, slots=True)
class ReceiptOf:
    """A tool call and its receipt, as the judge is shown them; `result` is the text's end."""

    tool: str
    arguments: str
    receipt: Receipt
    result: str = ""


@dataclass(frozen=True, slots=True)
class CallUsage:
    """What one model call of a turn used; `purpose` as in `UsageOf`, "agent" for its own."""

    model: str
    usage: Usage
    purpose: str = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How the shell leaves a turn. `answer` is the model's whole text, `posts` the same cut for
    the platform, with its buttons; both are dropped when the turn was stopped meanwhile.

    `spent` are the calls that were not reserved and that no `record` has kept; `counted` is the
    provider's count of the session's tokens, 0 to keep the last one. `ruling` is what the gates
    say against the answer; where they say nothing, `checked` are those that have looked at it.
    """

    outcome: Outcome
    seconds: float
    answer: str = ""
    posts: tuple[Outbound, ...] = ()
    receipts: tuple[ReceiptOf, ...] = ()
    reason: str = ""
    spent: tuple[CallUsage, ...] = ()
    counted: int = 0
    draft: SetGoal | None = None
    ruling: Unverified | Blocked | None = None
    checked: Wanted = NO_GATES


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenJudgement:
    """All that the judge is shown: the goal, the last answer, and what the turns really did."""

    goal: Goal
    generation: int
    session: SessionId
    id: TurnId
    answer: str
    receipts: tuple[ReceiptOf, ...]


@dataclass(frozen=True, slots=True)
class Timer:
    """A goal's rest that ends at `due`, in wall time."""

    lane: LaneKey
    goal: int
    generation: int
    due: float


@dataclass(frozen=True, slots=True)
class Due:
    """A question's next reminder or its expiry comes at `due`, in wall time; `escalation` is the
    store's own number of it."""

    escalation: int
    due: float


@dataclass(frozen=True, slots=True)
class Unfinished:
    """What a start finds: lanes with something to run, to send, or to wait for."""

    lanes: frozenset[LaneKey] = frozenset()
    outbox: frozenset[LaneKey] = frozenset()
    goals: frozenset[LaneKey] = frozenset()
    """Lanes whose current session has an active goal."""


GOAL_JUDGE = "goal_judge"
"""The purpose under which the judge's calls are booked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageOf:
    """Tokens spent by a call outside a turn's own steps; `purpose` is goal_judge and so on.

    `reservation` is what the call was booked under before, `seconds` how long it took.
    """

    session: SessionId
    goal: int | None
    purpose: str
    model: str
    usage: Usage
    reservation: int | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """The most that a call may use: tokens in and out, and their price in US dollars.

    `cost` is None where no price is known, which a cap on cost does not cover. `output` says how
    many of the tokens come out.
    """

    tokens: int
    cost: float | None
    output: int = 0


@dataclass(frozen=True, slots=True)
class Reserved:
    """A budget covers the call; settle it under this id."""

    id: int


@dataclass(frozen=True, slots=True)
class CapReached:
    """A budget does not cover the call; `reason` names the cap and how to raise it."""

    reason: str


class Caps(Protocol):
    """What holds model calls to a goal's budgets."""

    async def reserve(
        self,
        ref: TurnRef,
        model: str,
        estimate: Estimate,
        *,
        seconds: float,
        purpose: str = "agent",
    ) -> Reserved | CapReached | None:
        """Check and reserve against the caps of the session's goal, while it is active or the
        turn is its own; None without caps, and then nothing is written.

        `seconds` is how long the turn has run. Each reservation is settled by `settle` when its
        call has returned; `end_turn` settles those of calls which were cut off with their input,
        and one of an earlier attempt counts in full. Several may be open at once: children that
        work at the same time are refused what they would overshoot together.
        """
        ...

    async def settle(self, reservation: int, usage: Usage) -> None:
        """What a reserved call has used, in place of its most; once, whoever owns the lane."""
        ...


class Store(Caps, Protocol):
    """Everything durable. Times are wall seconds.

    Whatever is asked of one lane raises `DamagedLane` where its rows cannot be read. A lane like
    that rests: its rows stay as they are, and what is asked of all lanes leaves it out.
    """

    async def accept(
        self,
        arrivals: Sequence[Arrival | Relocation],
        *,
        cursor: tuple[str, str] | None,
        now: float,
        early: Callable[[Signals], None] | None = None,
    ) -> tuple[tuple[Ack, ...], Signals]:
        """Store a batch in order, carry its commands out, and move the cursor.

        `early` is told the signals once the batch is committed, before it is safe: lanes may
        begin, but the platform must not be told yet.
        """
        ...

    async def cursor(self, source: str) -> str | None:
        """The position committed last for a source."""
        ...

    async def begin(
        self, lane: LaneKey, *, now: float, collect: bool
    ) -> tuple[Begun | Rest, Signals]:
        """Take the lane's next turn, or say until when there is none.

        Only for a lane that nothing runs in this process: a begun turn is taken up again.
        """
        ...

    async def record(
        self,
        ref: TurnRef,
        writes: Sequence[StepWrite],
        *,
        spent: Sequence[CallUsage] = (),
        claim: Sequence[int] = (),
    ) -> None:
        """Add to a turn's trace, and keep what calls without a reservation used.

        `claim` are the seqs of the steered messages that are among the writes. Raises `Fenced`
        when the attempt is over.
        """
        ...

    async def steered(self, ref: TurnRef) -> tuple[Steered, ...]:
        """What was steered into the turn and not read yet; claimed by the `record` of it."""
        ...

    async def end_turn(
        self, ref: TurnRef, ending: Ending, *, now: float, collect: bool
    ) -> tuple[Begun | Rest, Signals]:
        """Leave a turn, and take the lane's next one in the same commit."""
        ...

    async def keep_prefix(self, session: SessionId, prefix: str) -> str:
        """Store a session's system prompt and tools, once; returns what is stored."""
        ...

    async def history(self, session: SessionId) -> tuple[Entry, ...]:
        """The transcript since the last checkpoint, its summary first as a user message."""
        ...

    async def open_judgement(self, lane: LaneKey) -> OpenJudgement | None:
        """The question that waits for a judge in the lane's current session."""
        ...

    async def reserve_verdict(
        self, lane: LaneKey, asked: OpenJudgement, estimate: Estimate, *, now: float
    ) -> tuple[Reserved | CapReached | None, Signals]:
        """Check and reserve the judge's call against its goal's caps; None without caps. A cap
        that is reached pauses the goal."""
        ...

    async def judged(
        self, lane: LaneKey, asked: OpenJudgement, word: Word, spent: UsageOf | None, *, now: float
    ) -> Signals:
        """Apply the judge's word, or drop it when the question is no longer open."""
        ...

    async def enter_session(self, lane: LaneKey) -> Signals:
        """The lane works again after a restart; an active goal says so and goes on."""
        ...

    async def card(self, lane: LaneKey) -> CardFacts | None:
        """What the goal's status message of a lane's current session shows; None without one."""
        ...

    async def at_rest(self, lane: LaneKey) -> bool:
        """Whether nothing of the lane runs, waits, goes on by itself or is to be sent."""
        ...

    async def unfinished(self) -> Unfinished:
        """What a start finds."""
        ...

    async def prune(self) -> bool:
        """Delete a slice of what is done with and older than a week; False when none is left."""
        ...

    async def next_timer(self) -> Timer | Due | None:
        """The timer that is due first."""
        ...

    async def fire(self, timer: Timer | Due, *, drift_s: float = 0.0) -> Signals:
        """A timer is due: tell its goal, or its question. `drift_s` is by how much the wall clock
        and the monotonic one differ since start-up."""
        ...

    async def reopen(self, platform: PlatformName) -> Signals:
        """A start: the questions of a platform's chats, whose backlog is in, are sent where they
        were not, told where they were decided, and wait on where they are open."""
        ...

    async def ask(
        self, ref: TurnRef, call: str, asked: Asked, requester: Principal
    ) -> tuple[Escalation | str, Signals]:
        """Put a question to people, once per turn and key; or why it may not be asked. Raises
        `Fenced`."""
        ...

    async def apply(self, ref: TurnRef, key: str) -> bool:
        """The work is told what became of its question; whether it is the first time, and the
        question was not cancelled since. Raises `Fenced`."""
        ...

    async def next_outgoing(self, lane: LaneKey, *, now: float) -> Outgoing | None:
        """The head of the lane's outbox, marked as being sent; None when it is empty."""
        ...

    async def sent(self, outgoing: Outgoing, sent: Sent) -> tuple[bool, Signals]:
        """It arrived; whether more is to be sent in its lane."""
        ...

    async def unsent(self, outgoing: Outgoing, *, doubtful: bool) -> None:
        """It did not, as far as can be told; it stays the head."""
        ...

    async def dead(self, outgoing: Outgoing, reason: str) -> Signals:
        """It never will; the next row moves up, and an audit row says why."""
        ...

    async def post(self, lane: LaneKey, turn: int, key: str, what: Outbound) -> Signals:
        """Queue something in mid-turn (a file), once per turn and key. Raises `Fenced` when the
        turn is not running."""
        ...

    async def meta(self, key: str) -> str | None:
        """A small value kept by key."""
        ...

    async def put_meta(self, key: str, value: str) -> None:
        """Replace it."""
        ...

    async def conversation(
        self, lane: LaneKey, *, before: Place | None = None, limit: int = 200
    ) -> Conversation:
        """See `Archive.conversation`."""
        ...

    async def chats(self, platform: PlatformName) -> tuple[ChatFact, ...]:
        """See `Archive.chats`."""
        ...

    async def close(self) -> None:
        """Finish what was submitted and close; idempotent."""
        ...


Drain: TypeAlias = Callable[[LaneKey], Coroutine[object, object, None]]
Cancel: TypeAlias = Callable[[LaneKey, TurnId], None]


class Dispatcher(Protocol):
    """Gives each lane that has work to one worker at a time."""

    def enlist(self, lane: LaneKey) -> None:
        """The lane may have something to begin; idempotent and cheap."""
        ...

    async def run(self, drain: Drain, cancel: Cancel) -> None:
        """Drain enlisted lanes, many at a time and each by one worker, until cancelled.

        `cancel` is called for each `signal` whose lane this process works on.
        """
        ...

    async def lead(self) -> None:
        """Return when this process is the one that keeps the timers."""
        ...

    def signal(self, lane: LaneKey, turn: TurnId) -> None:
        """End the work of this turn now, if it runs here."""
        ...
