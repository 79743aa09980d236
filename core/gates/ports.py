"""What the gates need of the outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

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
    """What is kept of the verify gate's passes."""

    async def passed(self, context: ToolContext, commands: str) -> None:
        """These commands passed just now, after all that the turn has done so far."""
        ...

    async def unchanged(self, context: ToolContext, commands: str) -> bool:
        """Whether these commands passed last time, and no call that may change anything was
        started by a turn in that workspace since."""
        ...
