"""A lane's workspace in a data directory with a secret beside it, for the workspace's tests."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from adapters.workspace.options import WorkspaceOptions
from adapters.workspace.tools import WorkspaceTools, workspace_tools
from adapters.workspace.workspace import home_of
from core.escalations.desk import Desk
from core.messages import Address, PlatformName, Principal, Role
from core.ports import Ran, ToolContext
from core.tools.registry import Registry
from core.transcript import ToolCall, ToolResult
from tests.fakes.ended import ended

SECRET = "token-of-the-bot"


@dataclass(frozen=True, slots=True)
class Lane:
    """What a test holds: the folders, the tools, and a way to call them."""

    data: Path
    workspace: Path
    tools: WorkspaceTools
    chat: str = "chat"

    def context(self, turn: int = 1) -> ToolContext:
        address = Address(PlatformName.CONSOLE, "bot", self.chat)
        owner = Principal("1", "Ann", Role.OWNER)
        return ToolContext(address, owner, turn, self.workspace, lambda _: None)

    async def call(self, name: str, **arguments: object) -> ToolResult:
        return ended(await self.begin(name, arguments))

    async def begin(
        self, name: str, arguments: Mapping[str, object], *, again: bool = False
    ) -> Ran:
        """The call may wait for a person; `again` is it with the answer."""
        call = ToolCall("c1", name, json.dumps(dict(arguments)))
        context = replace(self.context(), asked=frozenset({"c1"} if again else ()))
        return await Registry(self.tools.tools).run(call, context)

    async def run(self, command: str, **arguments: object) -> ToolResult:
        return await self.call("run", command=command, **arguments)


@asynccontextmanager
async def open_lane(
    base: Path, options: WorkspaceOptions, desk: Desk | None = None
) -> AsyncIterator[Lane]:
    """A new lane below `base`; its processes are ended at the end."""
    data = base / "data"
    workspace = home_of(Address(PlatformName.CONSOLE, "bot", "chat").key, data)
    (data / "secret.txt").write_text(SECRET)
    tools = workspace_tools(options, data, desk)
    try:
        yield Lane(data, workspace, tools)
    finally:
        await tools.close()
