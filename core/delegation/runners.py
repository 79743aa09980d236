"""A local agent runner at work on a child's task, and what becomes of its end."""

from __future__ import annotations

from core.delegation.ports import Permission, Permitted, RunnerEnd, Runners
from core.delegation.result import Status, Work
from core.delegation.worker import Runner
from core.errors import UserError
from core.ports import ToolContext
from core.replies import whole_json

REFUSED_SHOWN = 5
CUT = (
    "interrupted by a restart: a local agent runner cannot go on, and the outcome is unknown;"
    " check before repeating"
)
UNASKED = "nobody can be asked for leave in this version, so it was refused"
"""What a runner that asks for permission is told."""


async def launch(
    runners: Runners, runner: Runner, brief: str, context: ToolContext, timeout_s: float
) -> Work:
    """Let a local agent runner work."""
    if runner.lacking:
        raise UserError(runner.lacking)
    end = await runners.run(runner, brief, context, permit=_refuse, timeout_s=timeout_s)
    return runners_work(end)


def runners_work(end: RunnerEnd) -> Work:
    """What a runner came to. What it was not let do is in it: the runner may say nothing of that
    itself, and the parent and the judge know no more than they read here. An answer in JSON,
    which programs read, stays as it is."""
    status = Status.FAILED if end.error else Status.OK
    notes = [f"[Refused while it worked: {line}]" for line in end.refused[:REFUSED_SHOWN]]
    if (more := len(end.refused) - REFUSED_SHOWN) > 0:
        notes.append(f"[Refused too: {more} more]")
    refused = "\n".join(notes)
    if refused and _is_json(end.text):
        return Work(
            status=status, text=end.text, error="\n".join(filter(None, (end.error, refused)))
        )
    return Work(
        status=status, text="\n\n".join(filter(None, (end.text, refused))), error=end.error
    )


def _is_json(text: str) -> bool:
    try:
        whole_json(text)
    except ValueError:
        return False
    return True


async def _refuse(asked: Permission) -> Permitted:
    return Permitted(allowed=False, reason=UNASKED)
