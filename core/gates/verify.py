"""The verify gate: the configured commands, in their order, up to the first that fails."""

from __future__ import annotations

import json
from collections.abc import Sequence

from core.fence import one_line
from core.gates.gate import Passed, Rejected, Result, Skipped, Unavailable
from core.gates.ports import CommandEnd, Commands, Record
from core.ports import ToolContext

KEY = "gates.verify"
SHOWN = 3_000
"""The most characters of a failed command's output, from its end."""
COMMAND = 120
READING = frozenset(
    {"read_file", "list_files", "search_files", "think", "send_file", "ask", "processes"}
)
"""Tools that change nothing. Whatever is not here may have: a terminal, a child, a server."""


async def verify(
    commands: Sequence[str], runner: Commands, record: Record, context: ToolContext, *, fresh: bool
) -> Result:
    """Run them. `fresh` says that they failed last time, or that something was changed in this
    turn, so that they are not skipped."""
    key = json.dumps(list(commands))
    if not (fresh or runner.busy(context)) and await record.unchanged(context, key):
        return Skipped("nothing has changed since it passed")
    for command in commands:
        context.progress(f"✅ checking: {one_line(command, COMMAND)}")
        end = await runner.run(context, command)
        if not end.started:
            return Unavailable(f"{one_line(end.output, SHOWN)} ({KEY})")
        if end.exit_code != 0:
            return rejected(command, end)
    await record.passed(context, key)
    return Passed(f"{len(commands)} of {len(commands)}")


def rejected(command: str, end: CommandEnd) -> Rejected:
    """What a failed command is told as."""
    how = "ran out of time" if end.exit_code is None else f"ended with exit code {end.exit_code}"
    tail = end.output[-SHOWN:]
    cut = "[…]\n" if len(end.output) > SHOWN else ""
    shown = f"command: {command}\n{how}\n{cut}{tail}".rstrip()
    return Rejected(f"`{one_line(command, COMMAND)}` {how}", shown)
