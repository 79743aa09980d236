"""How each back end is opened for the contract suites."""

from __future__ import annotations

from adapters.sqlite.store import RESERVE_NAME, SqliteStore
from core.delegation.ports import ChildStore
from core.gates.ports import GateStore
from core.people import People
from core.sessions.conversation import Archive
from core.sessions.ports import Store
from tests.contracts.store_rig import Opening


async def sqlite(opening: Opening) -> Store:
    """SQLite, without waiting for the disk: these tests reopen, they do not cut the power."""
    opening.folder.mkdir(parents=True, exist_ok=True)
    (opening.folder / RESERVE_NAME).touch()  # 16 MB a test would be most of its time
    store = SqliteStore(
        opening.folder,
        clock=opening.clock,
        run=opening.run,
        goal_defaults=opening.defaults,
        house=opening.house,
        sync="OFF",
    )
    await store.open()
    return store


def people_of(store: Store) -> People:
    """The `People` of a back end's store."""
    assert isinstance(store, SqliteStore), store
    return store.people


def children_of(store: Store) -> ChildStore:
    """The `ChildStore` of a back end's store."""
    assert isinstance(store, SqliteStore), store
    return store.children


def gates_of(store: Store) -> GateStore:
    """The `GateStore` of a back end's store."""
    assert isinstance(store, SqliteStore), store
    return store.gates


def archive_of(store: Store) -> Archive:
    """The `Archive` of a back end's store."""
    assert isinstance(store, SqliteStore), store
    return store
