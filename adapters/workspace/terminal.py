"""The `terminal` toolset: commands in the workspace, and those that go on in the background.

A foreground command never outlives its call, nor the cancelling of it. A background process
belongs to its lane and lives until it ends, is killed, the turn that started it is ended without
an answer, or the program stops.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adapters.workspace.approval import Approval, Leave
from adapters.workspace.guarded import notes
from adapters.workspace.homes import Homes
from adapters.workspace.options import Sandboxing, WorkspaceOptions
from adapters.workspace.orphans import owner_of
from adapters.workspace.process import Process
from adapters.workspace.sandbox import Sandbox
from adapters.workspace.spool import Spool, prepare
from core.errors import UserError
from core.escalations.desk import Desk
from core.messages import LaneKey
from core.ports import ToolContext
from core.tools.definitions import Processes, Run
from core.tools.tool import Outcome, Pending, one_line
from core.transcript import Receipt

LONGEST_S = 600
"""The longest wall time a call may ask for, unless the config's own is longer."""
TIMED_OUT = 124
"""The exit code of a command whose time ran out, as timeout(1) has it."""
SETTLE_S = 0.4
"""How long a background process is watched for an early end before the call returns."""
FINISHED_KEPT = 8

OWN_NETWORK = (
    " It has a network of its own: another command cannot reach its ports, so test a server in"
    " the same command."
)


@dataclass(frozen=True, slots=True)
class Background:
    """A process the model may ask for by `id`."""

    id: str
    lane: LaneKey
    turn: int
    workspace: Path
    command: str
    process: Process

    @property
    def state(self) -> str:
        """One line about it."""
        code = self.process.exit_code
        state = "running" if code is None else f"exit {code}"
        return f"{self.id}: {state}, {self.process.seconds:.0f} s: {one_line(self.command)}"


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that ran; `late` says that it was killed when its time had run out."""

    process: Process
    late: bool


class Terminal:
    """Starts, lists and ends the commands of all lanes."""

    def __init__(
        self,
        options: WorkspaceOptions,
        hidden: tuple[Path, ...],
        data_dir: Path,
        desk: Desk | None = None,
    ) -> None:
        """Without a desk nobody can be asked, and dangerous commands are refused."""
        self._options = options
        self._approval = Approval(options, desk)
        self._sandbox = Sandbox(options, hidden, owner=owner_of(data_dir))
        self._homes = Homes(data_dir)
        self._slots = asyncio.Semaphore(options.commands)
        self._foreground: dict[Process, int] = {}
        self._background: dict[str, Background] = {}
        self._ids = (f"p{n}" for n in itertools.count(1))

    async def check(self) -> None:
        """Raises UserError, with the remedy, when commands cannot be run here."""
        await self._sandbox.check()

    async def run(self, arguments: Run, context: ToolContext, call_id: str) -> Outcome | Pending:
        """The tool `run`. A dangerous command waits for a person's approval, and its call is run
        again with the answer."""
        if call_id not in context.asked:
            await self._sandbox.check()  # nobody is asked for what cannot be run here
        leave = await self._approval.leave(arguments, context, call_id)
        return await self._run(arguments, context, leave) if isinstance(leave, Leave) else leave

    async def run_unasked(self, arguments: Run, context: ToolContext) -> Outcome:
        """The same, and what would have to be asked for is refused."""
        leave = await self._approval.unasked(arguments, context)
        return await self._run(arguments, context, leave) if isinstance(leave, Leave) else leave

    async def _run(self, arguments: Run, context: ToolContext, leave: Leave) -> Outcome:
        await self._sandbox.check()
        await asyncio.to_thread(prepare, context.workspace)
        if arguments.background:
            outcome = await self._start(arguments.command, context)
        else:
            async with self._slots:
                outcome = await self._finish(arguments, context)
        return replace(outcome, text=f"{leave.note}\n{outcome.text}") if leave.note else outcome

    async def start_runner(
        self,
        argv: Sequence[str],
        workspace: Path,
        env: Mapping[str, str],
        *,
        network: bool | None = None,
        listens: bool = False,
    ) -> Process:
        """Start a local agent runner, see `Sandbox.launch_runner`; whoever has it ends it. Raises
        UserError where a command would be refused, OSError when nothing can be executed."""
        guard = await asyncio.to_thread(self._approval.guard, workspace)
        if guard is not None:
            raise UserError(guard.refusal)
        await self._sandbox.check()
        await asyncio.to_thread(prepare, workspace)
        home = await asyncio.to_thread(self._homes.of, argv[0], env, workspace)
        launch = self._sandbox.launch_runner(
            argv, workspace, env, home, network=network, listens=listens
        )
        return Process.start(launch)

    def _notes(self, workspace: Path, command: str, output: str) -> str:
        sandboxed = self._options.sandbox is Sandboxing.BWRAP
        return notes(self._approval.guards(workspace), command, output) if sandboxed else ""

    async def run_chosen(self, command: str, context: ToolContext) -> Ended:
        """Run a command that an owner has chosen once and for all, so that no policy looks at it.
        Raises UserError where none can be run: without its sandbox, or in a guarded place."""
        guard = await asyncio.to_thread(self._approval.guard, context.workspace)
        if guard is not None:
            raise UserError(guard.refusal)
        await self._sandbox.check()
        await asyncio.to_thread(prepare, context.workspace)
        async with self._slots:
            return await self._ended(command, context, self._options.timeout_s)

    def busy(self, context: ToolContext) -> bool:
        """Whether a background process runs that the lane started, or that works in its folder."""
        return any(
            own.process.exit_code is None
            and (own.lane == context.address.key or own.workspace == context.workspace)
            for own in self._background.values()
        )

    async def _ended(self, command: str, context: ToolContext, limit: float) -> Ended:
        process = self._launched(command, context.workspace)
        self._foreground[process] = context.turn
        late = False
        try:
            async with asyncio.timeout(limit):
                await process.wait()
        except TimeoutError:
            late = True
        finally:
            try:
                await process.end()
            finally:
                self._foreground.pop(process, None)
        return Ended(process, late)

    async def _finish(self, arguments: Run, context: ToolContext) -> Outcome:
        limit = min(
            arguments.timeout_s or self._options.timeout_s,
            max(self._options.timeout_s, LONGEST_S),
        )
        ended = await self._ended(arguments.command, context, limit)
        process, late = ended.process, ended.late
        code = TIMED_OUT if late else process.exit_code
        said = f"[exit code {code}]"
        if late:
            said = (
                f"[killed: it took longer than {limit:g} s. Give a longer timeout_s, or run it"
                " with background true]"
            )
        elif code:
            said += await asyncio.to_thread(
                self._notes, context.workspace, arguments.command, process.output
            )
        receipt = Receipt(
            ok=code == 0,
            summary=one_line(arguments.command),
            exit_code=code,
            seconds=process.seconds,
        )
        return Outcome(f"{process.output or '(no output)'}\n{said}", receipt)

    def _launched(self, command: str, workspace: Path) -> Process:
        return Process.start(self._sandbox.launch(command, workspace), Spool(workspace))

    async def _start(self, command: str, context: ToolContext) -> Outcome:
        lane = context.address.key
        running = [b for b in self._of(lane) if b.process.exit_code is None]
        if len(running) >= self._options.background:
            raise UserError(
                f"{len(running)} background processes run already; kill one first."
                f"\n{_list(running)}"
            )
        process = self._launched(command, context.workspace)
        own = Background(next(self._ids), lane, context.turn, context.workspace, command, process)
        self._background[own.id] = own
        self._forget(lane)
        try:
            async with asyncio.timeout(SETTLE_S):
                await process.wait()
        except TimeoutError:
            return self._started(own)
        except asyncio.CancelledError:  # the call was stopped before the model heard of it
            await self._drop(own)
            raise
        return self._read(own)

    def _started(self, own: Background) -> Outcome:
        said = f"Started in the background as {own.id}."
        if self._options.sandbox is Sandboxing.BWRAP and not self._options.network:
            said += OWN_NETWORK
        printed = own.process.output
        receipt = Receipt(
            ok=True,
            summary=one_line(own.command),
            seconds=own.process.seconds,
            background=True,
        )
        return Outcome(f"{said}\n{printed}" if printed else said, receipt)

    async def processes(self, arguments: Processes, context: ToolContext, call_id: str) -> Outcome:
        """The tool `processes`; a lane sees only its own."""
        own = list(self._of(context.address.key))
        if arguments.action == "list":
            said = _list(own) or "No background processes."
            return Outcome(said, Receipt(ok=True, summary="background processes"))
        wanted = next((b for b in own if b.id == arguments.id), None)
        if wanted is None:
            known = f" There are:\n{_list(own)}" if own else " None was started."
            raise UserError(f"No background process {arguments.id or '(give its id)'}.{known}")
        if arguments.action == "kill":
            await wanted.process.end()
        return self._read(wanted, told=arguments.action)

    def _read(self, own: Background, told: str = "") -> Outcome:
        code = own.process.exit_code
        state = "[it still runs]" if code is None else f"[it has ended: exit code {code}]"
        receipt = Receipt(
            ok=told != "" or code == 0,
            summary=one_line(f"{told} {own.command}" if told else own.command),
            exit_code=code,
            seconds=own.process.seconds,
            background=code is None,
        )
        return Outcome(f"{own.process.output or '(no output)'}\n{state}", receipt)

    def _of(self, lane: LaneKey) -> Iterator[Background]:
        return (b for b in self._background.values() if b.lane == lane)

    def _forget(self, lane: LaneKey) -> None:
        """Keep only the latest of a lane's finished processes."""
        finished = [b for b in self._of(lane) if b.process.exit_code is not None]
        for old in finished[:-FINISHED_KEPT]:
            del self._background[old.id]

    async def _drop(self, own: Background) -> None:
        self._background.pop(own.id, None)
        await own.process.end()

    async def close_turn(self, turn: int) -> None:
        """End all that calls of the turn left running, in the background too: a turn that gave
        no answer leaves nothing behind. Those of other turns go on."""
        background = [b.process for b in self._background.values() if b.turn == turn]
        await _end_all([*(p for p, own in self._foreground.items() if own == turn), *background])

    async def close(self) -> None:
        """End every process, within 3 s."""
        background = [b.process for b in self._background.values()]
        self._background.clear()
        await _end_all([*self._foreground, *background])


async def _end_all(processes: list[Process]) -> None:
    async with asyncio.TaskGroup() as ending:
        for n, process in enumerate(processes):
            ending.create_task(process.end(), name=f"end-process-{n}")


def _list(processes: list[Background]) -> str:
    return "\n".join(b.state for b in processes)
