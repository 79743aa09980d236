"""What can go wrong between an app and Slack, as values a test plans in advance.

`FaultPlan` hands each planned fault out once (or `times` times), in order; a fault may be bound
to one channel. It knows nothing of HTTP: the server turns a fault into bytes, or into none.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class TooMany:
    """429 with Retry-After; nothing is handled."""

    retry_after: int = 1


@dataclass(frozen=True, slots=True)
class No:
    """A refusal (`ok: false`) with that code; nothing is handled."""

    code: str = "fatal_error"


@dataclass(frozen=True, slots=True)
class Status:
    """Another HTTP status; nothing is handled."""

    code: int = 500


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is cut before the request is handled."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The request is handled, but the connection is cut before the answer."""


@dataclass(frozen=True, slots=True)
class Html:
    """A page with status 200 where JSON should be, as captive portals send; `kind` is its type."""

    kind: str = "text/html"


@dataclass(frozen=True, slots=True)
class Stall:
    """The answer waits for `until` (set it to let go), then the request is handled."""

    until: asyncio.Event = field(default_factory=asyncio.Event)


Fault: TypeAlias = TooMany | No | Status | Reset | Lost | Html | Stall


@dataclass(slots=True)
class _Planned:
    fault: Fault
    left: int
    channel: str | None
    spared: int


class FaultPlan:
    """The faults to come, per method; "*" stands for any method."""

    def __init__(self) -> None:
        self._planned: dict[str, deque[_Planned]] = {}

    def add(
        self,
        method: str,
        fault: Fault,
        *,
        times: int = 1,
        channel: str | None = None,
        spared: int = 0,
    ) -> None:
        """Let the next `times` calls of the method fail after `spared` ones that do not, those
        to `channel` only when given."""
        planned = _Planned(fault, times, channel, spared)
        self._planned.setdefault(method, deque()).append(planned)

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        self._planned.clear()

    def take(self, method: str, channel: str | None) -> Fault | None:
        """The fault that this call meets."""
        for key in (method, "*"):
            for planned in self._planned.get(key, ()):
                if planned.channel is None or planned.channel == channel:
                    if planned.spared:
                        planned.spared -= 1
                        continue
                    planned.left -= 1
                    if planned.left <= 0:
                        self._planned[key].remove(planned)
                    return planned.fault
        return None
