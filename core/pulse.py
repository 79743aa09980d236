"""How a platform's connection is: when anything was last heard from it, and what is wrong."""

from __future__ import annotations

from core.ports import Clock, Health


class Pulse:
    """Written by the receiver, read by whoever asks for health; a silence of more than
    `longest_s` is no health."""

    def __init__(self, clock: Clock, longest_s: float) -> None:
        self._clock = clock
        self._longest_s = longest_s
        self._heard = self._rebuilt = clock.monotonic()
        self._fault = "connecting"

    @property
    def silent_s(self) -> float:
        """Seconds since anything came from the platform."""
        return self._clock.monotonic() - self._heard

    def begin(self) -> None:
        """A new start."""
        self._heard = self._rebuilt = self._clock.monotonic()
        self._fault = "connecting"

    def touch(self) -> None:
        """Something was heard; that alone mends no fault."""
        self._heard = self._clock.monotonic()

    def well(self) -> None:
        """The connection works."""
        self._fault = ""

    def heard(self) -> None:
        """The platform was heard, and all is well."""
        self.touch()
        self.well()

    def fault(self, detail: str) -> None:
        """Something is wrong; the text is for people."""
        self._fault = detail

    def wants_rebuild(self) -> bool:
        """Whether the silence is long enough for new connections; true once per such silence."""
        now = self._clock.monotonic()
        if now - max(self._heard, self._rebuilt) < self._longest_s:
            return False
        self._rebuilt = now
        return True

    def health(self) -> Health:
        """Well only while there is neither a fault nor a long silence."""
        silent_s = self.silent_s
        if not self._fault and silent_s > self._longest_s:
            return Health(ok=False, silent_s=silent_s, detail=f"silent for {silent_s:.0f} s")
        return Health(ok=not self._fault, silent_s=silent_s, detail=self._fault or "connected")
