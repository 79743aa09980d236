"""The tools of a session: what the model is told of, and the one way a call is carried out.

Every fault of a call becomes a result here, so that the model reads it and the turn goes on; a
bug in a tool is not a fault of the call and passes through to the turn's border.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Protocol, TypeAlias

from core.errors import PermanentError, TransientError, UserError
from core.messages import Principal
from core.ports import Tool, ToolContext, ToolSpec
from core.tools.tool import one_line
from core.transcript import Receipt, ToolCall, ToolResult

Allowed: TypeAlias = Callable[[Principal, str], str]
"""Whether a principal may use a tool: "" to go on, else the sentence that says why not."""


class ToolsetTool(Tool, Protocol):
    """A tool that knows which toolset it belongs to."""

    toolset: str


def anyone(principal: Principal, tool: str) -> str:
    """The rule that lets every admitted person use every tool."""
    return ""


class Registry:
    """Tools by name. Lists keep the order the tools were given in, so prompts stay stable."""

    def __init__(self, tools: Iterable[ToolsetTool], allowed: Allowed = anyone) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        self._granted: frozenset[str] = frozenset(t.toolset for t in self._tools.values())
        self._allowed = allowed

    @property
    def toolsets(self) -> tuple[str, ...]:
        """All known toolsets, granted or not, in order."""
        return tuple(dict.fromkeys(tool.toolset for tool in self._tools.values()))

    def granting(self, toolsets: Collection[str]) -> Registry:
        """The same tools, of which only those in `toolsets` (and granted here) may be used."""
        narrowed = Registry(self._tools.values(), self._allowed)
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
        if refusal := self._allowed(context.principal, call.name):
            return _fault(call, refusal)
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
