"""A turn's way out of the tables: its trace becomes transcript, its rows are done."""

from __future__ import annotations

import json
import sqlite3

from adapters.sqlite import codec
from adapters.sqlite.steps import TURN_STEPS, drop_trace
from core.agent.steps import Step, TurnInput
from core.agent.trace import Trace, replay
from core.fence import one_line
from core.messages import TurnId
from core.sessions.lane import Outcome, RowKind, Turn
from core.sessions.ports import ReceiptOf
from core.sessions.receipts import receipts_of
from core.transcript import Assistant, Entry, to_json

TITLE_LENGTH = 120
NO_RECEIPTS = "[]"
CUT_OFF = "cut off: the turn was ended before this call gave a result; its outcome is unknown"

WITHDRAWN = "stopped before a person had answered what this call asked; nothing of it was done"


def stored_receipts(conn: sqlite3.Connection, turn: TurnId) -> tuple[ReceiptOf, ...]:
    """The receipts of a turn whose shell could not tell them: its process or its task is gone."""
    return receipts_in(turn, TURN_STEPS.load(conn, turn))


def receipts_in(turn: TurnId, steps: tuple[Step, ...]) -> tuple[ReceiptOf, ...]:
    """What the calls of a trace did, the one that a turn went on with among them: that one stands
    in the first step, though no reply of it asked for it."""
    trace = replay(TurnInput(turn=turn, history=(), inputs=(), steps=steps))
    own = {result.call.id for result in trace.results}
    first = steps[0].results.values() if steps else ()
    earlier = [result for result in first if result.call.id not in own]
    return receipts_of((*earlier, *trace.results))


def close_turn(conn: sqlite3.Connection, turn: Turn, outcome: Outcome) -> None:
    """Append the transcript, drop the trace, and mark rows and turn done.

    The answer is what `turn.answer` holds by now; a turn that was stopped keeps none. A turn that
    a restart cut has no receipts yet: what it did goes before the judge all the same.
    """
    inputs, answer, receipts, phase = conn.execute(
        "SELECT inputs, answer, receipts, phase FROM turn WHERE id = ?", (turn.id,)
    ).fetchone()
    if outcome is not Outcome.ANSWERED:
        answer = ""
        conn.execute("UPDATE turn SET answer = '' WHERE id = ?", (turn.id,))
    if turn.kind is not RowKind.DRAFT:
        steps = TURN_STEPS.load(conn, turn.id)
        users = codec.load_users(inputs)
        trace = replay(TurnInput(turn=turn.id, history=(), inputs=users, steps=steps))
        asked = {call.id for call in trace.waiting} & trace.started if phase == "parked" else ()
        if receipts == NO_RECEIPTS and trace.results:
            found = codec.dump_receipts(receipts_in(turn.id, steps))
            conn.execute("UPDATE turn SET receipts = ? WHERE id = ?", (found, turn.id))
        notes = dict.fromkeys(asked, WITHDRAWN)
        entries = trace.closed(CUT_OFF, notes) + ((Assistant(answer),) if answer else ())
        append(conn, turn, trace, entries)
    drop_trace(conn, turn.id)
    conn.execute("UPDATE turn SET phase = ? WHERE id = ?", (outcome.value, turn.id))
    conn.execute(
        "UPDATE inbox SET state = 'done' WHERE turn = ? AND state = 'claimed'", (turn.id,)
    )


def append(conn: sqlite3.Connection, turn: Turn, trace: Trace, entries: tuple[Entry, ...]) -> None:
    """Add a turn's entries to its session's transcript."""
    (start,) = conn.execute("SELECT entries FROM session WHERE id = ?", (turn.session,)).fetchone()
    conn.executemany(
        "INSERT INTO message (session, n, turn, body) VALUES (?, ?, ?, ?)",
        [
            (turn.session, n, turn.id, json.dumps(to_json(entry), ensure_ascii=False))
            for n, entry in enumerate(entries, start)
        ],
    )
    if trace.fold is not None:
        count, summary = trace.fold
        conn.execute(
            "INSERT OR REPLACE INTO checkpoint (session, n, summary) VALUES (?, ?, ?)",
            (turn.session, start + count, summary),
        )
    conn.execute(
        "UPDATE session SET entries = entries + ?, turns = turns + 1, "
        "title = CASE WHEN title = '' THEN ? ELSE title END WHERE id = ?",
        (len(entries), _title(conn, turn, entries), turn.session),
    )


def _title(conn: sqlite3.Connection, turn: Turn, entries: tuple[Entry, ...]) -> str:
    """What a session that begins with this turn is listed as: one line of what was asked, and of
    a goal its own text without the contract."""
    asked = next((e.text for e in entries if not isinstance(e, Assistant)), "")
    if turn.kind is RowKind.KICKOFF:
        found = conn.execute("SELECT payload FROM inbox WHERE seq = ?", (turn.rows[0],)).fetchone()
        asked = str(json.loads(found[0])["text"]) if found else asked
    return one_line(asked, TITLE_LENGTH)
