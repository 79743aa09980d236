"""What the fake OpenAI server has been asked, and by whom."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.fakes.openai_replies import Scripted


@dataclass(eq=False, slots=True)
class Seen:
    """One request as it came. `gone` is set when its client hung up before the end."""

    role: str
    path: str
    raw: bytes
    body: Mapping[str, object]
    headers: Mapping[str, str]
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    def messages(self) -> list[dict[str, object]]:
        """The conversation, of either API."""
        found = self.body.get("messages") or self.body.get("input")
        return found if isinstance(found, list) else []

    def said(self) -> str:
        """The text of the last message."""
        last = self.messages()[-1]
        return str(last.get("content") or last.get("output") or "")


Default: TypeAlias = Scripted | Callable[[Seen], Scripted]


ROLES = ("judge", "critic", "child", "checker", "overseer")


def role_of(body: Mapping[str, object]) -> str:
    """Who is asked: by the model's name, then by the wish for a schema."""
    model = str(body.get("model"))
    for role in ROLES:
        if role in model:
            return role
    return "judge" if "response_format" in body or "text" in body else "main"
