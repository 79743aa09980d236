"""`SqliteChildren`: the `ChildStore` port on the store's writer."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from adapters.sqlite import escalations
from adapters.sqlite.jobs import WriteOf
from adapters.sqlite.steps import CHILD_STEPS
from adapters.sqlite.turns import check_fence, spend
from core.agent.compaction import total
from core.agent.steps import Finished, Replied, Started, StepWrite
from core.delegation.ports import ChildRef, ChildState
from core.ports import Clock, Usage
from core.sessions.ports import CallUsage

BRIEF_LENGTH = 2_000


class SqliteChildren:
    """The children of running turns.

    What lets something act on the outside waits until it is safe: a `record_child` that starts a
    tool, and `open_child`, for a local agent runner is a child that acts and writes no step. The
    others leave nothing behind before a later write does: a reply that a power cut takes back is
    asked for again, and what was kept of a run reaches a person, or a tool, by way of the turn's
    own steps and end, which come after it and are safe before anybody sees them.
    """

    def __init__(self, write: WriteOf, clock: Clock) -> None:
        self._write = write
        self._clock = clock

    async def open_child(self, ref: ChildRef, brief: str) -> ChildState:
        """See `ChildStore.open_child`; of the brief its beginning is kept."""
        now = self._clock.now()
        return await self._write(
            ref.turn.lane, lambda conn: _open(conn, ref, brief[:BRIEF_LENGTH], now), safe=True
        )

    async def kept_child(self, ref: ChildRef) -> str:
        """See `ChildStore.kept_child`."""
        return await self._write(ref.turn.lane, lambda conn: _kept(conn, ref), safe=False)

    async def record_child(
        self,
        ref: ChildRef,
        writes: Sequence[StepWrite],
        *,
        used: Sequence[Usage] = (),
        spent: Sequence[CallUsage] = (),
    ) -> None:
        """See `ChildStore.record_child`."""
        now = self._clock.now()

        def job(conn: sqlite3.Connection) -> None:
            child = _fenced(conn, ref)
            CHILD_STEPS.add(conn, child, writes)
            _book(conn, child, used)
            spend(conn, ref.turn.turn, spent, now)
            if any(isinstance(write, Replied | Finished) for write in writes):
                conn.execute("UPDATE delegation SET tries = 0 WHERE id = ?", (child,))
                conn.execute("UPDATE turn SET tries = 0 WHERE id = ?", (ref.turn.turn,))

        starts = any(isinstance(write, Started) for write in writes)
        await self._write(ref.turn.lane, job, safe=starts)

    async def keep_child(
        self,
        ref: ChildRef,
        kept: str,
        *,
        used: Sequence[Usage] = (),
        spent: Sequence[CallUsage] = (),
    ) -> None:
        """See `ChildStore.keep_child`. It is no step: what is kept at each start would else keep
        a turn alive that gets nowhere."""
        now = self._clock.now()

        def job(conn: sqlite3.Connection) -> None:
            child = _fenced(conn, ref)
            conn.execute("UPDATE delegation SET kept = ? WHERE id = ?", (kept, child))
            _book(conn, child, used)
            spend(conn, ref.turn.turn, spent, now)

        await self._write(ref.turn.lane, job, safe=False)


def _open(conn: sqlite3.Connection, ref: ChildRef, brief: str, now: float) -> ChildState:
    check_fence(conn, ref.turn)
    id_, tries, kept, *used, calls, began = conn.execute(
        "INSERT INTO delegation (turn, path, brief, tries, began) VALUES (?, ?, ?, 1, ?) "
        "ON CONFLICT (turn, path) DO UPDATE SET tries = tries + 1 "
        "RETURNING id, tries, kept, input, cached, output, cost, calls, began",
        (ref.turn.turn, ref.path, brief, now),
    ).fetchone()
    steps = CHILD_STEPS.load(conn, id_)
    return ChildState(
        id=id_,
        tries=tries,
        steps=steps,
        kept=kept,
        used=Usage(*used),
        calls=calls,
        began=began,
        asked=_asked(conn, ref) if steps else frozenset(),
    )


def _kept(conn: sqlite3.Connection, ref: ChildRef) -> str:
    check_fence(conn, ref.turn)
    found = conn.execute(
        "SELECT kept FROM delegation WHERE turn = ? AND path = ?", (ref.turn.turn, ref.path)
    ).fetchone()
    return "" if found is None else str(found[0])


def _asked(conn: sqlite3.Connection, ref: ChildRef) -> frozenset[str]:
    """The ids of the child's own calls that asked a person."""
    own = f"{ref.path}/"
    keys = escalations.keys(conn, ref.turn.turn)
    return frozenset(key.removeprefix(own) for key in keys if key.startswith(own))


def _fenced(conn: sqlite3.Connection, ref: ChildRef) -> int:
    """The id of an opened child, for the turn that still owns it."""
    check_fence(conn, ref.turn)
    found = conn.execute(
        "SELECT id FROM delegation WHERE turn = ? AND path = ?", (ref.turn.turn, ref.path)
    ).fetchone()
    if found is None:
        raise LookupError(f"the child {ref.path} of turn {ref.turn.turn} was never opened")
    return int(found[0])


def _book(conn: sqlite3.Connection, child: int, used: Sequence[Usage]) -> None:
    """Add a child's own calls to its sums; the goal's caps are held by the usage table."""
    if not used:
        return
    sum_ = total(used)
    conn.execute(
        "UPDATE delegation SET input = input + ?, cached = cached + ?, output = output + ?, "
        "cost = cost + ?, calls = calls + ? WHERE id = ?",
        (
            sum_.input_tokens,
            sum_.cached_tokens,
            sum_.output_tokens,
            sum_.cost,
            len(used),
            child,
        ),
    )
