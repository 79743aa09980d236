"""People who saw no answer and press again. Keeps nothing that a restart would need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from core.commands import Invocation
from core.messages import Duplicate, LaneKey
from core.ports import Clock
from core.sessions.arrivals import Arrival, Commanded, Relocation

T = TypeVar("T")

REPEATED_S = 30.0


class Impatience:
    """A person who saw no answer presses again: identical commands of one person within 30 s of
    one whose confirmation was late are one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._late: dict[tuple[LaneKey, str, Invocation], tuple[float, str]] = {}

    def remember(self, arrivals: Sequence[Arrival | Relocation]) -> None:
        """These were not confirmed in time."""
        now = self._clock.monotonic()
        self._late = {k: v for k, v in self._late.items() if now - v[0] < REPEATED_S}
        for arrival in arrivals:
            if isinstance(arrival, Arrival) and isinstance(arrival.what, Commanded):
                key = (arrival.lane, arrival.principal.id, arrival.what.line)
                self._late[key] = (now, arrival.dedupe)

    def once(self, item: T) -> T | Duplicate:
        """The item, or that it repeats one which is on its way already."""
        if not (self._late and isinstance(item, Arrival) and isinstance(item.what, Commanded)):
            return item
        late = self._late.get((item.lane, item.principal.id, item.what.line))
        if late is None or late[1] == item.dedupe:
            return item  # the same update, handed over again: the store knows
        fresh = self._clock.monotonic() - late[0] < REPEATED_S
        return Duplicate() if fresh else item
