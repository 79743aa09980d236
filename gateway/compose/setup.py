"""What every builder of the composition root is given. Names no adapter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from core.messages import Address, LaneKey
from core.ports import Clock, Platform
from gateway.redact import Redactor
from gateway.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One run: its settings, its data directory, and the name of this start.

    `at_rest` returns when a lane has nothing left to do. `folder` is where a lane
    works; `talk` is where a console talks.
    """

    settings: Settings
    data: Path
    clock: Clock
    run_id: str
    redact: Redactor
    at_rest: Callable[[LaneKey], Awaitable[None]]
    folder: Callable[[LaneKey], Path]
    talk: Address


PlatformMaker: TypeAlias = Callable[[Setup], Platform]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the embedded model is served, and the key that this process was given for it."""

    base_url: str
    api_key: str = field(repr=False)


LocalModel: TypeAlias = Callable[[Settings, Path], AbstractAsyncContextManager[Endpoint]]
"""Serves the embedded model while entered, fetching it first."""
