"""A server's tool behind the port `Tool`. Loads no SDK."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias, cast

from adapters.mcp.offers import Connection, Offer
from adapters.mcp.options import ServerOptions
from core.errors import UserError
from core.ports import ToolContext, ToolSpec
from core.tools.arguments import json_object
from core.tools.tool import one_line
from core.transcript import Json, Receipt, ToolCall, ToolResult

SHOWN_CHARS = 8_000
PROGRESS_CHARS = 120
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")

Keep: TypeAlias = Callable[[ToolContext, str], Awaitable[str]]
"""Keeps a long text in a file that the agent can read; its path, "" when that failed."""


class McpTool:
    """One tool. `connection` raises UserError while the server is not connected."""

    resumable = False

    def __init__(
        self,
        name: str,
        offer: Offer,
        options: ServerOptions,
        connection: Callable[[], Connection],
        keep: Keep,
    ) -> None:
        self.spec = ToolSpec(name, offer.description, offer.parameters)
        self.toolset = options.toolset
        self._offer = offer
        self._title = one_line(f"{options.name}: {offer.name}")
        self._connection = connection
        self._keep = keep

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Check the arguments and call the server. Raises UserError for a fault of the call."""
        arguments = self._arguments(call)
        connection = self._connection()

        def progress(text: str) -> None:
            line = one_line(CONTROLS.sub(" ", text[:1_000]), PROGRESS_CHARS)
            context.progress(f"{self._title}: {line}")

        started = time.monotonic()
        said = await connection.call(self._offer.name, arguments, progress)
        seconds = time.monotonic() - started
        receipt = Receipt(ok=said.ok, summary=self._title, seconds=seconds)
        return ToolResult(call, await self._shown(said.text, context), receipt)

    async def close_turn(self, turn: int) -> None:
        """Nothing is left: a call that is given up is cancelled at its server."""

    def _arguments(self, call: ToolCall) -> dict[str, Json]:
        try:
            arguments = cast("dict[str, Json]", json_object(call.arguments))
            faults = self._offer.check(arguments)
        except (ValueError, RecursionError) as error:
            faults = [f"not a JSON object: {error}"]
        if faults:
            raise UserError(
                f"Bad arguments: {'; '.join(faults)}. {call.name} takes: {self._takes}."
            )
        return arguments

    @property
    def _takes(self) -> str:
        schema = self._offer.parameters
        properties, required = schema.get("properties"), schema.get("required")
        names = list(properties) if isinstance(properties, dict) else []
        needed = required if isinstance(required, list) else []
        return ", ".join(n if n in needed else f"{n}?" for n in names[:40]) or "none"

    async def _shown(self, text: str, context: ToolContext) -> str:
        if len(text) <= SHOWN_CHARS:
            return text
        path = await self._keep(context, text)
        where = f"; the whole is in {path}" if path else ""
        half = SHOWN_CHARS // 2
        gap = f"[… the middle of {len(text)} characters is left out{where} …]"
        return f"{text[:half]}\n{gap}\n{text[-half:]}"
