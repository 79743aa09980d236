"""How the connection is: when Slack was last heard, and what is wrong."""

from __future__ import annotations

from core.ports import Clock, Health


class Pulse:
    """Written by the receiver, read by whoever asks for health."""

    def __init__(self, clock: Clock, longest_s: float) -> None:
        self._clock = clock
        self._longest_s = longest_s
        self._heard = clock.monotonic()
        self._fault = "connecting"

    @property
    def silent_s(self) -> float:
        """Seconds since anything came from Slack: an envelope, a ping or pong, an answer."""
        return self._clock.monotonic() - self._heard

    def begin(self) -> None:
        """A new start."""
        self._heard = self._clock.monotonic()
        self._fault = "connecting"

    def touch(self) -> None:
        """Something was heard; that alone mends no fault."""
        self._heard = self._clock.monotonic()

    def heard(self) -> None:
        """Slack was heard, and all is well."""
        self._heard = self._clock.monotonic()
        self._fault = ""

    def fault(self, detail: str) -> None:
        """Something is wrong; the text is for people."""
        self._fault = detail

    def health(self) -> Health:
        """Well only while there is neither a fault nor a long silence."""
        silent_s = self.silent_s
        if not self._fault and silent_s > self._longest_s:
            return Health(ok=False, silent_s=silent_s, detail=f"silent for {silent_s:.0f} s")
        return Health(ok=not self._fault, silent_s=silent_s, detail=self._fault or "connected")
