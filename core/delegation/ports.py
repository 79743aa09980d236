"""What delegation needs of the outside: the store's part for children, models, runners, checks.

Implemented by adapters and the composition root; each raises `core.errors` only.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from core.agent.steps import Step, StepWrite
from core.delegation.worker import Agent, Profile, Ranked, Runner
from core.ports import Model, ToolContext, Usage
from core.sessions.ports import CallUsage, TurnRef

# The store


@dataclass(frozen=True, slots=True)
class ChildRef:
    """A child of a running turn, fenced by it. `path` names the call that asked for the child,
    the task's place in it and the run: "call_1.0", "call_1.0~2" for the second run; a child's
    own child has its parent's path and a slash before that. The children of a branch table's run
    have its path and a number: "call_1.0#1"."""

    turn: TurnRef
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildState:
    """What is stored of a child. `id` is the same as long as it lives. `tries` counts how often it
    was opened since its last new step, or since it was left to wait for a person, this time
    included; `kept` is what `keep_child` stored last, "" for nothing. `used` and `calls` sum up
    its own model calls, summaries among them and judges not. `began` is the wall time at which it
    was first opened. `asked` are the ids of its own calls that asked a person and have not been
    carried out since."""

    id: int = 0
    tries: int = 1
    steps: tuple[Step, ...] = ()
    kept: str = ""
    used: Usage = field(default_factory=Usage)
    calls: int = 0
    began: float = 0.0
    asked: frozenset[str] = frozenset()


class ChildStore(Protocol):
    """The durable part of delegation. Every method is one transaction under the turn's fence and
    raises `Fenced` when the turn has lost its lane. A turn's children go when it ends."""

    async def open_child(self, ref: ChildRef, brief: str) -> ChildState:
        """Begin a child, or take it up again; `brief` says what for, to whoever reads the file."""
        ...

    async def kept_child(self, ref: ChildRef) -> str:
        """What `keep_child` stored last, "" for nothing and for a child that was never begun."""
        ...

    async def record_child(
        self,
        ref: ChildRef,
        writes: Sequence[StepWrite],
        *,
        used: Sequence[Usage] = (),
        spent: Sequence[CallUsage] = (),
    ) -> None:
        """Add to a child's trace. `used` are its model calls since the last write, `spent` what of
        them and of others no reservation has booked. A new step counts as one of the turn's."""
        ...

    async def keep_child(
        self,
        ref: ChildRef,
        kept: str,
        *,
        used: Sequence[Usage] = (),
        spent: Sequence[CallUsage] = (),
    ) -> None:
        """Store what the child's run has come to, in place of what was kept before."""
        ...


# Models


@dataclass(frozen=True, slots=True)
class Judge:
    """The acceptance judge: its model, which one that is, how long it may take, and whether it is
    the small embedded one, which can be shown little."""

    model: Model
    ranked: Ranked
    timeout_s: float
    small: bool = False


class Staff(Protocol):
    """The models and profiles of the settings."""

    @property
    def catalogue(self) -> tuple[Ranked, ...]:
        """The models that can be called, in the order of the settings."""
        ...

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """In the order of the settings."""
        ...

    def small(self, agent: Agent) -> bool:
        """Whether it runs on the small embedded model."""
        ...

    def model(self, agent: Agent, profile: str) -> Model:
        """The client for a child; `profile` is "" without one. Only now are credentials looked
        at: raises UserError that names what is missing."""
        ...

    def overseer(self, agent: Agent, profile: str) -> Model:
        """The client for the overseer of a branch table's run, as `model` gives a child's."""
        ...

    def judge(self) -> Judge:
        """The acceptance judge."""
        ...


# Local agent runners


@dataclass(frozen=True, slots=True)
class RunnerEnd:
    """How a runner ended: what it said, and `error`, "" for a clean end. `refused` are the
    permissions that it asked for in vain: the titles with the reasons, each once."""

    text: str
    error: str = ""
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Permission:
    """What a runner asks leave for. `title` is its own words, cut and cleaned; all else is whole
    and exactly as it told: the kind of `tool`, the command, the other arguments, the files."""

    title: str
    tool: str
    command: str = ""
    arguments: str = ""
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Permitted:
    """Whether it may, this once; `reason` is told below the runner's report."""

    allowed: bool
    reason: str


AskPermission: TypeAlias = Callable[[Permission], Awaitable[Permitted]]


class Runners(Protocol):
    """Starts local agent runners in the terminal's sandbox."""

    async def run(
        self,
        runner: Runner,
        task: str,
        context: ToolContext,
        *,
        permit: AskPermission,
        timeout_s: float,
    ) -> RunnerEnd:
        """Hand a task to a runner and wait for its end. Its progress goes to `context.progress`.

        A crash, a broken protocol and a program that is not there are ends with an error, not
        raises. Cancelling ends its whole process group within 2 s.
        """
        ...


# Checks that need no model


@dataclass(frozen=True, slots=True)
class Finding:
    """What the host found: `met` None when it could not look; `why` is one sentence."""

    met: bool | None
    why: str


class Checks(Protocol):
    """Looks at a workspace under the rules of the agent's own tools."""

    async def exists(self, context: ToolContext, path: str) -> Finding:
        """Whether a file or folder is there."""
        ...

    async def contains(self, context: ToolContext, path: str, text: str) -> Finding:
        """Whether a file holds a text."""
        ...

    async def succeeds(self, context: ToolContext, command: str) -> Finding:
        """Whether a command exits with 0, in the sandbox and under the policy."""
        ...

    async def keep(self, context: ToolContext, text: str) -> str:
        """Keep a long text in a file that the agent can read; its path, "" when that failed."""
        ...
