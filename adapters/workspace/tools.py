"""Puts the workspace's tools together: what the composition root asks for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from adapters.workspace import files, listing, search
from adapters.workspace.checks import WorkspaceChecks
from adapters.workspace.options import WorkspaceOptions
from adapters.workspace.outgoing import Outgoing
from adapters.workspace.paths import Borders
from adapters.workspace.terminal import Terminal
from core.escalations.desk import Desk
from core.ports import ToolContext
from core.tools import definitions
from core.tools.arguments import A
from core.tools.definitions import (
    Definition,
    ListFiles,
    PatchFile,
    ReadFile,
    SearchFiles,
    WriteFile,
)
from core.tools.registry import ToolsetTool
from core.tools.send import Stage
from core.tools.tool import DefinedTool, Outcome

Blocking: TypeAlias = Callable[[Borders, A], Outcome]


@dataclass(frozen=True, slots=True)
class WorkspaceTools:
    """The toolsets `terminal` and `file`, the stage that `send_file` needs, and the checks of
    acceptance criteria."""

    tools: tuple[ToolsetTool, ...]
    stage: Stage
    terminal: Terminal
    checks: WorkspaceChecks

    async def check(self) -> None:
        """Raises UserError, with the remedy, when commands cannot be run on this machine."""
        await self.terminal.check()

    async def close(self) -> None:
        """End all commands, background ones too, within 3 s."""
        await self.terminal.close()


def workspace_tools(
    options: WorkspaceOptions, data_dir: Path, desk: Desk | None = None
) -> WorkspaceTools:
    """The tools of one program; needs a running event loop only once they are used. Dangerous
    commands are asked about at the desk, and refused without one."""
    hidden = (data_dir, *options.hidden)
    terminal = Terminal(options, hidden, data_dir, desk)

    def borders(context: ToolContext) -> Borders:
        return Borders.of(context.workspace, options.extra, hidden)

    def off_loop(definition: Definition[A], work: Blocking[A]) -> DefinedTool[A]:
        async def carry_out(arguments: A, context: ToolContext, call_id: str) -> Outcome:
            began = time.monotonic()
            outcome = await asyncio.to_thread(lambda: work(borders(context), arguments))
            return _timed(outcome, began)

        return DefinedTool(definition, carry_out)

    async def find(arguments: SearchFiles, context: ToolContext, call_id: str) -> Outcome:
        began = time.monotonic()
        within = await asyncio.to_thread(borders, context)
        return _timed(await search.search(within, arguments.pattern, arguments.path), began)

    tools: tuple[ToolsetTool, ...] = (
        DefinedTool(definitions.RUN, terminal.run, terminal.close_turn),
        DefinedTool(definitions.PROCESSES, terminal.processes),
        off_loop(definitions.READ_FILE, _read),
        off_loop(definitions.WRITE_FILE, _write),
        off_loop(definitions.PATCH_FILE, _patch),
        off_loop(definitions.LIST_FILES, _list),
        DefinedTool(definitions.SEARCH_FILES, find),
    )
    checks = WorkspaceChecks(borders, terminal)
    return WorkspaceTools(tools, Outgoing(data_dir, options.extra, hidden), terminal, checks)


def _timed(outcome: Outcome, began: float) -> Outcome:
    receipt = replace(outcome.receipt, seconds=time.monotonic() - began)
    return replace(outcome, receipt=receipt)


def _read(borders: Borders, arguments: ReadFile) -> Outcome:
    return files.read(borders, arguments.path, arguments.start_line, arguments.lines)


def _write(borders: Borders, arguments: WriteFile) -> Outcome:
    return files.write(borders, arguments.path, arguments.content)


def _patch(borders: Borders, arguments: PatchFile) -> Outcome:
    return files.patch(borders, arguments.path, arguments.old, arguments.new)


def _list(borders: Borders, arguments: ListFiles) -> Outcome:
    return listing.listing(borders, arguments.path)
