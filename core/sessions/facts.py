"""What a command's reply reads beside the lane itself; the store answers inside the commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from core.commands import Invocation
from core.escalations.asking import Asking
from core.escalations.routing import Scene
from core.gates.gate import GateEvent
from core.gates.wanted import ChatGates, Wanted
from core.goals.contract import MAX_BYTES, Budget, SetGoal
from core.messages import LaneKey, Principal, SessionId
from core.pairing import Book


@dataclass(frozen=True, slots=True)
class Spent:
    """What a goal has used so far, children and judges included; cost is in US dollars."""

    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelSpent:
    """What one model used; `cached` tokens are among `input`, cost is in US dollars."""

    model: str
    input: int
    cached: int
    output: int
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """The books by model: of the lane's session, of its goal, and since midnight in this chat
    and in all."""

    session: tuple[ModelSpent, ...] = ()
    goal: tuple[ModelSpent, ...] = ()
    here: tuple[ModelSpent, ...] = ()
    everywhere: tuple[ModelSpent, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionFact:
    """One line of `/sessions`: `title` is the start of its first message."""

    id: SessionId
    title: str
    turns: int
    lane: LaneKey
    goal: str = ""
    """The goal's status, "" without one."""
    current: bool = False
    """Whether its lane works in it now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalFact:
    """A goal that is not over."""

    lane: LaneKey
    text: str
    status: str
    turns: int
    of: int
    """The turns of its budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The whole store in a few numbers. `working` are lanes with a begun turn, `queued` rows
    wait for one; `unsent` posts wait in the outbox, `dead` ones never will arrive."""

    working: tuple[LaneKey, ...] = ()
    queued: int = 0
    goals: tuple[GoalFact, ...] = ()
    unsent: int = 0
    dead: int = 0


def _no_home(_: LaneKey) -> str:
    return ""


def _known(_: str) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """What the settings offer to commands: the catalogue's models and the one in use without a
    choice, the folders that a chat may be bound to, and where a chat works that is not.

    `aides` are the models beside it that a goal pays for: those that judge and sum up. `priced`
    says of any of these whether its price is known, nothing among them. `judge_reads` is the most
    that the configured judge takes of a goal with its contract and criteria, in bytes of UTF-8;
    see `core.goals.judge.judge_reads`. `asking` holds for what people are asked. `gates` are those
    of every chat.
    """

    models: tuple[str, ...] = ()
    model: str = ""
    folders: tuple[str, ...] = ()
    home: Callable[[LaneKey], str] = _no_home
    aides: tuple[str, ...] = ()
    priced: Callable[[str], bool] = _known
    judge_reads: int = MAX_BYTES
    asking: Asking = field(default_factory=Asking)
    gates: Wanted = field(default_factory=Wanted)


class Facts(Protocol):
    """Read-only questions about the lane whose command is being obeyed."""

    @property
    def house(self) -> House:
        """What the settings offer."""
        ...

    def spent(self, goal: int) -> Spent:
        """The usage rows of a goal, summed."""
        ...

    def used(self) -> Used:
        """The usage rows by model."""
        ...

    def sessions(self) -> tuple[SessionFact, ...]:
        """The lane's sessions, newest first; at most 20."""
        ...

    def all_sessions(self) -> tuple[SessionFact, ...]:
        """The sessions of all lanes, newest first; at most 30."""
        ...

    def session(self, number: int) -> SessionFact | None:
        """A session of any lane."""
        ...

    def draft(self) -> SetGoal | None:
        """The contract that was drafted last in the lane's session."""
        ...

    def model(self) -> str:
        """The model chosen for the lane's session, "" for none."""
        ...

    def workspace(self) -> str:
        """The folder that the lane was bound to, "" for none."""
        ...

    def chat_gates(self) -> ChatGates:
        """The gates that were set in the lane's chat."""
        ...

    def gate_events(self) -> tuple[GateEvent, ...]:
        """What gates did in the lane's running turn, or in its last one."""
        ...

    def book(self) -> Book:
        """All of pairing."""
        ...

    def scene(self) -> Scene:
        """What people were asked in the lane's chat and thread, and may answer there."""
        ...

    def asked(self) -> bool:
        """Whether anything that the lane's turns asked was not told to them yet."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A command as it was accepted; `seq` is its own inbox row, `now` is wall time.

    `sent_at` is the platform's time, `defaults` are the limits that a new goal gets.
    """

    seq: int
    by: Principal
    line: Invocation
    now: float
    sent_at: float = 0.0
    defaults: Budget = field(default_factory=Budget)


def model_key(session: SessionId) -> str:
    """Where a session's chosen model is kept."""
    return f"model:{session}"


def workspace_key(lane: LaneKey) -> str:
    """Where the folder is kept that a lane was bound to."""
    return f"workspace:{lane}"
