"""The back ends that the contract suites run on; a further one adds a line to `STORES`, a
platform's rig is found by `platform_backends`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio

from tests.contracts.backends import sqlite
from tests.contracts.platform_backends import PLATFORMS, able
from tests.contracts.platform_rig import Can, PlatformRig
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


def pytest_configure(config: pytest.Config) -> None:
    """Name the mark of `pytest_generate_tests`."""
    config.addinivalue_line("markers", "needs(*what): what a platform must be able to do")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of `there` for each platform that can do what its `needs` mark names."""
    if "there" not in metafunc.fixturenames:
        return
    marks = metafunc.definition.iter_markers("needs")
    needed = frozenset(can for mark in marks for can in mark.args if isinstance(can, Can))
    metafunc.parametrize("there", able(needed), indirect=True)


@pytest_asyncio.fixture
async def there(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[PlatformRig]:
    """A platform with its adapter connected."""
    folder = tmp_path / "there"
    folder.mkdir()
    async with PLATFORMS[request.param].open(folder) as opened:
        yield opened
