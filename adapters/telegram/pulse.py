"""How the connection is: when Telegram was last heard, and what is wrong."""

from __future__ import annotations

from core.ports import Clock, Health


class Pulse:
    """Written by the receiver, read by whoever asks for health."""

    def __init__(self, clock: Clock, heartbeat_s: float) -> None:
        self._clock = clock
        self._heartbeat_s = heartbeat_s
        self._heard = self._rebuilt = clock.monotonic()
        self._fault = "connecting"

    @property
    def silent_s(self) -> float:
        """Seconds since Telegram last answered a poll or called."""
        return self._clock.monotonic() - self._heard

    def begin(self) -> None:
        """A new start."""
        self._heard = self._rebuilt = self._clock.monotonic()
        self._fault = "connecting"

    def heard(self) -> None:
        """Telegram answered, and all is well."""
        self._heard = self._clock.monotonic()
        self._fault = ""

    def fault(self, detail: str) -> None:
        """Something is wrong; the text is for people."""
        self._fault = detail

    def wants_rebuild(self) -> bool:
        """Whether the silence is long enough for new connections; true once per heartbeat."""
        now = self._clock.monotonic()
        if now - max(self._heard, self._rebuilt) < self._heartbeat_s:
            return False
        self._rebuilt = now
        return True

    def health(self) -> Health:
        """Well only while there is neither a fault nor a silence longer than the heartbeat."""
        silent_s = self.silent_s
        if not self._fault and silent_s > self._heartbeat_s:
            return Health(ok=False, silent_s=silent_s, detail=f"silent for {silent_s:.0f} s")
        return Health(ok=not self._fault, silent_s=silent_s, detail=self._fault or "connected")
