"""What can go wrong between a bot and the Bot API, as values a test plans in advance.

`FaultPlan` hands each planned fault out once (or `times` times), in order; a fault may be bound
to one chat. It knows nothing of HTTP: the server turns a fault into bytes, or into none.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class TooMany:
    """429 with `retry_after`; nothing is handled."""

    retry_after: int = 1


@dataclass(frozen=True, slots=True)
class Status:
    """An error answer; nothing is handled. 5xx like Telegram's own, or any refusal."""

    code: int = 500
    description: str = "Internal Server Error"


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is cut before the request is handled."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The request is handled, but the connection is cut before the answer."""


@dataclass(frozen=True, slots=True)
class Html:
    """A page with status 200 where JSON should be, as captive portals send."""


@dataclass(frozen=True, slots=True)
class Stall:
    """The answer waits for `until` (set it to let go), then the request is handled."""

    until: asyncio.Event = field(default_factory=asyncio.Event)


Fault: TypeAlias = TooMany | Status | Reset | Lost | Html | Stall

KINDS = {"too_many": TooMany, "status": Status, "reset": Reset, "lost": Lost, "html": Html}


@dataclass(slots=True)
class _Planned:
    fault: Fault
    left: int
    chat: int | None


class FaultPlan:
    """The faults to come, per method; "*" stands for any method."""

    def __init__(self) -> None:
        self._planned: dict[str, deque[_Planned]] = {}

    def add(self, method: str, fault: Fault, *, times: int = 1, chat: int | None = None) -> None:
        """Let the next `times` calls of the method fail, those to `chat` only when given."""
        self._planned.setdefault(method, deque()).append(_Planned(fault, times, chat))

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        self._planned.clear()

    def take(self, method: str, chat: int | None) -> Fault | None:
        """The fault that this call meets."""
        if not self._planned:
            return None
        for key in (method, "*"):
            for planned in self._planned.get(key, ()):
                if planned.chat is None or planned.chat == chat:
                    planned.left -= 1
                    if planned.left <= 0:
                        self._planned[key].remove(planned)
                    if not self._planned[key]:
                        del self._planned[key]
                    return planned.fault
        return None
