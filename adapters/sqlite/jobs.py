"""How parts of the store run their jobs on its connections; the store itself hands these out."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from core.messages import LaneKey

T = TypeVar("T")


class Submit(Protocol):
    """The writer's way of running a job."""

    def __call__(
        self, job: Callable[[sqlite3.Connection], T], *, safe: bool = True
    ) -> Awaitable[T]:
        """Run it as one transaction."""
        ...


class WriteOf(Protocol):
    """The store's way of writing one lane's rows."""

    def __call__(
        self, lane: LaneKey, job: Callable[[sqlite3.Connection], T], *, safe: bool = True
    ) -> Awaitable[T]:
        """Run the job as one transaction. Raises DamagedLane."""
        ...


class Read(Protocol):
    """The store's way of reading, on the caller's thread."""

    def __call__(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run it on the reader's connection."""
        ...


class ReadOf(Protocol):
    """The store's way of reading one lane's rows."""

    def __call__(self, lane: LaneKey, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run it on the reader's connection. Raises DamagedLane."""
        ...
