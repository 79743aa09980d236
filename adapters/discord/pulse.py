"""How the connection is: when the gateway was last heard, and what is wrong."""

from __future__ import annotations

from core.ports import Clock, Health


class Pulse:
    """Written by the receiver, read by whoever asks for health."""

    def __init__(self, clock: Clock, silence_s: float) -> None:
        self._clock = clock
        self._silence_s = silence_s
        self._heard = clock.monotonic()
        self._fault = "connecting"

    @property
    def silent_s(self) -> float:
        """Seconds since the gateway's last packet, heartbeats' answers among them."""
        return self._clock.monotonic() - self._heard

    def begin(self) -> None:
        """A new start, or a new connection: patience begins anew."""
        self._heard = self._clock.monotonic()

    def heard(self) -> None:
        """A packet came; whether the session works, `well` says."""
        self._heard = self._clock.monotonic()

    def well(self) -> None:
        """The session works."""
        self._fault = ""

    def fault(self, detail: str) -> None:
        """Something is wrong; the text is for people."""
        self._fault = detail

    def health(self) -> Health:
        """Well only while there is neither a fault nor a long silence."""
        silent_s = self.silent_s
        if not self._fault and silent_s > self._silence_s:
            return Health(ok=False, silent_s=silent_s, detail=f"silent for {silent_s:.0f} s")
        return Health(ok=not self._fault, silent_s=silent_s, detail=self._fault or "connected")
