"""Who works on a delegated task: an agent on a model, or a local agent runner. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Ranked:
    """A model that a child may run on: `name` as settings and chats call it, `tier` 1 the
    strongest, `id` the same for two names of one model (where it is served, and what it is called
    there), `model` the raw id as it is sent to the provider, "" where nobody knows it."""

    name: str
    tier: int
    id: str
    model: str = ""


class RunnerMode(StrEnum):
    """How a local agent runner is spoken to."""

    ACP = "acp"
    """The Agent Client Protocol over its standard input and output."""
    TEXT = "text"
    """The task is its last argument, what it prints is the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """A local agent runner: the program, all of its environment beside the sandbox's own, and
    whether it may use the network (None: as commands may). `lacking` is "", or why it cannot be
    started: something that the settings take from elsewhere is not there."""

    command: str
    args: tuple[str, ...] = ()
    mode: RunnerMode = RunnerMode.ACP
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    network: bool | None = None
    lacking: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A named kind of child, as the settings describe it.

    Exactly one of `model` and `runner` is set, or neither: then a child inherits its parent's
    model. `toolsets` None inherits the parent's, an empty one means none. `max_iterations` None
    takes `delegation.max_iterations`. `persona` replaces the first layer of the child's system
    prompt; `constraints` stand before its task. `members` matters for runners alone: whether
    members may have it started, and not owners only. `bound` says that its model is called over
    a connection of its own (a proxy, an address or a key), which no other model of a call has.
    """

    name: str
    summary: str = ""
    nickname: str = ""
    model: Ranked | None = None
    runner: Runner | None = None
    toolsets: tuple[str, ...] | None = None
    max_iterations: int | None = None
    persona: str = ""
    constraints: str = ""
    members: bool = False
    bound: bool = False

    @property
    def title(self) -> str:
        """What people are shown."""
        return self.nickname or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A child that runs on a model with Pursuit's own tools; `effort` "" is the model's own.

    `model.name` with `profile` finds the client: a profile may have a provider of its own.
    """

    model: Ranked
    toolsets: tuple[str, ...]
    max_iterations: int
    limit_key: str = "delegation.max_iterations"
    """The setting that a person raises for more iterations."""
    effort: str = ""


Worker: TypeAlias = Agent | Runner
