"""Runners started as the program starts them, in a lane's sandbox, and what they do meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import acp

from adapters.acp.runner import AcpRunners
from adapters.workspace.options import Sandboxing, WorkspaceOptions
from core.delegation.ports import Permission, Permitted, RunnerEnd
from core.delegation.worker import Runner, RunnerMode
from core.ports import Line, ToolContext
from tests.e2e.workspace_lane import Lane, open_lane

PYTHON = os.path.realpath(sys.executable)
SITE = Path(acp.__file__).parents[1]
AGENT = Path(__file__).parents[1] / "fakes" / "acp_agent.py"
MARK = "RUNNER_UNDER_TEST"
PATIENCE_S = 30.0
BARE = WorkspaceOptions(sandbox=Sandboxing.NONE)

Answer = Callable[[Permission], Awaitable[Permitted]]


async def refuse(_: Permission) -> Permitted:
    return Permitted(allowed=False, reason="nobody can be asked")


def shell(script: str) -> Runner:
    """Something that speaks to standard output and is no agent."""
    return Runner(command="sh", args=("-c", script))


def replies(*messages: object, then: str = "") -> Runner:
    """A quick agent that answers each line it reads with the next message, whatever the line
    says; `then` is what its shell does at the end."""
    steps = (f"read -r line; echo {shlex.quote(json.dumps(message))}" for message in messages)
    return shell("\n".join((*steps, then)))


def result(number: int, **fields: object) -> dict[str, object]:
    """The answer to the client's request of that number."""
    return {"jsonrpc": "2.0", "id": number, "result": fields}


READY = (result(0, protocolVersion=1), result(1, sessionId="s"))


@dataclass(frozen=True, slots=True)
class Rig:
    """A lane with the agent's program in its workspace; `mark` finds what a run started."""

    lane: Lane
    runners: AcpRunners
    mark: str = field(default_factory=lambda: secrets.token_hex(8))
    lines: list[str] = field(default_factory=list)
    noted: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def workspace(self) -> Path:
        return self.lane.workspace

    def note(self, line: Line) -> None:
        self.lines.append(line if isinstance(line, str) else line())
        self.noted.set()

    async def until(self, line: str) -> None:
        """Until the runner's progress has said this."""
        while line not in self.lines:
            self.noted.clear()
            await self.noted.wait()

    def runner(self, *args: str, **env: str) -> Runner:
        """The scripted agent."""
        given = {"PYTHONPATH": str(SITE), "PYTHONDONTWRITEBYTECODE": "1", MARK: self.mark, **env}
        return Runner(command=PYTHON, args=("acp_agent.py", *args), env=given)

    def program(self, *argv: str, **env: str) -> Runner:
        """A program that prints its answer."""
        given = {MARK: self.mark, **env}
        return Runner(command=argv[0], args=argv[1:], env=given, mode=RunnerMode.TEXT)

    async def run(
        self,
        task: str,
        runner: Runner | None = None,
        *,
        permit: Answer = refuse,
        timeout_s: float = PATIENCE_S,
    ) -> RunnerEnd:
        return await self.runners.run(
            runner or self.runner(), task, self.context(), permit=permit, timeout_s=timeout_s
        )

    def context(self, turn: int = 1) -> ToolContext:
        """A turn of the lane whose progress is noted."""
        return replace(self.lane.context(turn), progress=self.note)

    def processes(self) -> list[int]:
        """Whatever of this rig's runners lives, zombies not."""
        wanted = f"{MARK}={self.mark}".encode()
        found: list[int] = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    async def ended(self) -> None:
        """Until none of them lives: who is killed takes a moment to be gone on a busy machine."""
        async with asyncio.timeout(PATIENCE_S):
            while self.processes():  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.02)


@asynccontextmanager
async def open_rig(base: Path, options: WorkspaceOptions | None = None) -> AsyncIterator[Rig]:
    """A rig below `base`; the SDK is visible to what runs in it."""
    wanted = options or WorkspaceOptions()
    wanted = replace(wanted, extra=(*wanted.extra, SITE))
    async with open_lane(base, wanted) as lane:
        shutil.copy(AGENT, lane.workspace)
        yield Rig(lane, AcpRunners(lane.tools.terminal.start_runner))
