"""Turns that wait for a person: kept as they are, or set aside with the calls that wait.

Plain functions of a connection, called inside a writer's job; no commit here.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from adapters.sqlite import codec, escalations
from adapters.sqlite.closing import append, close_turn, receipts_in
from adapters.sqlite.codec import checked
from adapters.sqlite.lane_rows import load_turn
from adapters.sqlite.steps import TURN_STEPS, drop_children
from core.agent.steps import Step, TurnInput
from core.agent.trace import replay
from core.messages import LaneKey, TurnId
from core.sessions.lane import Outcome, RowKind, Turn
from core.sessions.ports import ReceiptOf, TurnRef
from core.transcript import ToolCall, User

WAITS = "waiting for a person; the answer comes as a message"
NOT_RUN = (
    "not run: it stood behind a call that waits for a person. Make it again if it is still wanted"
)


def park(conn: sqlite3.Connection, turn: Turn) -> None:
    """Keep the turn with its steps; how often it was begun counts from its answer on."""
    conn.execute("UPDATE turn SET phase = 'parked', tries = 0 WHERE id = ?", (turn.id,))
    conn.execute("UPDATE delegation SET tries = 0 WHERE turn = ?", (turn.id,))
    conn.execute(
        "UPDATE inbox SET state = 'done' WHERE turn = ? AND state = 'claimed'", (turn.id,)
    )


def set_aside(conn: sqlite3.Connection, turn: Turn, notes: Mapping[str, str]) -> None:
    """Close the turn's part of the transcript; of its work only the calls that wait are kept.

    `notes` say of each what it waits for.
    """
    inputs, steps = _loaded(conn, turn.id)
    trace = replay(TurnInput(turn=turn.id, history=(), inputs=inputs, steps=steps))
    told = {
        call.id: notes.get(call.id, WAITS) for call in trace.waiting if call.id in trace.started
    }
    append(conn, turn, trace, trace.closed(NOT_RUN, told))
    conn.executemany(
        "INSERT INTO waiting_call (turn, call, body) VALUES (?, ?, ?)",
        [
            (turn.id, call.id, json.dumps(asdict(call)))
            for call in trace.waiting
            if call.id in told
        ],
    )
    ended = {call for step in steps for call in step.results}
    conn.executemany(
        "DELETE FROM waiting_call WHERE turn = ? AND call = ?",
        [(turn.id, call) for call in ended],
    )
    conn.execute(
        "UPDATE turn SET receipts = ?, phase = 'aside' WHERE id = ?",
        (codec.dump_receipts((*_earlier(conn, turn), *receipts_in(turn.id, steps))), turn.id),
    )
    conn.execute("DELETE FROM step WHERE turn = ?", (turn.id,))
    drop_children(conn, turn.id, but=_calls(conn, turn.id))


def _earlier(conn: sqlite3.Connection, turn: Turn) -> tuple[ReceiptOf, ...]:
    """What the turns before it did for the same call."""
    if turn.kind is not RowKind.ANSWER:
        return ()
    (kept,) = conn.execute("SELECT receipts FROM turn WHERE id = ?", (turn.id,)).fetchone()
    return codec.load_receipts(kept)


def _loaded(conn: sqlite3.Connection, turn: TurnId) -> tuple[tuple[User, ...], tuple[Step, ...]]:
    (inputs,) = conn.execute("SELECT inputs FROM turn WHERE id = ?", (turn,)).fetchone()
    return codec.load_users(inputs), TURN_STEPS.load(conn, turn)


def _calls(conn: sqlite3.Connection, turn: int) -> list[str]:
    found = conn.execute("SELECT call FROM waiting_call WHERE turn = ?", (turn,))
    return [call for (call,) in found]


@checked("an answer")
def _answered(conn: sqlite3.Connection, answer: int) -> tuple[int, str, str]:
    """Whose call an answer is for, which of its calls, and what that turn did; all of it is looked
    at before anything goes on."""
    old, payload = conn.execute(
        "SELECT of_turn, payload FROM inbox WHERE seq = ?", (answer,)
    ).fetchone()
    call = str(codec.load_payload(payload)["call"])
    (receipts,) = conn.execute("SELECT receipts FROM turn WHERE id = ?", (old,)).fetchone()
    codec.load_receipts(receipts)
    return old, call, receipts


def take_over(conn: sqlite3.Connection, answer: int, turn: TurnId) -> None:
    """Let a turn go on with the call that an answer (an inbox row) is for: what the call keeps,
    and what the turn that made it really did, are its own now."""
    old, call, receipts = _answered(conn, answer)
    conn.execute("UPDATE waiting_call SET turn = ? WHERE turn = ? AND call = ?", (turn, old, call))
    for child, path in conn.execute(
        "SELECT id, path FROM delegation WHERE turn = ?", (old,)
    ).fetchall():
        if path.startswith(f"{call}."):
            conn.execute("UPDATE delegation SET turn = ? WHERE id = ?", (turn, child))
    escalations.adopt(conn, old, call, turn)
    conn.execute("UPDATE turn SET receipts = ? WHERE id = ?", (receipts, turn))
    conn.execute("UPDATE turn SET receipts = '[]' WHERE id = ?", (old,))
    if not _calls(conn, old):
        conn.execute("UPDATE turn SET phase = 'answered' WHERE id = ?", (old,))


@checked("a call that waits")
def load_call(conn: sqlite3.Connection, turn: Turn) -> ToolCall | None:
    """The call that an answer's turn goes on with."""
    if turn.kind is not RowKind.ANSWER:
        return None
    found = conn.execute("SELECT body FROM waiting_call WHERE turn = ?", (turn.id,)).fetchone()
    return ToolCall(**json.loads(found[0]))


def forget(conn: sqlite3.Connection, turn: int) -> None:
    """The turn is over, and so are the calls it went on with and the answers that wait for it."""
    conn.execute("DELETE FROM waiting_call WHERE turn = ?", (turn,))
    conn.execute(
        "UPDATE inbox SET state = 'dropped' WHERE of_turn = ? AND state = 'ready'", (turn,)
    )


def withdraw(conn: sqlite3.Connection, lane: LaneKey, goal: int | None) -> Sequence[TurnRef]:
    """End the lane's parked turns and set-aside calls, or those of a goal."""
    found = conn.execute(
        "SELECT id, phase, attempt FROM turn WHERE lane = ? AND phase IN ('parked', 'aside') "
        "AND (? IS NULL OR goal = ?)",
        (lane, goal, goal),
    ).fetchall()
    for turn, phase, _ in found:
        if phase == "parked":
            close_turn(conn, load_turn(conn, turn), Outcome.STOPPED)
        forget(conn, turn)
        drop_children(conn, turn)
        conn.execute("UPDATE turn SET phase = 'stopped' WHERE id = ?", (turn,))
    return [TurnRef(lane, TurnId(turn), attempt) for turn, _, attempt in found]
