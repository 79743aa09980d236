"""The real clock, behind the `Clock` port."""

from __future__ import annotations

import time


class SystemClock:
    """Wall and monotonic time of this machine."""

    def now(self) -> float:
        """Wall time in epoch seconds."""
        return time.time()  # noqa: TID251 - this is the one place that may

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()
