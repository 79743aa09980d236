"""What `pursuit doctor` looks at of other people's programs: MCP servers and local agent runners.

Each server is connected to once. No runner is started, as that may cost: it is only looked for, in
the sandbox that it would run in.
"""

from __future__ import annotations

import asyncio
import shlex
import tempfile
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

from adapters.mcp.offers import Connect
from adapters.mcp.options import ServerOptions
from adapters.workspace.options import Sandboxing, WorkspaceOptions
from adapters.workspace.process import Process
from adapters.workspace.sandbox import Sandbox
from core.errors import TransientError, UserError
from core.findings import Finding, fault, well
from gateway.compose.others import connector, mcp_options
from gateway.errors import KeyPath, dotted
from gateway.settings import Settings
from gateway.settings.work import Profile

SERVERS = "MCP servers"
LOOK_S = 10.0


async def examine_servers(settings: Settings, data: Path) -> list[Finding]:
    """Connect to each MCP server, to all at once."""
    with tempfile.TemporaryDirectory() as folder:
        options = mcp_options(settings, data, Path(folder))
        if not options:
            return []
        if find_spec("mcp") is None:
            return [_no_sdk(SERVERS, "mcp", "their tools are not there without it")]
        connect = await asyncio.to_thread(connector)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_reach(connect, one), name=one.toolset) for one in options]
        return [task.result() for task in tasks]


def _no_sdk(check: str, extra: str, why: str) -> Finding:
    return fault(
        check,
        f"the {extra} package is not installed",
        why=why,
        fix=f"pip install '.[{extra}]' in the clone of Pursuit.",
    )


async def _reach(connect: Connect, options: ServerOptions) -> Finding:
    check = f"MCP server {options.name}"
    try:
        async with connect(options) as connection:
            offers = connection.offers
    except TransientError as error:
        return fault(
            check,
            str(error),
            why="sessions that begin meanwhile do not have its tools",
            fix=f"Look at {options.key('command' if options.command else 'url')} and what stands "
            f"with it, or set {options.key('enabled')}: false.",
        )
    left_out = f", {len(offers.left_out)} left out" if offers.left_out else ""
    return well(check, f"it has {len(offers.tools)} tools{left_out}")


async def examine_runners(settings: Settings) -> AsyncIterator[Finding]:
    """Look for what each profile with a runner needs."""
    profiles = settings.delegation.profiles
    wanted = {name: profile for name, profile in profiles.items() if profile.acp_command}
    if not wanted:
        return
    workspace = settings.workspace
    sandbox = Sandbox(
        WorkspaceOptions(sandbox=Sandboxing(workspace.sandbox), extra=workspace.extra), ()
    )
    try:
        await sandbox.check()
    except UserError:  # a finding of its own
        return
    for name, profile in wanted.items():
        yield await _runner(settings, name, profile, sandbox)


async def _runner(settings: Settings, name: str, own: Profile, sandbox: Sandbox) -> Finding:
    check, why = f"runner {name}", "no child of this profile can work without it"
    path: KeyPath = ("delegation", "profiles", name)
    command = own.acp_command or ""
    for at, variable in settings.unset_below(path).items():
        return fault(
            check,
            f"{dotted(at)} takes the environment variable {variable}, which is not set",
            why=why,
            fix=f"Set {variable}.",
        )
    if own.acp_mode == "acp" and find_spec("acp") is None:
        return _no_sdk(check, "acp", why)
    if "/" in command and not command.startswith("/"):
        return well(check, f"{command} is looked for in each workspace")
    if await _is_there(sandbox, command):
        return well(check, f"{command} is there")
    return fault(
        check,
        f"{command} is not a program that can be seen in the sandbox",
        why=why,
        fix=f"Install it in /usr, or correct {dotted((*path, 'acp_command'))}.",
    )


async def _is_there(sandbox: Sandbox, command: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        process = Process.start(sandbox.launch(f"type -P -- {shlex.quote(command)}", Path(folder)))
        try:
            async with asyncio.timeout(LOOK_S):
                await process.wait()
        except TimeoutError:
            return False
        finally:
            await process.end()
    return process.exit_code == 0
