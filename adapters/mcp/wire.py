"""Connections to MCP servers over the SDK: handshake, lists, calls.

Nothing that a server asks of us is granted: no sampling, no questions to people, no roots.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version

import anyio
import mcp.types as sdk
from mcp.client.session import ClientSession, IncomingMessage
from mcp.shared.exceptions import MCPError
from mcp.types import CONNECTION_CLOSED, METHOD_NOT_FOUND, REQUEST_TIMEOUT
from mcp.types import UNSUPPORTED_PROTOCOL_VERSION as UNSUPPORTED
from pydantic import ValidationError

from adapters.mcp import decode
from adapters.mcp.clues import reason
from adapters.mcp.http import Endpoint
from adapters.mcp.offers import Connection, Offers, Said
from adapters.mcp.options import ServerOptions
from adapters.mcp.process import ServerProcess
from core.errors import PursuitError, TransientError, UserError
from core.tools.tool import one_line
from core.transcript import Json

MAX_PAGES = 50
SETTLE_S = 0.2
"""Changes of a list that follow on each other are looked at once."""
WRITE_S = 5.0
"""A call has this much more than its own time: the SDK's clock starts once it is written."""
REFUSAL_CHARS = 500


@asynccontextmanager
async def connect(options: ServerOptions) -> AsyncIterator[Connection]:
    """See `offers.Connect`."""
    live = Live(options)
    link = (ServerProcess if options.command else Endpoint)(options, live.lose)
    try:
        async with link.open() as streams, asyncio.TaskGroup() as calls:
            try:
                async with ClientSession(
                    *streams, message_handler=live.hear, client_info=_ourselves()
                ) as session:
                    with anyio.fail_after(options.start_s):
                        await live.greet(session, calls)
                    yield live
            finally:
                live.end()
    except Exception as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError from error  # a fault of the end must not hide the end
        raise TransientError(reason(error, options, link.clue)) from error


def _ourselves() -> sdk.Implementation:
    return sdk.Implementation(name="pursuit", version=version("pursuit"))


class Live:
    """A `Connection`. Calls run as tasks of the connection's own, so that whoever gives one up
    need not wait until the server has been told."""

    def __init__(self, options: ServerOptions) -> None:
        self.offers = Offers()
        self._options = options
        self._news = asyncio.Event()
        self._over = False
        self._session: ClientSession | None = None
        self._tasks: asyncio.TaskGroup | None = None
        self._calls: set[asyncio.Task[Said | PursuitError]] = set()

    async def greet(self, session: ClientSession, calls: asyncio.TaskGroup) -> None:
        """Shake hands and list the tools. A server that knows only the later protocol, which has
        no handshake, is asked in its way."""
        try:
            await session.initialize()
        except MCPError as error:
            if error.code not in {UNSUPPORTED, METHOD_NOT_FOUND}:
                raise
            await session.discover()
        self.offers = await self._list(session)
        self._session, self._tasks = session, calls

    async def hear(self, message: IncomingMessage) -> None:
        """What the server says by itself."""
        if isinstance(message, sdk.ToolListChangedNotification):
            self._news.set()

    def lose(self) -> None:
        """The server can no longer be spoken to."""
        self._over = True
        self._news.set()

    def end(self) -> None:
        """Give up the calls that are left."""
        self.lose()
        for task in self._calls:
            task.cancel()

    async def changed(self) -> None:
        """See `Connection`."""
        await self._news.wait()
        if not self._over:
            await asyncio.sleep(SETTLE_S)
            self._news.clear()
        if self._over or self._session is None:
            raise TransientError("the connection was lost")
        with anyio.fail_after(self._options.timeout_s):
            self.offers = await self._list(self._session)

    async def _list(self, session: ClientSession) -> Offers:
        capabilities = session.server_capabilities
        if capabilities is None or capabilities.tools is None:
            return Offers()
        tools: list[sdk.Tool] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await session.list_tools(params=sdk.PaginatedRequestParams(cursor=cursor))
            tools += page.tools
            cursor = page.next_cursor
            if cursor is None or len(tools) > 2 * decode.MAX_TOOLS:
                break
        return await asyncio.to_thread(decode.offers, tools)

    async def call(
        self, tool: str, arguments: Mapping[str, Json], progress: Callable[[str], None]
    ) -> Said:
        """See `Connection`."""
        if self._over or self._session is None or self._tasks is None:
            raise self._lost_call()
        work = self._carry(self._session, tool, arguments, progress)
        task = self._tasks.create_task(work, name=f"mcp {self._options.name}")
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            raise
        outcome = self._lost_call() if task.cancelled() else task.result()
        if isinstance(outcome, PursuitError):
            raise outcome
        return outcome

    async def _carry(
        self,
        session: ClientSession,
        tool: str,
        arguments: Mapping[str, Json],
        tell: Callable[[str], None],
    ) -> Said | PursuitError:
        """One call; never raises, which would end the connection for all others."""

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            tell(message or (f"{progress:g} of {total:g}" if total else f"{progress:g}"))

        seconds = self._options.timeout_s
        try:
            with anyio.fail_after(seconds + WRITE_S):
                result = await session.call_tool(tool, dict(arguments), seconds, on_progress)
            return decode.said(result)
        except MCPError as error:
            return self._refused(error)
        except TimeoutError:
            return self._late()
        except (ValidationError, RuntimeError) as error:
            return UserError(
                f"{self._options.name} sent a bad result: {one_line(str(error), 300)}"
            )

    def _refused(self, error: MCPError) -> PursuitError:
        if error.code == REQUEST_TIMEOUT:
            return self._late()
        if self._over or error.code == CONNECTION_CLOSED:
            self._news.set()  # over HTTP this may be all that is ever heard of a server's end
            return self._lost_call()
        said = one_line(decode.clean(error.message), REFUSAL_CHARS)
        return UserError(f"{self._options.name} refused the call: {said}")

    def _late(self) -> UserError:
        self._news.set()  # a server that hangs does not list its tools either: begin anew then
        name, seconds = self._options.name, self._options.timeout_s
        return UserError(
            f"{name} did not answer within {seconds:g} s ({self._options.key('timeout_s')}). The "
            "call was cancelled; it may have had its effect all the same."
        )

    def _lost_call(self) -> UserError:
        return UserError(
            f"The connection to the MCP server {self._options.name} was lost during this call, "
            "which may have had its effect all the same. Look before you try again."
        )
