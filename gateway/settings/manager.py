"""What a service manager has told this process through its environment. Pure."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServiceManager:
    """Where systemd listens, and how often it wants to hear (0: never)."""

    address: str
    watchdog_s: float = 0.0


def from_manager(environ: Mapping[str, str]) -> ServiceManager | None:
    """What `sd_notify(3)` and `sd_watchdog_enabled(3)` say of the variables; None where nobody
    listens."""
    address = environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return None
    for_us = environ.get("WATCHDOG_PID", "") in {"", str(os.getpid())}
    period = environ.get("WATCHDOG_USEC", "")
    watched = for_us and period.isdecimal()
    return ServiceManager(address, int(period) / 1e6 if watched else 0.0)
