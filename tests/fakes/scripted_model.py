"""A model that recites: it answers each call with the next line of its script."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from core.ports import Completion, ModelFailure, Reply, Request, Usage
from core.transcript import Assistant, Entry, Result, ToolCall, User


@dataclass(frozen=True, slots=True)
class Held:
    """A line that is spoken only after `until` is set; a model that hangs when it never is."""

    line: Completion
    until: asyncio.Event = field(default_factory=asyncio.Event)


Line: TypeAlias = Completion | Held | Callable[[Request], Completion]


class ScriptEnded(AssertionError):
    """The model was asked more often than its script has lines."""


class ScriptedModel:
    """Recites `script` and keeps every request; the last line repeats when `loop_last` is set.

    A line is a completion, a `Held` one, or a function of the request. Replies without usage get
    one counted in words, so that counts grow with the conversation as a provider's do.
    """

    def __init__(
        self,
        script: Iterable[Line] = (),
        *,
        name: str = "scripted",
        context_tokens: int = 100_000,
        max_output_tokens: int = 4_000,
        loop_last: bool = False,
        price_per_token: float = 0.0,
    ) -> None:
        self.name = name
        self.context_tokens = context_tokens
        self.max_output_tokens = max_output_tokens
        self.requests: list[Request] = []
        self.cancelled = 0
        self.asked = asyncio.Event()
        self._script = list(script)
        self._next = 0
        self._loop_last = loop_last
        self._price = price_per_token

    async def complete(
        self, request: Request, on_text: Callable[[str], None] | None = None
    ) -> Completion:
        """Say the next line, its text piece by piece."""
        self.requests.append(request)
        self.asked.set()
        line = self._take()
        if isinstance(line, Held):
            line = await self._hold(line)
        elif not isinstance(line, Reply | ModelFailure):
            line = line(request)
        if isinstance(line, ModelFailure):
            return line
        if on_text is not None:
            for piece in line.text.splitlines(keepends=True):
                on_text(piece)
        return line if line.usage != Usage() else replace(line, usage=self._count(request, line))

    def price(self, usage: Usage) -> float:
        """The same price for every token."""
        return (usage.input_tokens + usage.output_tokens) * self._price

    def _take(self) -> Line:
        if self._next >= len(self._script):
            if not (self._loop_last and self._script):
                raise ScriptEnded(f"asked {len(self.requests)} times")
            return self._script[-1]
        self._next += 1
        return self._script[self._next - 1]

    async def _hold(self, held: Held) -> Completion:
        try:
            await held.until.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return held.line

    def _count(self, request: Request, reply: Reply) -> Usage:
        read = len(request.system.split()) + sum(map(_words, request.messages))
        written = _words(Assistant(reply.text, reply.calls))
        usage = Usage(input_tokens=read, output_tokens=max(1, written))
        return replace(usage, cost=self.price(usage))


def says(text: str, *, cut: bool = False) -> Reply:
    """A final answer."""
    return Reply(text, cut=cut)


def calls(*wanted: tuple[str, str], text: str = "", ids: str = "c") -> Reply:
    """A reply that asks for (name, arguments) calls with the ids c0, c1 …"""
    made = (ToolCall(f"{ids}{i}", name, args) for i, (name, args) in enumerate(wanted))
    return Reply(text, tuple(made))


def _words(entry: Entry) -> int:
    match entry:
        case User(text) | Result(_, text):
            return len(text.split())
        case Assistant(text, asked):
            return len(text.split()) + sum(1 + len(call.arguments.split()) for call in asked)
