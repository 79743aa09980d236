"""The terminal chat, on this process's own standard input and output."""

from __future__ import annotations

from adapters.console.adapter import ConsoleOptions
from adapters.console.entry import open_console
from core.commands import COMMANDS
from core.ports import Platform
from gateway.compose.setup import Setup
from gateway.compose.whoami import user_name
from gateway.settings import chosen


def console(setup: Setup) -> Platform:
    """The console, full-screen on a terminal and a line a message elsewhere."""
    lane = setup.talk.key
    options = ConsoleOptions(
        address=setup.talk,
        run_id=setup.run_id,
        files=setup.data / "console",
        history=setup.data / "console_history",
        model=chosen(setup.settings, "agent").model.model,
        workspace=str(setup.folder(lane)),
        user=user_name(),
    )
    commands = [(spec.name, spec.summary) for spec in COMMANDS]
    return open_console(
        options, commands=commands, clock=setup.clock, idle=lambda: setup.at_rest(lane)
    )
