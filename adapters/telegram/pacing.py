"""How often a chat may be written to: cool-downs that Telegram ordered, and groups' limit.

Counts per chat, so that one chat's limit never holds up another. Takes a clock, sleeps never.
"""

from __future__ import annotations

from collections import deque

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
        self._cool: dict[int, float] = {}
        self._cool_extras: dict[int, float] = {}
        self._sent: dict[int, deque[float]] = {}
        self._progress: dict[int, float] = {}
        self._forget_over = FORGET_OVER

    def wait_s(self, chat: int) -> float:
        """Seconds until a message may go out; 0.0 for now."""
        now = self._clock.monotonic()
        wait = max(0.0, self._cool.get(chat, now) - now)
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
        book = self._cool_extras if extras_only else self._cool
        book[chat] = max(book.get(chat, 0.0), self._clock.monotonic() + seconds)

    def extras_allowed(self, chat: int) -> bool:
        """Whether reactions and typing may be sent."""
        now = self._clock.monotonic()
        return max(self._cool.get(chat, 0.0), self._cool_extras.get(chat, 0.0)) <= now

    def take_progress(self, chat: int) -> bool:
        """Whether a progress update may go out now; counts it when it may."""
        now = self._clock.monotonic()
        gap = self._gap_s * (4 if is_group(chat) else 1)
        if not self.extras_allowed(chat) or now - self._progress.get(chat, now - gap) < gap:
            return False
        if len(self._window(chat, now)) + RESERVE >= max(self._limit, RESERVE + 1):
            return False
        self._progress[chat] = now
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
        """Drop what has passed, so that a year of chats costs nothing."""
        books = (self._cool, self._cool_extras, self._progress)
        if max(len(self._sent), *map(len, books)) <= self._forget_over:
            return
        now = self._clock.monotonic()
        for book in books:
            for chat in [c for c, at in book.items() if at + MINUTE_S < now]:
                del book[chat]
        for chat in [c for c in self._sent if not self._window(c, now)]:
            del self._sent[chat]
        # Twice what is left: a busy minute is not gone through again at every message.
        left = max(len(self._sent), *map(len, books))
        self._forget_over = max(FORGET_OVER, 2 * left)
