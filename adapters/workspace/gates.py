"""The commands of the verify gate, run as the agent's own are: in its workspace, sandboxed."""

from __future__ import annotations

from adapters.workspace.terminal import Terminal
from core.errors import UserError
from core.gates.ports import CommandEnd
from core.ports import ToolContext


class WorkspaceCommands:
    """`Commands` of `core.gates.ports`."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    async def run(self, context: ToolContext, command: str) -> CommandEnd:
        """See `Commands.run`."""
        try:
            ended = await self._terminal.run_chosen(command, context)
        except (UserError, OSError) as error:
            return CommandEnd(None, str(error), started=False)
        code = None if ended.late else ended.process.exit_code
        return CommandEnd(code, ended.process.output)

    def busy(self, context: ToolContext) -> bool:
        """See `Commands.busy`."""
        return self._terminal.busy(context)
