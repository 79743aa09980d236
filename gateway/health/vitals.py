"""Whether the program is well, from what its platforms say of themselves.

It starts nothing and judges no turn: it reads `Platform.health`, and is told when a platform is
down for good and when the program begins to stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from core.messages import PlatformName
from core.ports import Platform

GRACE_S = 120.0
"""How long no platform at all may answer; a start counts from its beginning."""
PATIENCE_S = 600.0
"""How long one platform may be silent while another one answers: each rebuilds its connections
by itself, and a restart would disturb the others."""


class State(StrEnum):
    """What a platform is to the program."""

    UP = "up"
    FAILING = "failing"
    """Not well; it tries again by itself."""
    DOWN = "down"
    """Given up until a person acts."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One platform: `silent_s` since it was last heard, `detail` for people."""

    name: PlatformName
    state: State
    silent_s: float
    detail: str


@dataclass(frozen=True, slots=True)
class Report:
    """All platforms at one moment."""

    platforms: tuple[Reading, ...]
    stopping: bool

    @property
    def ready(self) -> bool:
        """Whether messages are taken: some platform is connected, and nobody said stop."""
        return not self.stopping and any(p.state is State.UP for p in self.platforms)

    @property
    def well(self) -> bool:
        """Whether a restart would help nothing: no platform that is not given up has been
        silent for too long."""
        tried = [p for p in self.platforms if p.state is not State.DOWN]
        heard = any(p.state is State.UP for p in tried)
        limit = PATIENCE_S if heard else GRACE_S
        return all(p.state is State.UP or p.silent_s <= limit for p in tried)

    @property
    def summary(self) -> str:
        """One line for people."""
        if self.stopping:
            return "stopping"
        said = (
            f"{p.name} {p.state}" + ("" if p.state is State.UP else f" ({p.detail})")
            for p in self.platforms
        )
        return ", ".join(said)


class Vitals:
    """The program's health; `platforms` may grow until it runs."""

    def __init__(self, platforms: Iterable[Platform]) -> None:
        self._platforms = platforms
        self._down: dict[PlatformName, str] = {}
        self.stopping = asyncio.Event()
        """Set when the program was told to stop."""

    def down(self, name: PlatformName, reason: str) -> None:
        """A platform was given up."""
        self._down[name] = reason

    def report(self) -> Report:
        """How everything is now; cheap."""
        readings = tuple(self._read(platform) for platform in self._platforms)
        return Report(readings, self.stopping.is_set())

    def _read(self, platform: Platform) -> Reading:
        health = platform.health()
        if platform.name in self._down:
            return Reading(platform.name, State.DOWN, health.silent_s, self._down[platform.name])
        state = State.UP if health.ok else State.FAILING
        return Reading(platform.name, state, health.silent_s, health.detail)
