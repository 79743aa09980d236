"""Rows of steps: a turn's in `step`, a child's in `delegation_step`; alike but for their owner.

Plain functions of a connection, called inside a writer's job; no commit here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from adapters.sqlite import codec
from core.agent.steps import Finished, Injected, Started, Step, StepWrite


@dataclass(frozen=True, slots=True)
class StepTable:
    """A table of steps; `owner` is the column that says whose they are. Names are our own."""

    name: str
    owner: str

    def load(self, conn: sqlite3.Connection, whose: int) -> tuple[Step, ...]:
        """The stored trace."""
        rows = conn.execute(
            f"SELECT n, part, state, body FROM {self.name} WHERE {self.owner} = ? "  # noqa: S608
            "ORDER BY n, part",
            (whose,),
        ).fetchall()
        return codec.load_steps(rows)

    def add(self, conn: sqlite3.Connection, whose: int, writes: Iterable[StepWrite]) -> None:
        """Append to the trace."""
        for write in writes:
            self._add(conn, whose, write)

    def _add(self, conn: sqlite3.Connection, whose: int, write: StepWrite) -> None:
        part, state, body = codec.part_of(write)
        if isinstance(write, Injected):
            (count,) = conn.execute(
                f"SELECT count(*) FROM {self.name} WHERE {self.owner} = ? "  # noqa: S608
                "AND n = ? AND part LIKE 'said:%'",
                (whose, write.n),
            ).fetchone()
            part = f"said:{count:04d}"
        once = (
            "ON CONFLICT DO UPDATE SET state = excluded.state, body = excluded.body "
            f"WHERE {self.name}.state = 'started'"
            if isinstance(write, Started | Finished)
            else ""
        )
        conn.execute(
            f"INSERT INTO {self.name} ({self.owner}, n, part, state, body) "  # noqa: S608
            f"VALUES (?, ?, ?, ?, ?) {once}",
            (whose, write.n, part, state, body),
        )


TURN_STEPS = StepTable("step", "turn")
CHILD_STEPS = StepTable("delegation_step", "delegation")


def check_children(conn: sqlite3.Connection, turn: int) -> None:
    """Raise `Unreadable` where one of a turn's children cannot be taken up: the lane rests then,
    as for a step of the turn itself, before anything runs that would end the turn."""
    children = conn.execute("SELECT id FROM delegation WHERE turn = ?", (turn,)).fetchall()
    for (child,) in children:
        CHILD_STEPS.load(conn, child)


def drop_trace(conn: sqlite3.Connection, turn: int) -> None:
    """Delete a turn's steps, and its children with theirs."""
    conn.execute("DELETE FROM step WHERE turn = ?", (turn,))
    drop_children(conn, turn)


def drop_children(conn: sqlite3.Connection, turn: int, *, but: Iterable[str] = ()) -> None:
    """Delete a turn's children with their steps, but those of the calls named."""
    kept = tuple(f"{call}." for call in but)
    found = conn.execute("SELECT id, path FROM delegation WHERE turn = ?", (turn,)).fetchall()
    gone = [(child,) for child, path in found if not path.startswith(kept)]
    conn.executemany("DELETE FROM delegation_step WHERE delegation = ?", gone)
    conn.executemany("DELETE FROM delegation WHERE id = ?", gone)
