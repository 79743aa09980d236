"""How often a chat may be written to: cool-downs that Telegram ordered, and groups' limit.

Counts per chat, so that one chat's limit never holds up another. Takes a clock, sleeps never.
"""

from __future__ import annotations

from collections import deque

from core.cooldowns import CoolDowns
from core.ports import Clock

MINUTE_S = 60.0
RESERVE = 6
"""Of a group's messages a minute, so many are kept for answers: progress gets the rest."""
FORGET_OVER = 2_000


def is_group(chat: int) -> bool:
    """Telegram gives people positive ids, groups and channels negative ones."""
    return chat < 0


class Pacing:
    """The waits of every chat that has any."""

    def __init__(self, clock: Clock, *, group_per_minute: int, progress_gap_s: float) -> None:
        self._clock = clock
        self._limit = group_per_minute
        self._gap_s = progress_gap_s
        self._all: CoolDowns[int] = CoolDowns(clock)
        self._extras: CoolDowns[int] = CoolDowns(clock)
        self._progress: CoolDowns[int] = CoolDowns(clock)
        self._sent: dict[int, deque[float]] = {}
        self._forget_over = FORGET_OVER

    def wait_s(self, chat: int) -> float:
        """Seconds until a message may go out; 0.0 for now."""
        now = self._clock.monotonic()
        wait = self._all.wait_s(chat)
        sent = self._window(chat, now)
        if len(sent) >= self._limit:
            wait = max(wait, sent[-self._limit] + MINUTE_S - now)
        return wait

    def spend(self, chat: int) -> None:
        """Count a message or an edit."""
        self._forget()
        if is_group(chat):
            self._sent.setdefault(chat, deque()).append(self._clock.monotonic())

    def cool(self, chat: int, seconds: float, *, extras_only: bool = False) -> None:
        """Hold the chat; a refused reaction (`extras_only`) holds up no answer."""
        (self._extras if extras_only else self._all).cool(chat, seconds)

    def extras_allowed(self, chat: int) -> bool:
        """Whether reactions and typing may be sent."""
        return not (self._all.wait_s(chat) or self._extras.wait_s(chat))

    def take_progress(self, chat: int) -> bool:
        """Whether a progress update may go out now; counts it when it may."""
        if not self.extras_allowed(chat) or self._progress.wait_s(chat):
            return False
        sent = self._window(chat, self._clock.monotonic())
        if len(sent) + RESERVE >= max(self._limit, RESERVE + 1):
            return False
        self._progress.cool(chat, self._gap_s * (4 if is_group(chat) else 1))
        self.spend(chat)
        return True

    def _window(self, chat: int, now: float) -> deque[float]:
        sent = self._sent.get(chat)
        if sent is None:
            return deque()
        while sent and now - sent[0] >= MINUTE_S:
            sent.popleft()
        return sent

    def _forget(self) -> None:
        """Drop the groups whose minute has passed, so that a year of them costs nothing."""
        if len(self._sent) <= self._forget_over:
            return
        now = self._clock.monotonic()
        self._sent = {chat: sent for chat, sent in self._sent.items() if self._window(chat, now)}
        # Twice what is left: a busy minute is not gone through again at every message.
        self._forget_over = max(FORGET_OVER, 2 * len(self._sent))
