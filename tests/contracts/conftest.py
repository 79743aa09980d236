"""The back ends that the contract suites run on; a further one adds a line to `STORES`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio

from tests.contracts.backends import sqlite
from tests.contracts.store_rig import OpenStore, Rig

STORES: Mapping[str, OpenStore] = {"sqlite": sqlite}


@pytest.fixture(params=STORES)
def open_store(request: pytest.FixtureRequest) -> OpenStore:
    """How the back end under test is opened."""
    return STORES[request.param]


@pytest_asyncio.fixture
async def rig(open_store: OpenStore, tmp_path: Path) -> AsyncIterator[Rig]:
    """An empty store."""
    made = await Rig.start(open_store, tmp_path)
    yield made
    await made.store.close()
