"""Answers each call with the next line of its script, and counts tokens as words."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from core.ports import Completion, FailureKind, ModelFailure, Reply, Request, Usage
from core.transcript import Assistant, Entry, Result, User

Line: TypeAlias = Completion | Callable[[Request], Completion]
"""What is said, or what makes it of the question."""

ENDED = "the script of {name} has ended: it was asked {times} times"


class ScriptedModel:
    """A `Model` that recites. When its script has ended, its calls fail for good.

    Tokens are words, of the tools' definitions too: the counts are the same on every machine, and
    move when a prompt does.
    """

    def __init__(
        self,
        name: str,
        script: Sequence[Line],
        *,
        context_tokens: int = 100_000,
        max_output_tokens: int = 4_000,
    ) -> None:
        self.name = name
        self.context_tokens = context_tokens
        self.max_output_tokens = max_output_tokens
        self.asked = 0
        self._script = script

    @property
    def left(self) -> int:
        """How many lines were not said yet."""
        return max(0, len(self._script) - self.asked)

    async def complete(
        self, request: Request, on_text: Callable[[str], None] | None = None
    ) -> Completion:
        """Say the next line."""
        self.asked += 1
        if self.asked > len(self._script):
            why = ENDED.format(name=self.name, times=self.asked)
            return ModelFailure(FailureKind.PERMANENT, why)
        line = self._script[self.asked - 1]
        said = line if isinstance(line, Reply | ModelFailure) else line(request)
        usage = Usage(input_tokens=_read(request), output_tokens=_written(said))
        if on_text is not None and isinstance(said, Reply) and said.text:
            on_text(said.text)
        return replace(said, usage=usage)

    def price(self, usage: Usage) -> float:
        """It costs nothing."""
        return 0.0


def _read(request: Request) -> int:
    tools = (f"{t.name} {t.description} {json.dumps(t.parameters)}" for t in request.tools)
    texts = (request.system, *tools, *map(_text, request.messages))
    return sum(len(text.split()) for text in texts)


def _written(said: Completion) -> int:
    if isinstance(said, ModelFailure):
        return 0
    return max(1, len(_text(Assistant(said.text, said.calls)).split()))


def _text(entry: Entry) -> str:
    match entry:
        case User(text) | Result(_, text):
            return text
        case Assistant(text, calls):
            return " ".join([text, *(f"{call.name} {call.arguments}" for call in calls)])
