"""A tool made of its definition and a function. May not know what any tool does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias

from core.ports import Ran, ToolContext, ToolSpec, Waiting
from core.tools.arguments import A, parse
from core.tools.definitions import Definition
from core.transcript import Receipt, ToolCall, ToolResult

SUMMARY_CHARS = 120


@dataclass(frozen=True, slots=True)
class Pending:
    """The call waits for a person; see `core.ports.Waiting`."""

    asked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to: the model's text and the host's own account."""

    text: str
    receipt: Receipt


CarryOut: TypeAlias = Callable[[A, ToolContext, str], Awaitable[Outcome | Pending]]
"""The doing: arguments, context and the call's id. Raises UserError for a fault of the call."""

CloseTurn: TypeAlias = Callable[[int], Awaitable[None]]


async def nothing_left(turn: int) -> None:
    """The `close_turn` of a tool whose calls leave nothing running."""


class DefinedTool(Generic[A]):
    """A `Tool` (see `core.ports`) that parses its arguments and hands them to a function."""

    def __init__(
        self,
        definition: Definition[A],
        carry_out: CarryOut[A],
        close_turn: CloseTurn = nothing_left,
        *,
        resumable: bool = False,
    ) -> None:
        self.spec: ToolSpec = definition.spec
        self.toolset: str = definition.toolset
        self.resumable: bool = resumable
        self._arguments = definition.arguments
        self._carry_out = carry_out
        self._close_turn = close_turn

    async def run(self, call: ToolCall, context: ToolContext) -> Ran:
        """Carry the call out; bad arguments raise UserError, which the registry tells."""
        arguments = parse(self._arguments, call.arguments, call.name)
        outcome = await self._carry_out(arguments, context, call.id)
        if isinstance(outcome, Pending):
            return Waiting(call, outcome.asked)
        return ToolResult(call, outcome.text, outcome.receipt)

    async def close_turn(self, turn: int) -> None:
        """End what calls of that turn left running."""
        await self._close_turn(turn)


def one_line(text: str, limit: int = SUMMARY_CHARS) -> str:
    """The text with its white space folded, cut to `limit` characters."""
    folded = " ".join(text[: limit * 8].split())
    return folded if len(folded) <= limit else folded[: limit - 1] + "…"
