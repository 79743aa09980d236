"""How often a chat may be written to: cool-downs that Slack ordered, and room for answers.

Counts per chat, so that one chat's limit never holds up another; only what may be missed is
counted for the whole workspace. Takes a clock, sleeps never.
"""

from __future__ import annotations

from collections import deque

from core.ports import Clock

MINUTE_S = 60.0
FORGET_OVER = 2_000


class Pacing:
    """The waits of every chat that has any."""

    def __init__(self, clock: Clock, *, extras_per_minute: int, progress_gap_s: float) -> None:
        self._clock = clock
        self._limit = extras_per_minute
        self._gap_s = progress_gap_s
        self._cool: dict[str, float] = {}
        self._cool_extras: dict[str, float] = {}
        self._progress: dict[str, float] = {}
        self._extras: deque[float] = deque()
        self._forget_over = FORGET_OVER

    def wait_s(self, chat: str) -> float:
        """Seconds until a message may go out; 0.0 for now."""
        return max(0.0, self._cool.get(chat, 0.0) - self._clock.monotonic())

    def cool(self, chat: str, seconds: float, *, extras_only: bool = False) -> None:
        """Hold the chat; a refused reaction (`extras_only`) holds up no answer."""
        self._forget()
        book = self._cool_extras if extras_only else self._cool
        book[chat] = max(book.get(chat, 0.0), self._clock.monotonic() + seconds)

    def take_extra(self, chat: str) -> bool:
        """Whether something that may be missed may be sent now; counts it when it may."""
        now = self._clock.monotonic()
        if max(self._cool.get(chat, 0.0), self._cool_extras.get(chat, 0.0)) > now:
            return False
        while self._extras and now - self._extras[0] >= MINUTE_S:
            self._extras.popleft()
        if len(self._extras) >= self._limit:
            return False
        self._extras.append(now)
        return True

    def take_progress(self, chat: str) -> bool:
        """Whether a progress update may go out now; counts it when it may."""
        now = self._clock.monotonic()
        if now - self._progress.get(chat, now - self._gap_s) < self._gap_s:
            return False
        if not self.take_extra(chat):
            return False
        self._forget()
        self._progress[chat] = now
        return True

    def _forget(self) -> None:
        """Drop what has passed, so that a year of chats costs nothing."""
        books = (self._cool, self._cool_extras, self._progress)
        if max(map(len, books)) <= self._forget_over:
            return
        now = self._clock.monotonic()
        for book in books:
            for chat in [c for c, at in book.items() if at + MINUTE_S < now]:
                del book[chat]
        # Twice what is left: a busy minute is not gone through again at every message.
        self._forget_over = max(FORGET_OVER, 2 * max(map(len, books)))
