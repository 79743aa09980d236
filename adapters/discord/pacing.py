"""How often a channel may be written to: cool-downs that Discord ordered, and progress's pace.

Counts per channel, so that one channel's limit holds up no other. Takes a clock, sleeps never.
"""

from __future__ import annotations

from core.cooldowns import CoolDowns
from core.ports import Clock

EVERYWHERE = 0
"""Stands for all channels: a limit of the whole bot."""


class Pacing:
    """The waits of every channel that has any."""

    def __init__(self, clock: Clock, progress_gap_s: float) -> None:
        self._gap_s = progress_gap_s
        self._all: CoolDowns[int] = CoolDowns(clock)
        self._extras: CoolDowns[int] = CoolDowns(clock)
        self._progress: CoolDowns[int] = CoolDowns(clock)

    def wait_s(self, channel: int) -> float:
        """Seconds until a message may go out; 0.0 for now."""
        return max(self._all.wait_s(channel), self._all.wait_s(EVERYWHERE))

    def cool(self, channel: int, seconds: float, *, extras_only: bool = False) -> None:
        """Hold the channel; a refused reaction (`extras_only`) holds up no answer."""
        (self._extras if extras_only else self._all).cool(channel, seconds)

    def extras_allowed(self, channel: int) -> bool:
        """Whether reactions and typing may be sent."""
        return not (self.wait_s(channel) or self._extras.wait_s(channel))

    def take_progress(self, channel: int) -> bool:
        """Whether a progress update may go out now; counts it when it may.

        The gap leaves the channel's edits (5 in 5 s) room for the answer's.
        """
        if not self.extras_allowed(channel) or self._progress.wait_s(channel):
            return False
        self._progress.cool(channel, self._gap_s)
        return True
