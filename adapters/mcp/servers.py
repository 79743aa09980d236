"""The configured MCP servers: keeps each connected, and is the source of their tools.

Loads no SDK by itself: `load` does, on a thread, once `run` begins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import structlog

from adapters.mcp.names import label_of, labels, tool_names
from adapters.mcp.offers import Connect, Connection, Offers
from adapters.mcp.options import ServerOptions
from adapters.mcp.tool import Keep, McpTool
from core.backoff import Backoff
from core.errors import TransientError, UserError
from core.messages import Role

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 60.0
FAILURES_AWAITED = 2
"""A server that has failed so often is tried again, but no session waits for that."""
STEADY_S = 60.0
"""A connection that held this long was a good one: the next pause is short again."""
STARTING = "it is still starting"
NO_SDK = (
    "the mcp package is not installed; install it with: pip install '.[mcp]' in the clone of"
    " Pursuit"
)

log = structlog.get_logger(__name__)


class McpServers:
    """All servers, as a `core.tools.registry.ToolSource`.

    `load` imports `adapters.mcp.wire` and gives its `connect`; it runs on a thread.
    """

    def __init__(
        self, options: Sequence[ServerOptions], load: Callable[[], Connect], keep: Keep
    ) -> None:
        named = labels([one.name for one in options])
        self._servers = {named[one.name]: _Server(one, named[one.name], keep) for one in options}
        self._load = load
        self.toolsets: tuple[str, ...] = tuple(one.toolset for one in options)
        self.roles: Mapping[str, Role] = {
            one.toolset: Role.MEMBER if one.members else Role.OWNER for one in options
        }

    async def run(self) -> None:
        """Keep every server connected, until cancelled; then no process of theirs is left."""
        async with asyncio.TaskGroup() as lives:
            for server in self._servers.values():
                server.begin()
            try:
                connect = await asyncio.to_thread(self._load)
            except ImportError:
                for server in self._servers.values():
                    server.down(NO_SDK, final=True)
                await asyncio.Event().wait()
                return
            for server in self._servers.values():
                lives.create_task(server.run(connect), name=f"mcp {server.options.name}")

    async def ready(self) -> None:
        """Wait until each server is connected, has used up its `start_s`, or cannot be started."""
        for server in self._servers.values():
            await server.settled.wait()

    def tools(self) -> Sequence[McpTool]:
        """The tools as they were listed last, by name; a server that is lost for now keeps its."""
        found = [tool for server in self._servers.values() for tool in server.tools]
        return sorted(found, key=lambda tool: tool.spec.name)

    def missing(self, name: str) -> str:
        """See `ToolSource`."""
        server = self._servers.get(label_of(name))
        return "" if server is None or not server.fault else server.not_connected()

    def faults(self) -> Mapping[str, str]:
        """The servers that are not connected, with the reasons."""
        return {s.options.name: s.fault for s in self._servers.values() if s.fault}


class _Server:
    """One server's life. `fault` says why it is not connected, "" while it is."""

    def __init__(self, options: ServerOptions, label: str, keep: Keep) -> None:
        self.options = options
        self.tools: tuple[McpTool, ...] = ()
        self.fault = STARTING
        self.settled = asyncio.Event()
        self._label = label
        self._keep = keep
        self._connection: Connection | None = None
        self._left_out: Mapping[str, str] = {}
        self._told = ""

    def begin(self) -> None:
        """Nobody waits longer than `start_s` from here on."""
        asyncio.get_running_loop().call_later(self.options.start_s, self.settled.set)

    async def run(self, connect: Connect) -> None:
        """Connect, stay, and connect again."""
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        loop = asyncio.get_running_loop()
        failures = 0
        while True:
            started = loop.time()
            try:
                async with connect(self.options) as connection:
                    await self._stay(connection)
            except TransientError as error:
                self._connection = None
                missing = isinstance(error.__cause__, FileNotFoundError | PermissionError)
                failures += 1
                self.down(str(error), final=missing or failures >= FAILURES_AWAITED)
            if loop.time() - started > STEADY_S:
                backoff.reset()
            await backoff.pause()

    async def _stay(self, connection: Connection) -> None:
        """Follow what the server offers until the connection is lost."""
        try:
            self._offer(connection.offers)
            self._connection, self.fault = connection, ""
            self._told = ""
            log.info("mcp_server_up", server=self.options.name, tools=len(self.tools))
            self.settled.set()
            while True:
                await connection.changed()
                self._offer(connection.offers)
        finally:
            self._connection = None
            self.fault = self.fault or "the connection was lost"

    def down(self, reason: str, *, final: bool = False) -> None:
        """Note why the server is not connected; a `final` reason is not waited for."""
        if reason != self._told:
            log.warning("mcp_server_down", server=self.options.name, reason=reason)
        self.fault = self._told = reason
        if final:
            self.settled.set()

    def not_connected(self) -> str:
        """What a model is told of a server that is down."""
        return f"The MCP server {self.options.name} is not connected: {self.fault}."

    def _offer(self, offers: Offers) -> None:
        names = tool_names(self._label, [offer.name for offer in offers.tools])
        self.tools = tuple(
            McpTool(names[offer.name], offer, self.options, self._connected, self._keep)
            for offer in offers.tools
        )
        if offers.left_out and offers.left_out != self._left_out:
            some = {str(name)[:60]: why for name, why in list(offers.left_out.items())[:20]}
            log.warning("mcp_tools_left_out", server=self.options.name, tools=some)
        self._left_out = offers.left_out

    def _connected(self) -> Connection:
        if self._connection is None:
            raise UserError(self.not_connected())
        return self._connection
