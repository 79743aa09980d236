"""Runners that take the task as their last argument and print the answer. Needs no SDK."""

from __future__ import annotations

import asyncio

from adapters.acp.kept import Kept, short
from adapters.acp.launch import Job, Launched
from adapters.acp.pipes import LINGER_S, opened, within
from adapters.acp.wording import crashed, late
from core.delegation.ports import RunnerEnd

TASK_BYTES = 100_000
"""The kernel takes 128 kB in one argument; the sandbox's own words need room too."""

TOO_LONG = (
    "The task has {size} bytes and the runner {name} takes it as an argument, which holds at most"
    " {limit}: put the long part into a file of the workspace and name the file in the task."
)
PROGRESS_CHARS = 120


def as_argument(name: str, task: str) -> tuple[str, str]:
    """The task as an argument that is no option, or why it cannot be one."""
    size = len(task.encode("utf-8", "replace"))
    if size > TASK_BYTES:
        return "", TOO_LONG.format(name=name, size=size, limit=TASK_BYTES)
    return f" {task}" if task.startswith("-") else task, ""


async def listen(launched: Launched, job: Job) -> RunnerEnd:
    """Wait for the program's end; what it printed is the answer."""
    printed = Kept()

    def take(data: bytes) -> None:
        printed.feed(data)
        lines = data[-4 * PROGRESS_CHARS :].decode("utf-8", "ignore").split("\n")
        if line := next((line for line in reversed(lines) if line.strip()), ""):
            job.progress(short(line, PROGRESS_CHARS))

    timed_out = False
    async with opened(launched) as pipes:
        output = await pipes.drain(launched.streams[1], take)
        try:
            async with asyncio.timeout(job.timeout_s):
                await launched.exited()
        except TimeoutError:
            timed_out = True
        else:
            await within(LINGER_S, output.closed)
    error = late(job.name, job.timeout_s) if timed_out else ""
    if launched.exit_code and not timed_out:
        code, errors = launched.exit_code, pipes.errors.text
        error = crashed(job.name, code, "on the task", errors, begun=printed.total > 0)
    return RunnerEnd(printed.text, error)
