"""Cool-downs of many chats, each ending by itself. Takes a clock, sleeps never."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from core.ports import Clock

FORGET_OVER = 2_000

K = TypeVar("K", bound=Hashable)


class CoolDowns(Generic[K]):
    """How long each key has to wait. What has passed is forgotten in time, so that a year of
    chats costs nothing."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[K, float] = {}
        self._forget_over = FORGET_OVER

    def wait_s(self, key: K) -> float:
        """Seconds left; 0.0 for none."""
        now = self._clock.monotonic()
        return max(0.0, self._until.get(key, now) - now)

    def cool(self, key: K, seconds: float) -> None:
        """Hold the key for so long from now; a hold that lasts longer stays."""
        now = self._clock.monotonic()
        self._until[key] = max(self._until.get(key, now), now + seconds)
        if len(self._until) > self._forget_over:
            self._until = {each: at for each, at in self._until.items() if at > now}
            # Twice what is left: a busy minute is not gone through again at every message.
            self._forget_over = max(FORGET_OVER, 2 * len(self._until))
