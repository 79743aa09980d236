"""What the core needs of the outside, written where it is called.

Adapters implement these; tests run one contract suite per port on every implementation. The
two durable ports, `Store` and `Dispatcher`, are in `core.sessions.ports` beside the lane values
they speak of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol, TypeAlias

from core.messages import (
    Ack,
    Address,
    Attachment,
    Inbound,
    Outbound,
    PlatformName,
    Principal,
    RemoteId,
    Say,
)
from core.splitting import Room
from core.transcript import Entry, Json, ToolCall, ToolResult


class Clock(Protocol):
    """Time, taken as an argument so that tests can hold it still."""

    def now(self) -> float:
        """Wall time in epoch seconds."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start that never go back."""
        ...


# Models


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them; `input_tokens` includes `cached_tokens`.

    `cost` is in US dollars, 0.0 where no price is known.
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is told of it; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One model call. The system text and the tools of a session never change.

    `schema` asks for a JSON reply of that shape (ignored by servers that take none);
    `deadline_s` bounds the whole call with its retries. `max_tokens` and `temperature` are the
    model's configured values when None, and so is `effort` (how hard to reason) when "".
    """

    system: str
    messages: tuple[Entry, ...]
    tools: tuple[ToolSpec, ...] = ()
    schema: Mapping[str, Json] | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    deadline_s: float | None = None
    effort: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """A finished model call; `calls` is empty for a final answer.

    `cut` is true when the output limit ended the text.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cut: bool = False


class FailureKind(StrEnum):
    """Why a model call failed, by what helps."""

    TRANSIENT = "transient"
    """Retries are spent; it may work later (rate limit, 5xx, cut stream, stall, connection)."""
    OVERFLOW = "overflow"
    """The request is longer than the context window: compact and try again."""
    PERMANENT = "permanent"
    """Key, model name, quota or request refused: a person must act."""


@dataclass(frozen=True, slots=True)
class ModelFailure:
    """An error value, never a reply text; `message` is a sentence for a person."""

    kind: FailureKind
    message: str
    retry_after: float | None = None
    usage: Usage = field(default_factory=Usage)


Completion: TypeAlias = Reply | ModelFailure


class Model(Protocol):
    """A language model behind some endpoint."""

    name: str
    """The catalogue name, or provider/id."""
    context_tokens: int
    """The window's size."""
    max_output_tokens: int
    """The most one call may produce when the request names no other limit."""

    async def complete(
        self, request: Request, on_text: Callable[[str], None] | None = None
    ) -> Completion:
        """Run one call to its end; `on_text` gets each piece of the answer as it streams.

        Never raises for a provider's fault; cancelling closes the connection.
        """
        ...

    def price(self, usage: Usage) -> float | None:
        """What `usage` costs in US dollars; None where no price is known."""
        ...


# Tools


Line: TypeAlias = "str | Callable[[], str]"
"""A text for people, or what makes it whenever it is shown."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Which agent makes a call: the name of its model, the toolsets it was given, and how deep it
    works below the turn, whose own agent is at depth 0; `path` is its place there, "" for that one
    (see `core.delegation.ports.ChildRef`), and `call` the turn's own call that it works for.
    `client` is the profile whose provider serves the model, "" where the catalogue's does."""

    model: str = ""
    client: str = ""
    toolsets: tuple[str, ...] = ()
    depth: int = 0
    path: str = ""
    call: str = ""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Whom a call acts for and where. `workspace` is the lane's folder, resolved; `turn` and
    `attempt` fence what the call stores, `began` is the monotonic time of that attempt. `asked`
    are the keys (see `core.escalations.desk.Asked`) of what the turn asked people in earlier
    attempts and was not told yet."""

    address: Address
    principal: Principal
    turn: int
    workspace: Path
    progress: Callable[[Line], None]
    """Takes what the call is doing, for the chat's progress message; may drop it."""
    attempt: int = 1
    began: float = 0.0
    caller: Caller = field(default_factory=Caller)
    asked: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Waiting:
    """The call has asked people and goes on when they have answered: it is run again then. `asked`
    are its open questions as people call them ("E7"); a child's report waits for no person and has
    none."""

    call: ToolCall
    asked: tuple[str, ...]


Ran: TypeAlias = ToolResult | Waiting


class Tool(Protocol):
    """Something the model can call."""

    spec: ToolSpec
    resumable: bool
    """Re-attached after a restart instead of being reported as interrupted."""

    async def run(self, call: ToolCall, context: ToolContext) -> Ran:
        """Carry the call out. Faults of the call are results (`receipt.ok` false), not raises.

        Cancelling must end what the call started, within 2 s.
        """
        ...

    async def close_turn(self, turn: int) -> None:
        """End what calls of that turn left running that must not outlive it."""
        ...


# Platforms


class Intake(Protocol):
    """Where adapters hand over what people sent."""

    async def accept(
        self, batch: Sequence[Inbound], *, cursor: tuple[str, str] | None = None
    ) -> tuple[Ack, ...]:
        """Commit a batch in its order together with a (source, position) cursor.

        Returns one ack per value, after the commit: only then may the platform be told. Raises
        TransientError when the batch could not be saved; hand the same batch over again later.
        """
        ...

    async def cursor(self, source: str) -> str | None:
        """The position last committed for a source."""
        ...

    def caught_up(self, platform: PlatformName) -> None:
        """The first backlog after a start has been handed over (or there is none)."""
        ...


@dataclass(frozen=True, slots=True)
class Health:
    """An adapter's state: seconds since it last heard from its platform, and a sentence."""

    ok: bool
    silent_s: float
    detail: str


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that the platform has taken: its id, and when by the platform's own clock (epoch
    seconds), by ours where it does not tell."""

    remote: RemoteId
    at: float


Hold: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Keeps a bot to this process while entered; raises UserError where another one has it."""


class Platform(Protocol):
    """A chat platform. Every call names the address; errors are those of `core.errors`."""

    name: PlatformName
    repeats_s: float
    """For so long after a message's first try, another one under the same key makes no second
    copy; 0.0 where the platform knows no such thing."""

    async def run(self, intake: Intake) -> None:
        """Connect and receive until cancelled.

        Raises TransientError to be rebuilt after a back-off and PermanentError or UserError to
        stay down until a person acts. Close is bounded.
        """
        ...

    def health(self) -> Health:
        """How the connection is; cheap."""
        ...

    def parts(self, text: str) -> tuple[Outbound, ...]:
        """A Markdown text of any length as at most three messages that fit, else a short text
        and the whole as a file. Pure and deterministic: a restart must cut alike."""
        ...

    @property
    def room(self) -> Room:
        """How much text one message with buttons holds, measured as the platform counts it when
        it is rendered; within it nothing is split, cut or sent as a file."""
        ...

    async def send(self, address: Address, what: Outbound, *, key: str = "") -> Sent:
        """Post one message; markup that the platform refuses goes out as plain text. Buttons that
        do not fit one row of three stand in a list.

        `key` (at most 25 characters) is the message's own in all its tries, "" for one that has
        one only.

        Raises TransientError (`doubtful` once bytes were written) or PermanentError.
        """
        ...

    async def edit(self, address: Address, remote: RemoteId, what: Say) -> None:
        """Replace a message's text and buttons; an unchanged text is no error."""
        ...

    async def show_progress(
        self, address: Address, turn: int, remote: RemoteId | None, text: str
    ) -> RemoteId | None:
        """Show what a turn is doing, best effort: a first post when `remote` is None, else an
        edit. Returns the message's id, None where progress leaves no message (drafts).

        Raises TransientError when it was not shown for now, a doubtful one when nobody knows.
        """
        ...

    async def acknowledge(self, address: Address, remote: RemoteId, state: Mark) -> None:
        """Mark a person's message (a reaction) and show typing while WORKING; best effort."""
        ...

    async def download(self, attachment: Attachment, to: Path) -> None:
        """Fetch a file that a person sent."""
        ...


class Mark(StrEnum):
    """What becomes of a person's message, as a reaction tells it."""

    SEEN = "seen"
    WORKING = "working"
    DONE = "done"
    FAILED = "failed"
