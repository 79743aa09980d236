"""How often a chat may be written to: cool-downs that Slack ordered, and room for answers.

Counts per chat, so that one chat's limit never holds up another; only what may be missed is
counted for the whole workspace. Takes a clock, sleeps never.
"""

from __future__ import annotations

from collections import deque

from core.cooldowns import CoolDowns
from core.ports import Clock

MINUTE_S = 60.0


class Pacing:
    """The waits of every chat that has any."""

    def __init__(self, clock: Clock, *, extras_per_minute: int, progress_gap_s: float) -> None:
        self._clock = clock
        self._limit = extras_per_minute
        self._gap_s = progress_gap_s
        self._all: CoolDowns[str] = CoolDowns(clock)
        self._extras: CoolDowns[str] = CoolDowns(clock)
        self._progress: CoolDowns[str] = CoolDowns(clock)
        self._sent: deque[float] = deque()

    def wait_s(self, chat: str) -> float:
        """Seconds until a message may go out; 0.0 for now."""
        return self._all.wait_s(chat)

    def cool(self, chat: str, seconds: float, *, extras_only: bool = False) -> None:
        """Hold the chat; a refused reaction (`extras_only`) holds up no answer."""
        (self._extras if extras_only else self._all).cool(chat, seconds)

    def take_extra(self, chat: str) -> bool:
        """Whether something that may be missed may be sent now; counts it when it may."""
        if self._all.wait_s(chat) or self._extras.wait_s(chat):
            return False
        now = self._clock.monotonic()
        while self._sent and now - self._sent[0] >= MINUTE_S:
            self._sent.popleft()
        if len(self._sent) >= self._limit:
            return False
        self._sent.append(now)
        return True

    def take_progress(self, chat: str) -> bool:
        """Whether a progress update may go out now; counts it when it may."""
        if self._progress.wait_s(chat) or not self.take_extra(chat):
            return False
        self._progress.cool(chat, self._gap_s)
        return True
