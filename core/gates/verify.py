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
REASON = 600
LAST_LINE = 120
"""The most characters that people are told of a failed command's output: its last line."""
UNRUN = {126: "a command could not be executed", 127: "a command was not found"}
"""What a shell's own exit codes say. They are failures like all others, but it may be the person's
command that has to be mended."""
READING = frozenset(
    {"read_file", "list_files", "search_files", "think", "send_file", "ask", "processes"}
)
"""Tools that change nothing. Whatever is not here may: a terminal, a child, a server."""


async def verify(
    commands: Sequence[str], runner: Commands, record: Record, context: ToolContext
) -> Result:
    """Run them, unless nothing has changed since they passed. A pass that something else could
    have been working under, a call of another turn or a process, is not one to rely on later."""
    key = json.dumps(list(commands), ensure_ascii=False)
    before, alive = record.quiet(context), runner.busy(context)
    if not alive and await record.unchanged(context, key):
        return Skipped("nothing has changed since it passed")
    for command in commands:
        context.progress(f"🔎 {one_line(command, COMMAND)} …")
        end = await runner.run(context, command)
        if not end.started or end.exit_code != 0:
            await record.forget(context, key)
            return rejected(command, end) if end.started else unavailable(end.output)
    still = before is not None and record.quiet(context) == before
    relied_on = still and not alive and not runner.busy(context)
    await (record.passed if relied_on else record.forget)(context, key)
    return Passed(", ".join(one_line(command, COMMAND) for command in commands))


def unavailable(why: str) -> Unavailable:
    """A command that could not be started at all."""
    return Unavailable(f"{one_line(why, REASON)} ({KEY})")


def rejected(command: str, end: CommandEnd) -> Rejected:
    """What a failed command is told as."""
    how = "ran out of time" if end.exit_code is None else f"ended with exit code {end.exit_code}"
    if end.exit_code in UNRUN:
        how = f"{how} ({UNRUN[end.exit_code]})"
    tail = end.output[-SHOWN:]
    cut = "[…]\n" if len(end.output) > SHOWN else ""
    shown = f"command: {command}\n{how}\n{cut}{tail}".rstrip()
    reason = f"`{one_line(command, COMMAND)}` {how}"
    return Rejected(reason, shown, said=_last_line(end.output))


def _last_line(output: str) -> str:
    """The last that is not empty, fit to be quoted; "" where nothing was printed."""
    *_, last = output.strip().splitlines() or [""]
    return one_line(last.replace("`", "'"), LAST_LINE)
