"""What every builder of the composition root is given. Names no adapter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

from core.messages import Address, LaneKey
from core.ports import Clock, Model, Platform
from core.sessions.conversation import Archive
from core.sessions.outgoing import CardFacts
from gateway.access import Access
from gateway.health.vitals import Vitals
from gateway.lanes import TurnWorker
from gateway.redact import Redactor
from gateway.settings import Purpose, Settings
from gateway.settings.schema import Health


class Memory(Archive, Protocol):
    """The part of the store that a platform without a memory of its own reads."""

    async def card(self, lane: LaneKey) -> CardFacts | None:
        """See `Store.card`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One run: its settings, its data directory, and the name of this start.

    `at_rest` returns when a lane has nothing left to do. `folder` is where a lane
    works; `talk` is where a console talks. `memory` is what was said before. `access` is
    who may talk, as it is at the moment.
    """

    settings: Settings
    data: Path
    clock: Clock
    run_id: str
    redact: Redactor
    at_rest: Callable[[LaneKey], Awaitable[None]]
    folder: Callable[[LaneKey], Path]
    talk: Address
    memory: Memory
    access: Access


PlatformMaker: TypeAlias = Callable[[Setup], Platform]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the embedded model is served, and the key that this process was given for it."""

    base_url: str
    api_key: str = field(repr=False)


Life: TypeAlias = Callable[[], Coroutine[object, object, None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What those are given who look on at a run: `swap` puts into effect what can be changed of
    new settings while it lasts."""

    vitals: Vitals
    clock: Clock
    swap: Callable[[Settings], None]


Lookers: TypeAlias = Callable[[Running], Mapping[str, Life]]
"""Builds the lives that look on, by name."""


class Counting(Protocol):
    """Counts turns and model calls by standing between them and who asks for them."""

    def counted_turns(self, worker: TurnWorker) -> TurnWorker:
        """The worker, with its turns counted."""
        ...

    def counted_calls(self, model: Model, job: Purpose) -> Model:
        """The model, with its calls counted as made for a purpose."""
        ...


class HealthSide(Protocol):
    """The numbers of a run, and the pages that show them."""

    @property
    def metrics(self) -> Counting:
        """What counts."""
        ...

    def serving(self, vitals: Vitals, access: Access) -> AbstractAsyncContextManager[None]:
        """Serve the pages while entered; `access` writes down who had no token."""
        ...


HealthMaker: TypeAlias = Callable[[Health, Path, Clock], HealthSide]

LocalModel: TypeAlias = Callable[[Settings, Path], AbstractAsyncContextManager[Endpoint]]
"""Serves the embedded model while entered, fetching it first."""
