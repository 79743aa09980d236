"""The terminal chat, on this process's own standard input and output."""

from __future__ import annotations

import getpass

from adapters.console.adapter import ConsoleOptions
from adapters.console.conversation import ADDRESS
from adapters.console.entry import open_console
from core.commands import COMMANDS
from core.messages import LaneKey
from core.ports import Platform
from gateway.compose.setup import Setup
from gateway.settings import chosen

LANE: LaneKey = ADDRESS.key


def console(setup: Setup) -> Platform:
    """The console, full-screen on a terminal and a line a message elsewhere."""
    options = ConsoleOptions(
        run_id=setup.run_id,
        files=setup.data / "console",
        history=setup.data / "console_history",
        model=chosen(setup.settings, "agent").model.model,
        workspace=str(setup.folder(LANE)),
        user=getpass.getuser(),
    )
    commands = [(spec.name, spec.summary) for spec in COMMANDS]
    return open_console(
        options, commands=commands, clock=setup.clock, idle=lambda: setup.at_rest(LANE)
    )
