"""Durable accepts through the real store: several sources, each with batches of a hundred.

A process of its own. Prints one JSON line: accepts a second of each round, and of bare SQL.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from adapters.sqlite.database import FILE_NAME, open_database
from adapters.sqlite.store import SqliteStore
from core.messages import Address, PlatformName, Principal, Role
from core.sessions.arrivals import Arrival, Said
from gateway.clock import SystemClock

BATCH = 100
SOURCES = 8
LANES = 2_000
"""Lanes of each source."""
INSERT = (
    "INSERT INTO inbox (lane, kind, dedupe, prio, state, principal, payload, received) "
    "VALUES (?, 'message', ?, 0, 'ready', '[]', ?, ?)"
)
OWNER = Principal("1001", "Anna", Role.OWNER)


def arrivals(name: str, number: int) -> list[Arrival]:
    """A source's batch, as the gateway hands it over."""
    return [
        Arrival(
            Address(PlatformName.TELEGRAM, "42", f"{name}{row % LANES}").key,
            f"tg:{name}:{row}",
            OWNER,
            Said({"name": "Anna", "text": "How far are we?", "remote": str(row)}),
        )
        for row in range(number * BATCH, (number + 1) * BATCH)
    ]


async def source(store: SqliteStore, name: str, batches: Sequence[list[Arrival]]) -> None:
    """One platform's intake: the next batch once the last one is safe."""
    for number, batch in enumerate(batches):
        await store.accept(batch, cursor=(name, str(number)), now=time.time())


async def rush(store: SqliteStore, batches: range) -> float:
    """All sources at once; the seconds it took."""
    names = [f"s{which}-" for which in range(SOURCES)]
    waiting = {name: [arrivals(name, number) for number in batches] for name in names}
    gc.collect()
    gc.freeze()  # as the program does with what is there at its start
    started = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for name, theirs in waiting.items():
            group.create_task(source(store, name, theirs))
    return time.perf_counter() - started


async def rounds(folder: Path, count: int) -> list[float]:
    """Accepts a second, each round on a fresh file. A first message makes each lane known and
    counts as answered; the second one is timed."""
    rates = []
    once = LANES // BATCH
    for number in range(count):
        store = SqliteStore(folder / str(number), clock=SystemClock(), run="bench")
        await store.open()
        await rush(store, range(once))
        with closing(sqlite3.connect(folder / str(number) / FILE_NAME)) as conn, conn:
            conn.execute("UPDATE inbox SET state = 'done'")
        seconds = await rush(store, range(once, 2 * once))
        rates.append(SOURCES * LANES / seconds)
        await store.close()
    return rates


def bare(folder: Path, count: int) -> list[float]:
    """The same rows put into the same table by SQL alone, as many to a commit."""
    rates = []
    for number in range(count):
        place = folder / f"bare-{number}"
        place.mkdir()
        conn = open_database(place / FILE_NAME)
        conn.execute("PRAGMA synchronous = FULL")
        started = time.perf_counter()
        for first in range(0, SOURCES * LANES, SOURCES * BATCH):
            conn.execute("BEGIN IMMEDIATE")
            for row in range(first, first + SOURCES * BATCH):
                lane = f'["telegram","42","{row}","",""]'
                payload = json.dumps({"name": "Anna", "text": "How far?", "remote": str(row)})
                conn.execute(INSERT, (lane, f"tg:{row}", payload, time.time()))
            conn.execute("COMMIT")
        rates.append(SOURCES * LANES / (time.perf_counter() - started))
        conn.close()
    return rates


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Durable accepts through the store.")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        rates = asyncio.run(rounds(folder, given.rounds))
        told = {"rates": rates, "bare": bare(folder, given.rounds)}
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
