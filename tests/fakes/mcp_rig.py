"""Configured MCP servers at work, behind the registry, as the program has them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from adapters.mcp.options import ServerOptions
from adapters.mcp.servers import McpServers
from adapters.mcp.wire import connect
from core.messages import Address, PlatformName, Principal, Role
from core.ports import Line, ToolContext
from core.tools.registry import Registry
from core.transcript import ToolCall, ToolResult
from tests.fakes.ended import ended

FAKES = Path(__file__).parent
PATIENCE_S = 20.0


def real(name: str = "hub", **more: object) -> ServerOptions:
    """The real server, as a program over stdio."""
    args = (str(FAKES / "mcp_server.py"),)
    return ServerOptions(name=name, command=sys.executable, args=args, **more)  # type: ignore[arg-type]


def misfit(how: str, name: str = "odd", **more: object) -> ServerOptions:
    """A server that misbehaves."""
    args = (str(FAKES / "mcp_misfit.py"), how)
    return ServerOptions(name=name, command=sys.executable, args=args, **more)  # type: ignore[arg-type]


@contextmanager
def web_server(port: int = 0) -> Iterator[str]:
    """The real server over HTTP on loopback, and its address."""
    argv = (sys.executable, str(FAKES / "mcp_server.py"), "http", str(port))
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as web:
        assert web.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(web.stdout.readline())}/mcp"
        finally:
            web.kill()


class Rig:
    """Servers, what was shown of them, and a way to call their tools."""

    def __init__(self, *options: ServerOptions) -> None:
        self.servers = McpServers(options, lambda: connect, self._keep)
        self.registry = Registry([], self.servers.roles, [self.servers])
        self.told: list[Line] = []
        self.kept: list[str] = []
        self.stop: Callable[[], object] = list

    async def _keep(self, context: ToolContext, text: str) -> str:
        self.kept.append(text)
        return ".pursuit/output/1.txt"

    def context(self, role: Role = Role.OWNER) -> ToolContext:
        address = Address(PlatformName.CONSOLE, "bot", "chat")
        return ToolContext(
            address, Principal("1", "Ann", role), 7, Path("/nowhere"), self.told.append
        )

    async def call(self, name: str, arguments: object = None, **as_: Role) -> ToolResult:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        return ended(await self.registry.run(ToolCall("c1", name, text), self.context(**as_)))

    @property
    def names(self) -> list[str]:
        return [spec.name for spec in self.registry.specs()]

    @staticmethod
    async def until(true: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not true():  # noqa: ASYNC110 - other programs change it
                await asyncio.sleep(0.01)

    async def until_answered(self, name: str, arguments: object, text: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while (await self.call(name, arguments)).text != text:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.01)


@asynccontextmanager
async def running(*options: ServerOptions, wait: bool = True) -> AsyncIterator[Rig]:
    """The servers from their start until their end."""
    rig = Rig(*options)
    async with asyncio.TaskGroup() as lives:
        life = lives.create_task(rig.servers.run())
        rig.stop = life.cancel
        try:
            if wait:
                async with asyncio.timeout(PATIENCE_S):
                    await rig.servers.ready()
            yield rig
        finally:
            life.cancel()
