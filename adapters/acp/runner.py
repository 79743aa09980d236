"""The port `Runners`: picks how a runner is spoken to, starts it, and never lets it raise.

The protocol's SDK is an extra. Without it this module loads all the same, and a runner that
needs it ends with an error that says how to get it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import PurePath
from typing import TypeAlias

from adapters.acp.launch import Job, Launched, Launcher
from adapters.acp.text import as_argument, listen
from adapters.acp.wording import NO_SDK, NOT_SHOWN, hidden, unstartable
from core.delegation.ports import AskPermission, Permission, Permitted, RunnerEnd
from core.delegation.worker import Runner, RunnerMode
from core.errors import UserError
from core.fence import one_line
from core.ports import ToolContext

Speak: TypeAlias = Callable[[Launched, Job], Awaitable[RunnerEnd]]

try:
    from adapters.acp.client import converse
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "acp":
        raise
    CONVERSE: Speak | None = None
else:
    CONVERSE = converse


class AcpRunners:
    """Local agent runners, each one process for one task."""

    def __init__(self, launcher: Launcher) -> None:
        self._launch = launcher

    @staticmethod
    def check(runners: Iterable[Runner]) -> None:
        """Raises UserError, with the remedy, when one of them needs the SDK that is not there."""
        for runner in runners:
            if runner.mode is RunnerMode.ACP and CONVERSE is None:
                raise UserError(NO_SDK.format(name=_name(runner)))

    async def run(
        self,
        runner: Runner,
        task: str,
        context: ToolContext,
        *,
        permit: AskPermission,
        timeout_s: float,
    ) -> RunnerEnd:
        """Hand a task to a runner and wait for its end, see the port. The time that a person
        takes over a permission is not part of `timeout_s`."""

        def progress(line: str) -> None:
            context.progress(hidden(line, runner.env))

        async def asked(permission: Permission) -> Permitted:
            told = (permission.command, permission.arguments, *permission.paths)
            if any(hidden(text, runner.env) != text for text in told):
                return Permitted(allowed=False, reason=NOT_SHOWN)
            return await permit(replace(permission, title=hidden(permission.title, runner.env)))

        job = Job(
            name=_name(runner),
            task=task.replace("\0", " ").encode("utf-8", "replace").decode(),
            workspace=context.workspace,
            progress=progress,
            permit=asked,
            timeout_s=timeout_s,
        )
        end = await self._run(runner, job)
        return RunnerEnd(
            hidden(end.text, runner.env),
            hidden(end.error, runner.env),
            tuple(hidden(line, runner.env) for line in end.refused),
        )

    async def _run(self, runner: Runner, job: Job) -> RunnerEnd:
        argv = (runner.command, *runner.args)
        speak = CONVERSE
        if runner.mode is RunnerMode.TEXT:
            argument, fault = as_argument(job.name, job.task)
            if fault:
                return RunnerEnd("", fault)
            speak, argv = listen, (*argv, argument)
        if speak is None:
            return RunnerEnd("", NO_SDK.format(name=job.name))
        listens = runner.mode is RunnerMode.ACP
        try:
            launched = await self._launch(
                argv, job.workspace, runner.env, network=runner.network, listens=listens
            )
        except UserError as refused:
            return RunnerEnd("", str(refused))
        except (OSError, ValueError) as fault:  # ValueError: a NUL character among its words
            return RunnerEnd("", unstartable(job.name, fault))
        return await speak(launched, job)


def _name(runner: Runner) -> str:
    return one_line(PurePath(runner.command).name or runner.command, 60)
