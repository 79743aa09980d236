"""What gates need of the outside, in memory: commands that end as a test says, and a record."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from core.gates.gate import GateEvent
from core.gates.ports import CommandEnd
from core.ports import ToolContext

FINE = CommandEnd(0, "fine")


@dataclass
class ScriptedCommands:
    """Each command ends as the next of its `ends`, and well when there is none left."""

    ends: dict[str, deque[CommandEnd]] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    alive: bool = False

    def will(self, command: str, *ends: CommandEnd) -> None:
        """Say how it ends."""
        self.ends[command] = deque(ends)

    async def run(self, context: ToolContext, command: str) -> CommandEnd:
        """See `Commands.run`."""
        self.ran.append(command)
        left = self.ends.get(command)
        return left.popleft() if left else FINE

    def busy(self, context: ToolContext) -> bool:
        """See `Commands.busy`."""
        return self.alive


@dataclass(slots=True)
class MemoryRecord:
    """A `Record` of one workspace; `change` is a call that may change something."""

    passes: set[str] = field(default_factory=set)
    begun: int = 0
    running: bool = False
    waits: bool = False
    events: list[GateEvent] = field(default_factory=list)

    def change(self) -> None:
        """Such a call began and ended."""
        self.begun += 1
        self.passes.clear()

    def quiet(self, context: ToolContext) -> int | None:
        """See `Record.quiet`."""
        return None if self.running else self.begun

    async def unchanged(self, context: ToolContext, commands: str) -> bool:
        """See `Record.unchanged`."""
        return commands in self.passes

    async def passed(self, context: ToolContext, commands: str) -> None:
        """See `Record.passed`."""
        self.passes.add(commands)

    async def forget(self, context: ToolContext, commands: str) -> None:
        """See `Record.forget`."""
        self.passes.discard(commands)

    async def note(self, context: ToolContext, event: GateEvent) -> None:
        """See `Record.note`."""
        self.events.append(event)

    async def spoken(self, context: ToolContext) -> bool:
        """See `Record.spoken`."""
        return self.waits
