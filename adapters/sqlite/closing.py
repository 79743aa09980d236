"""A turn's way out of the tables: its trace becomes transcript, its rows are done."""

from __future__ import annotations

import json
import sqlite3

from adapters.sqlite import codec
from adapters.sqlite.steps import TURN_STEPS, drop_trace
from core.agent.steps import TurnInput
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


def stored_receipts(conn: sqlite3.Connection, turn: TurnId) -> tuple[ReceiptOf, ...]:
    """The receipts of a turn whose shell could not tell them: its process or its task is gone."""
    steps = TURN_STEPS.load(conn, turn)
    return receipts_of(replay(TurnInput(turn=turn, history=(), inputs=(), steps=steps)).results)


def close_turn(conn: sqlite3.Connection, turn: Turn, outcome: Outcome) -> None:
    """Append the transcript, drop the trace, and mark rows and turn done.

    The answer is what `turn.answer` holds by now; a turn that was stopped keeps none. A turn that
    a restart cut has no receipts yet: what it did goes before the judge all the same.
    """
    inputs, answer, receipts = conn.execute(
        "SELECT inputs, answer, receipts FROM turn WHERE id = ?", (turn.id,)
    ).fetchone()
    if outcome is not Outcome.ANSWERED:
        answer = ""
        conn.execute("UPDATE turn SET answer = '' WHERE id = ?", (turn.id,))
    if turn.kind is not RowKind.DRAFT:
        start = TurnInput(
            turn=turn.id,
            history=(),
            inputs=codec.load_users(inputs),
            steps=TURN_STEPS.load(conn, turn.id),
        )
        trace = replay(start)
        if receipts == NO_RECEIPTS and trace.results:
            found = codec.dump_receipts(receipts_of(trace.results))
            conn.execute("UPDATE turn SET receipts = ? WHERE id = ?", (found, turn.id))
        entries = trace.closed(CUT_OFF) + ((Assistant(answer),) if answer else ())
        _append(conn, turn, trace, entries)
    drop_trace(conn, turn.id)
    conn.execute("UPDATE turn SET phase = ? WHERE id = ?", (outcome.value, turn.id))
    conn.execute(
        "UPDATE inbox SET state = 'done' WHERE turn = ? AND state = 'claimed'", (turn.id,)
    )


def _append(
    conn: sqlite3.Connection, turn: Turn, trace: Trace, entries: tuple[Entry, ...]
) -> None:
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
        (payload,) = conn.execute(
            "SELECT payload FROM inbox WHERE seq = ?", (turn.rows[0],)
        ).fetchone()
        asked = str(json.loads(payload)["text"])
    return one_line(asked, TITLE_LENGTH)
