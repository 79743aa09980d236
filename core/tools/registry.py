"""The tools of a session: what the model is told of, and the one way a call is carried out.

Every fault of a call becomes a result here, so that the model reads it and the turn goes on; a
bug in a tool is not a fault of the call and passes through to the turn's border.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from core.errors import PermanentError, TransientError, UserError
from core.messages import Principal, Role, lowest
from core.ports import Ran, Tool, ToolContext, ToolSpec, Waiting
from core.tools.tool import one_line
from core.transcript import Receipt, ToolCall, ToolResult

TOOLSETS: Mapping[str, Role] = {
    "terminal": Role.MEMBER,
    "file": Role.MEMBER,
    "think": Role.MEMBER,
    "ask": Role.MEMBER,
    "send": Role.MEMBER,
    "delegation": Role.MEMBER,
}
"""The lowest role that may use the tools of each toolset; one that is not here is for owners.

All of these work in the lane's own folder and sandbox, which are the border for members, or only
ask; a child has no more than its parent.
"""


class ToolsetTool(Tool, Protocol):
    """A tool that knows which toolset it belongs to."""

    toolset: str


class ToolSource(Protocol):
    """Tools that come and go while the program runs, as those of another program do."""

    @property
    def toolsets(self) -> Sequence[str]:
        """Its toolsets, the same for ever: known even while they have no tools."""
        ...

    def tools(self) -> Sequence[ToolsetTool]:
        """The tools that it has just now, in an order that does not change."""
        ...

    def missing(self, name: str) -> str:
        """Why a tool of that name, which it may have at other times, cannot be called just now;
        "" when it knows nothing of it."""
        ...


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
    """Tools by name: fixed ones, and those that its sources have just now.

    Lists keep the order the tools were given in, the sources' after the fixed, so prompts stay
    stable. `roles` is the table that each call is held to, as `TOOLSETS`.
    """

    def __init__(
        self,
        tools: Iterable[ToolsetTool],
        roles: Mapping[str, Role] = TOOLSETS,
        sources: Sequence[ToolSource] = (),
    ) -> None:
        self._fixed = {tool.spec.name: tool for tool in tools}
        self._roles = roles
        self._sources = sources
        self._granted: frozenset[str] = frozenset(self.toolsets)

    @property
    def toolsets(self) -> tuple[str, ...]:
        """All known toolsets, granted or not, in order."""
        fixed = (tool.toolset for tool in self._fixed.values())
        coming = (name for source in self._sources for name in source.toolsets)
        return tuple(dict.fromkeys((*fixed, *coming)))

    @property
    def granted(self) -> tuple[str, ...]:
        """The toolsets whose tools may be used, in order."""
        return tuple(name for name in self.toolsets if name in self._granted)

    def granting(self, toolsets: Collection[str]) -> Registry:
        """The same tools, of which only those in `toolsets` (and granted here) may be used."""
        narrowed = Registry(self._fixed.values(), self._roles, self._sources)
        narrowed._granted = self._granted.intersection(toolsets)
        return narrowed

    def specs(self, toolsets: Collection[str] | None = None) -> tuple[ToolSpec, ...]:
        """What the model is told of just now, in order; the granted ones when None."""
        wanted = self._granted if toolsets is None else self._granted.intersection(toolsets)
        return tuple(tool.spec for tool in self._all().values() if tool.toolset in wanted)

    def resumable(self, name: str) -> bool:
        """Whether a started call of that tool is re-attached after a restart."""
        tool = self._all().get(name)
        return tool is not None and tool.resumable

    @property
    def resumables(self) -> frozenset[str]:
        """The tools of which that is so."""
        return frozenset(name for name, tool in self._all().items() if tool.resumable)

    async def run(self, call: ToolCall, context: ToolContext) -> Ran:
        """Carry a call out. Faults of the call are results with `receipt.ok` false."""
        tool = self._all().get(call.name)
        if tool is None or tool.toolset not in self._granted:
            return _fault(call, self._missing(call.name) or self._unknown(call.name))
        least = self._roles.get(tool.toolset, Role.OWNER)
        if refused := refusal(context.principal, call.name, least):
            return _fault(call, refused)
        try:
            ran = await tool.run(call, context)
        except (UserError, PermanentError, TransientError, OSError) as error:
            return _fault(call, str(error) or type(error).__name__)
        return ran if isinstance(ran, Waiting) else _storable(ran)

    async def close_turn(self, turn: int) -> None:
        """End what calls of that turn left running, tool by tool."""
        for tool in self._all().values():
            await tool.close_turn(turn)

    def _all(self) -> dict[str, ToolsetTool]:
        """By name; what came first keeps a name that is taken twice."""
        tools = dict(self._fixed)
        for source in self._sources:
            for tool in source.tools():
                tools.setdefault(tool.spec.name, tool)
        return tools

    def _missing(self, name: str) -> str:
        """Why a tool of a granted source is not there; a session is told of its tools once."""
        asked = (s for s in self._sources if not self._granted.isdisjoint(s.toolsets))
        return next(filter(None, (source.missing(name) for source in asked)), "")

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
