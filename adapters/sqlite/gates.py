"""`SqliteGates`: the `GateStore` port on the store's connections."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict

from adapters.sqlite.codec import checked
from adapters.sqlite.jobs import Read, ReadOf, Submit
from adapters.sqlite.lane_rows import load_slot
from core.gates import wanted
from core.gates.gate import Gate, GateEvent
from core.gates.wanted import ChatGates
from core.messages import LaneKey

BESIDE = (
    "folder = :folder OR substr(folder, 1, length(:folder) + 1) = :folder || '/' "
    "OR substr(:folder, 1, length(folder) + 1) = folder || '/'"
)
"""The folder itself, what is below it and what it is below of."""
WAITS = "EXISTS (SELECT 1 FROM turn WHERE lane = :lane AND phase IN ('parked', 'aside'))"


class SqliteGates:
    """What gates found, and where nothing has changed since. Of these only `changing` is waited
    for until it is safe: a pass that a power cut takes back is tried once more."""

    def __init__(self, read: Read, read_of: ReadOf, submit: Submit) -> None:
        self._read = read
        self._read_of = read_of
        self._submit = submit

    async def wanted(self, lane: LaneKey, turn: int) -> tuple[ChatGates, tuple[str, ...]]:
        """See `GateStore.wanted`."""

        def job(conn: sqlite3.Connection) -> tuple[ChatGates, tuple[str, ...]]:
            (session,) = conn.execute("SELECT session FROM turn WHERE id = ?", (turn,)).fetchone()
            goal = load_slot(conn, session).active
            return of_chat(conn, lane), goal.gates if goal else ()

        return self._read_of(lane, job)

    async def unchanged(self, lane: LaneKey, folder: str, commands: str) -> bool:
        """See `GateStore.unchanged`."""
        return self._read(
            lambda conn: _found(
                conn,
                f"SELECT 1 FROM gate_pass WHERE folder = :folder AND commands = :commands "  # noqa: S608 - ours
                f"AND NOT {WAITS}",
                lane=lane,
                folder=folder,
                commands=commands,
            )
        )

    async def passed(self, lane: LaneKey, folder: str, commands: str) -> None:
        """See `GateStore.passed`."""
        await self._submit(
            lambda conn: _do(
                conn,
                "INSERT OR IGNORE INTO gate_pass (folder, commands) "
                f"SELECT :folder, :commands WHERE NOT {WAITS}",
                lane=lane,
                folder=folder,
                commands=commands,
            ),
            safe=False,
        )

    async def forget(self, folder: str, commands: str) -> None:
        """See `GateStore.forget`."""
        sql = "DELETE FROM gate_pass WHERE folder = :folder AND commands = :commands"
        await self._submit(
            lambda conn: _do(conn, sql, folder=folder, commands=commands), safe=False
        )

    async def changing(self, folder: str) -> None:
        """See `GateStore.changing`; the writer is asked only where something has passed."""
        known = f"SELECT 1 FROM gate_pass WHERE {BESIDE} LIMIT 1"  # noqa: S608 - ours
        if self._read(lambda conn: _found(conn, known, folder=folder)):
            gone = f"DELETE FROM gate_pass WHERE {BESIDE}"  # noqa: S608 - ours
            await self._submit(lambda conn: _do(conn, gone, folder=folder))

    async def note(self, turn: int, event: GateEvent) -> None:
        """See `GateStore.note`."""
        sql = "UPDATE turn SET gates = json_insert(gates, '$[#]', json(:event)) WHERE id = :turn"
        stored = json.dumps(asdict(event), ensure_ascii=False)
        await self._submit(lambda conn: _do(conn, sql, turn=turn, event=stored), safe=False)

    async def spoken(self, turn: int) -> bool:
        """See `GateStore.spoken`."""
        return self._read(
            lambda conn: _found(
                conn,
                "SELECT 1 FROM inbox i JOIN turn t ON t.lane = i.lane WHERE t.id = :turn "
                "AND i.state = 'ready' AND i.kind = 'message' AND i.received >= t.began LIMIT 1",
                turn=turn,
            )
        )


@checked("a chat's gates")
def of_chat(conn: sqlite3.Connection, lane: LaneKey) -> ChatGates:
    """The gates that were set in a lane's chat."""
    found = conn.execute(
        "SELECT value FROM state_meta WHERE key = ?", (wanted.gates_key(lane),)
    ).fetchone()
    return wanted.load(found[0] if found else None)


@checked("what gates did")
def events_of(conn: sqlite3.Connection, lane: LaneKey) -> tuple[GateEvent, ...]:
    """What gates did in a lane's newest turn."""
    found = conn.execute(
        "SELECT gates FROM turn WHERE lane = ? AND kind <> 'draft' ORDER BY id DESC LIMIT 1",
        (lane,),
    ).fetchone()
    stored = json.loads(found[0]) if found else []
    return tuple(GateEvent(**{**event, "gate": Gate(event["gate"])}) for event in stored)


def _found(conn: sqlite3.Connection, sql: str, **values: str | int) -> bool:
    return conn.execute(sql, values).fetchone() is not None


def _do(conn: sqlite3.Connection, sql: str, **values: str | int) -> None:
    conn.execute(sql, values)
