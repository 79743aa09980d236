"""How often a channel may be written to: cool-downs that Discord ordered, and progress's pace.

Counts per channel, so that one channel's limit holds up no other. Takes a clock, sleeps never.
"""

from __future__ import annotations

from core.ports import Clock

EVERYWHERE = 0
"""Stands for all channels: a limit of the whole bot."""
FORGET_OVER = 2_000
KEEP_S = 60.0


class Pacing:
    """The waits of every channel that has any."""

    def __init__(self, clock: Clock, progress_gap_s: float) -> None:
        self._clock = clock
        self._gap_s = progress_gap_s
        self._cool: dict[int, float] = {}
        self._cool_extras: dict[int, float] = {}
        self._progress: dict[int, float] = {}
        self._forget_over = FORGET_OVER

    def wait_s(self, channel: int) -> float:
        """Seconds until a message may go out; 0.0 for now."""
        now = self._clock.monotonic()
        until = max(self._cool.get(channel, now), self._cool.get(EVERYWHERE, now))
        return max(0.0, until - now)

    def cool(self, channel: int, seconds: float, *, extras_only: bool = False) -> None:
        """Hold the channel; a refused reaction (`extras_only`) holds up no answer."""
        self._forget()
        book = self._cool_extras if extras_only else self._cool
        book[channel] = max(book.get(channel, 0.0), self._clock.monotonic() + seconds)

    def extras_allowed(self, channel: int) -> bool:
        """Whether reactions and typing may be sent."""
        return not self.wait_s(channel) and (
            self._cool_extras.get(channel, 0.0) <= self._clock.monotonic()
        )

    def take_progress(self, channel: int) -> bool:
        """Whether a progress update may go out now; counts it when it may.

        The gap leaves the channel's edits (5 in 5 s) room for the answer's.
        """
        now = self._clock.monotonic()
        last = self._progress.get(channel, now - self._gap_s)
        if not self.extras_allowed(channel) or now - last < self._gap_s:
            return False
        self._forget()
        self._progress[channel] = now
        return True

    def _forget(self) -> None:
        """Drop what has passed, so that a year of channels costs nothing."""
        books = (self._cool, self._cool_extras, self._progress)
        if max(map(len, books)) <= self._forget_over:
            return
        now = self._clock.monotonic()
        for book in books:
            for channel in [c for c, at in book.items() if at + KEEP_S < now]:
                del book[channel]
        self._forget_over = max(FORGET_OVER, 2 * max(map(len, books)))
