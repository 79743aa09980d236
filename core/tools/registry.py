"""The tools of a session: what the model is told of, and the one way a call is carried out.

Every fault of a call becomes a result here, so that the model reads it and the turn goes on; a
bug in a tool is not a fault of the call and passes through to the turn's border.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Protocol

from core.errors import PermanentError, TransientError, UserError
from core.messages import Principal, Role, lowest
from core.ports import Tool, ToolContext, ToolSpec
from core.tools.tool import one_line
from core.transcript import Receipt, ToolCall, ToolResult

TOOLSETS: Mapping[str, Role] = {
    "terminal": Role.MEMBER,
    "file": Role.MEMBER,
    "think": Role.MEMBER,
    "send": Role.MEMBER,
}
"""The lowest role that may use the tools of each toolset; one that is not here is for owners.

All of today's work in the lane's own folder and sandbox, which are the border for members.
"""


class ToolsetTool(Tool, Protocol):
    """A tool that knows which toolset it belongs to."""

    toolset: str


def refusal(principal: Principal, tool: str, least: Role) -> str:
    """Why a principal may not use a tool of that least role, "" when they may.

    The principal is the turn's: of a goal's turn its setter, lowered to the goal's floor.
    """
    if lowest(principal.role, least) is least:
        return ""
    return (
        f"{tool} is for owners, and this turn has a {principal.role.value}'s rights. Go on "
        "without it, or say in the answer that an owner must ask for this."
    )


class Registry:
    """Tools by name. Lists keep the order the tools were given in, so prompts stay stable.

    `roles` is the table that each call is held to, as `TOOLSETS`.
    """

    def __init__(self, tools: Iterable[ToolsetTool], roles: Mapping[str, Role] = TOOLSETS) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        self._granted: frozenset[str] = frozenset(t.toolset for t in self._tools.values())
        self._roles = roles

    @property
    def toolsets(self) -> tuple[str, ...]:
        """All known toolsets, granted or not, in order."""
        return tuple(dict.fromkeys(tool.toolset for tool in self._tools.values()))

    def granting(self, toolsets: Collection[str]) -> Registry:
        """The same tools, of which only those in `toolsets` (and granted here) may be used."""
        narrowed = Registry(self._tools.values(), self._roles)
        narrowed._granted = self._granted.intersection(toolsets)
        return narrowed

    def specs(self, toolsets: Collection[str] | None = None) -> tuple[ToolSpec, ...]:
        """What the model is told of, in a fixed order; the granted ones when None."""
        wanted = self._granted if toolsets is None else self._granted.intersection(toolsets)
        return tuple(tool.spec for tool in self._tools.values() if tool.toolset in wanted)

    def resumable(self, name: str) -> bool:
        """Whether a started call of that tool is re-attached after a restart."""
        tool = self._tools.get(name)
        return tool is not None and tool.resumable

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Carry a call out. Faults of the call are results with `receipt.ok` false."""
        tool = self._tools.get(call.name)
        if tool is None or tool.toolset not in self._granted:
            return _fault(call, self._unknown(call.name))
        least = self._roles.get(tool.toolset, Role.OWNER)
        if refused := refusal(context.principal, call.name, least):
            return _fault(call, refused)
        try:
            return _storable(await tool.run(call, context))
        except (UserError, PermanentError, TransientError, OSError) as error:
            return _fault(call, str(error) or type(error).__name__)

    async def close_turn(self, turn: int) -> None:
        """End what calls of that turn left running, tool by tool."""
        for tool in self._tools.values():
            await tool.close_turn(turn)

    def _unknown(self, name: str) -> str:
        names = [spec.name for spec in self.specs()]
        near = difflib.get_close_matches(name[:60], names, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]}?" if near else ""
        return f"There is no tool {one_line(name, 60)!r}.{hint} Tools: {', '.join(names)}."


def _fault(call: ToolCall, text: str) -> ToolResult:
    receipt = Receipt(ok=False, summary=one_line(f"{call.name}: {text}"))
    return _storable(ToolResult(call, text, receipt))


def _storable(result: ToolResult) -> ToolResult:
    """A result that any store and any API takes: file names may hold bytes that are no UTF-8."""
    receipt = replace(
        result.receipt, summary=_text(result.receipt.summary), path=_text(result.receipt.path)
    )
    return replace(result, text=_text(result.text), receipt=receipt)


def _text(text: str) -> str:
    return (
        text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\N{REPLACEMENT CHARACTER}")
    )
