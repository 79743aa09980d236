"""Lanes that cannot be read: each is told of once, whoever comes upon it and how often."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from adapters.sqlite.codec import Unreadable
from core.errors import DamagedLane
from core.messages import LaneKey

log = logging.getLogger(__name__)


class Damage:
    """The damaged lanes that one start of the program has met."""

    def __init__(self) -> None:
        self._told: set[LaneKey] = set()

    @contextmanager
    def of(self, lane: LaneKey) -> Iterator[None]:
        """Read the lane's rows: what is unreadable among them is raised as `DamagedLane`."""
        try:
            yield
        except Unreadable as error:
            raise self.note(lane, error) from error

    def note(self, lane: LaneKey, error: Unreadable) -> DamagedLane:
        """Say in the log that the lane rests, and why."""
        damaged = DamagedLane(lane, str(error))
        if lane not in self._told:
            self._told.add(lane)
            log.error("%s; all others go on", damaged)
        return damaged
