"""Durable accepts through the real store: several sources, each with batches of a hundred.

A process of its own. Prints one JSON line: rows, seconds, and accepts a second of each round.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sys
import tempfile
import time
from pathlib import Path

from adapters.sqlite.store import SqliteStore
from core.messages import LaneKey, Principal, Role
from core.sessions.ports import Arrival, Said
from gateway.clock import SystemClock

BATCH = 100
OWNER = Principal("1001", "Anna", Role.OWNER)


async def source(store: SqliteStore, name: str, first: int, batches: int, lanes: int) -> None:
    """One platform's intake: the next batch once the last one is safe."""
    for number in range(batches):
        start = first + number * BATCH
        arrivals = [
            Arrival(
                LaneKey(f'["telegram","42","{name}{row % lanes}","",""]'),
                f"tg:{name}:{row}",
                OWNER,
                Said({"name": "Anna", "text": "How far are we?", "remote": str(row)}),
            )
            for row in range(start, start + BATCH)
        ]
        cursor = (name, str(start + BATCH))
        await store.accept(arrivals, cursor=cursor, now=time.time())


async def rounds(
    folder: Path, *, sources: int, batches: int, lanes: int, count: int
) -> list[float]:
    """Accepts a second, round after round, each on a fresh file whose lanes are known."""
    rates = []
    for number in range(count):
        place = folder / str(number)
        store = SqliteStore(place, clock=SystemClock(), run="bench")
        await store.open()
        gc.collect()
        started = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for which in range(sources):
                group.create_task(source(store, f"s{which}", 0, batches, lanes))
        rates.append(sources * batches * BATCH / (time.perf_counter() - started))
        await store.close()
    return rates


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Durable accepts through the store.")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--sources", type=int, default=8)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--lanes", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        rates = asyncio.run(
            rounds(
                Path(folder),
                sources=given.sources,
                batches=given.batches,
                lanes=given.lanes,
                count=given.rounds,
            )
        )
    sys.stdout.write(json.dumps({"rates": rates}) + "\n")


if __name__ == "__main__":
    main()
