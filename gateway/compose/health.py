"""The health and metrics pages of a run, with what the store has to say."""

from __future__ import annotations

import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from adapters.sqlite.backlog import backlog
from core.ports import Clock
from gateway.access import Access, Door
from gateway.health.metrics import Depth, Metrics
from gateway.health.server import HealthPages, Listening, serving
from gateway.health.token import kept_token
from gateway.health.vitals import Vitals
from gateway.settings.schema import Health

KEPT_IN = "health_token"


class HealthSide:
    """What is counted in a run, and the pages that show it; the store in `data` is open."""

    def __init__(self, settings: Health, data: Path, clock: Clock) -> None:
        self._settings = settings
        self._data = data
        self._clock = clock
        self.metrics = Metrics(clock, self._depth)

    def token(self) -> str:
        """What readers send; a new one is told once, on standard error."""
        if self._settings.token is not None:
            return self._settings.token.get_secret_value()
        file = self._data / KEPT_IN
        token, fresh = kept_token(file)
        if fresh:
            sys.stderr.write(f"The token of the health pages is {token} (kept in {file}).\n")
            sys.stderr.flush()
        return token

    @asynccontextmanager
    async def serving(self, vitals: Vitals, access: Access) -> AsyncIterator[None]:
        """Serve the pages while entered; `access` writes down who had no token."""
        self.metrics.of_platforms(vitals)
        listening = Listening(
            host=self._settings.host, port=self._settings.port, token=self.token()
        )
        door = Door(access, self._clock, "health pages")
        pages = HealthPages(vitals, self.metrics.exposition, listening, door)
        async with serving(pages, listening):
            yield

    def _depth(self) -> Depth:
        found = backlog(self._data)
        return Depth(
            waiting=found.waiting,
            lanes=found.lanes,
            longest=found.longest,
            unsent=found.unsent,
            retried=found.retried,
            disk_free=shutil.disk_usage(self._data).free,
        )
