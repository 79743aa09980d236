"""What is read of the file is one state of it, whatever is committed meanwhile."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from adapters.sqlite.database import FILE_NAME
from tests.contracts.backends import sqlite
from tests.contracts.store_rig import LANE, Rig

LOOKS = 3_000
BEGUN = (
    "UPDATE lane SET phase = 'running'",
    "UPDATE inbox SET state = 'claimed'",
)
WAITING = ("UPDATE lane SET phase = 'idle'", "UPDATE inbox SET state = 'ready'")


async def test_a_lane_that_begins_and_gives_back_a_turn_is_never_seen_at_rest(
    tmp_path: Path,
) -> None:
    rig = await Rig.start(sqlite, tmp_path)
    await rig.say("Hello")
    assert await rig.store.begin(LANE, now=rig.clock.now(), collect=False)
    over = threading.Event()

    def flip() -> None:
        with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as conn:
            conn.execute("PRAGMA synchronous = OFF")
            while not over.is_set():
                for change in (BEGUN, WAITING):
                    conn.execute("BEGIN IMMEDIATE")
                    for statement in change:
                        conn.execute(statement)
                    conn.execute("COMMIT")

    thread = threading.Thread(target=flip)
    thread.start()
    try:
        seen = [await rig.store.at_rest(LANE) for _ in range(LOOKS)]
    finally:
        over.set()
        thread.join()
    assert not any(seen)
    await rig.store.close()
