"""What the gates need of the outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from core.gates.gate import GateEvent
from core.gates.wanted import ChatGates
from core.messages import LaneKey
from core.ports import ToolContext


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """How a command ended: its exit code, None when its time ran out or it could not be started
    at all; `output` is what it printed, its end at least, or why it was not started."""

    exit_code: int | None
    output: str
    started: bool = True


class Commands(Protocol):
    """Runs the commands of the verify gate where the agent works."""

    async def run(self, context: ToolContext, command: str) -> CommandEnd:
        """Run one in the workspace's sandbox, under the time limit of the settings."""
        ...

    def busy(self, context: ToolContext) -> bool:
        """Whether a process that the lane's agent started in the background still runs."""
        ...


class Record(Protocol):
    """What is kept of the gates of turns, and of what was done in their workspaces."""

    def quiet(self, context: ToolContext) -> int | None:
        """A number that is another one once a call has begun in the workspace, of whatever turn,
        that may change something; None while one runs."""
        ...

    async def unchanged(self, context: ToolContext, commands: str) -> bool:
        """Whether these commands passed in the workspace, and nothing that may change anything
        was begun there since."""
        ...

    async def passed(self, context: ToolContext, commands: str) -> None:
        """These commands passed just now."""
        ...

    async def forget(self, context: ToolContext, commands: str) -> None:
        """They did not, or what they passed on may be changing."""
        ...

    async def note(self, context: ToolContext, event: GateEvent) -> None:
        """A gate has run for the turn."""
        ...

    async def spoken(self, context: ToolContext) -> bool:
        """Whether a message waits in the lane that a person sent since the turn began."""
        ...


class GateStore(Protocol):
    """What is durable of gates; folders are resolved workspaces. Every method that writes is one
    transaction."""

    async def wanted(self, lane: LaneKey, turn: int) -> tuple[ChatGates, tuple[str, ...]]:
        """The gates of a turn's chat, and those of its session's goal while that is active."""
        ...

    async def unchanged(self, lane: LaneKey, folder: str, commands: str) -> bool:
        """Whether these commands passed in the folder and nothing was begun there since. Never
        while a turn of the lane waits for a person: what it has started may be at work."""
        ...

    async def passed(self, lane: LaneKey, folder: str, commands: str) -> None:
        """They passed just now, unless a turn of the lane waits."""
        ...

    async def forget(self, folder: str, commands: str) -> None:
        """They did not."""
        ...

    async def changing(self, folder: str) -> None:
        """Something begins that may change the folder: nothing counts as passed there, nor in a
        folder above or below it. Safe when it returns."""
        ...

    async def note(self, turn: int, event: GateEvent) -> None:
        """Keep what a gate did in a turn."""
        ...

    async def spoken(self, turn: int) -> bool:
        """Whether a message waits in the turn's lane that was sent since the turn was begun."""
        ...
