"""Programs of other people: MCP servers and local agent runners.

Their SDKs take long to load and few set-ups use them, so each is loaded when it is needed first,
on a thread.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.mcp.options import ServerOptions
from adapters.mcp.servers import McpServers
from adapters.mcp.tool import Keep
from adapters.workspace.orphans import OWNER, owner_of
from adapters.workspace.tools import WorkspaceTools
from core.delegation.ports import AskPermission, RunnerEnd, Runners
from core.delegation.worker import Runner
from core.ports import ToolContext
from gateway.settings import Settings

if TYPE_CHECKING:
    from adapters.mcp.offers import Connect


def mcp_servers(settings: Settings, data: Path, keep: Keep) -> McpServers | None:
    """The configured servers, None without any; `keep` puts a long result into a file."""
    folder = data / "mcp"  # nothing lies there that a server could hand out
    options = mcp_options(settings, data, folder)
    if not options:
        return None
    folder.mkdir(exist_ok=True)
    return McpServers(options, connector, keep)


def mcp_options(settings: Settings, data: Path, folder: Path) -> list[ServerOptions]:
    """The enabled servers; one without a `cwd` starts in `folder`."""
    return [
        ServerOptions(
            name=name,
            command=server.command or "",
            args=server.args,
            env={key: value.get_secret_value() for key, value in server.env.items()},
            mark={OWNER: owner_of(data)},
            cwd=server.cwd or folder,
            url=server.url or "",
            headers={key: value.get_secret_value() for key, value in server.headers.items()},
            timeout_s=server.timeout_s,
            start_s=server.start_s,
            members=server.members,
        )
        for name, server in settings.mcp.servers.items()
        if server.enabled
    ]


def connector() -> Connect:
    """What connects to a server; blocks while it loads."""
    from adapters.mcp.wire import connect  # noqa: PLC0415 - see the module

    return connect


class LateRunners:
    """`Runners` that are made when the first of them is started."""

    def __init__(self, tools: WorkspaceTools) -> None:
        self._tools = tools
        self._made: Runners | None = None

    async def run(
        self,
        runner: Runner,
        task: str,
        context: ToolContext,
        *,
        permit: AskPermission,
        timeout_s: float,
    ) -> RunnerEnd:
        """See `Runners.run`."""
        if self._made is None:
            self._made = await asyncio.to_thread(self._make)
        return await self._made.run(runner, task, context, permit=permit, timeout_s=timeout_s)

    def _make(self) -> Runners:
        from adapters.acp.runner import AcpRunners  # noqa: PLC0415 - see the module

        return AcpRunners(self._tools.terminal.start_runner)
