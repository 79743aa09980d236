"""Errors say who must act; anything that is not one of these is a bug.

SDK errors are translated into them once, in the adapter that knows the SDK.
"""

from __future__ import annotations


class PursuitError(Exception):
    """The root of all expected errors; `str()` is a sentence fit for a person."""


class UserError(PursuitError):
    """The person can mend it; the text is shown as it is and says what to do."""


class Misconfigured(UserError):
    """What was set up cannot work, here or at a platform: a token that is refused, an intent or
    a scope that is missing. Starting again would not help, so a service manager is told not to."""


class PermanentError(PursuitError):
    """It will fail again: a refused message, a revoked token, an unknown model."""


class TransientError(PursuitError):
    """It may go well later.

    `retry_after` is in seconds, None when the other side named no time. `doubtful` is True
    when bytes had been written, so that the call may have had its effect all the same.
    """

    def __init__(
        self, message: str, *, retry_after: float | None = None, doubtful: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.doubtful = doubtful


class DamagedLane(PursuitError):
    """What is stored of one lane cannot be read: a newer version wrote it, or something spoilt
    it. The lane rests as it is, for a version that can; all others go on."""

    def __init__(self, lane: str, reason: str) -> None:
        super().__init__(f"the lane {lane} rests: {reason}")
        self.lane = lane


class Fenced(PursuitError):
    """The turn no longer owns its lane: it was stopped, or another attempt took it over."""
