"""What must hold of questions to people when the dust has settled.

Each function raises AssertionError with the facts; none of them asks the program.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from adapters.sqlite import escalation_rows
from core.escalations.outcome import Outcome, outcome
from core.escalations.record import Escalation, Purpose, State
from tests.e2e.asking_people import CARD
from tests.e2e.kill_autopsy import Autopsy
from tests.e2e.kill_checks import INTERRUPTED
from tests.e2e.kill_people import REPEAT
from tests.fakes.telegram_api import FakeTelegram

KEY = re.compile(r"echo (\S+) >> ledger")
TOLD = re.compile(r"\[Outcome of (E\d+): |Approved by [^\n]* \((E\d+)\)")
OPENED = "PRAGMA integrity_check"
LEFT: Mapping[str, str] = {
    "turn": "SELECT id, phase FROM turn WHERE phase IN ('begun', 'parked', 'aside')",
    "row": "SELECT seq, kind, state FROM inbox WHERE state NOT IN ('done', 'dropped')",
    "step": "SELECT turn, n, part FROM step",
    "call": "SELECT turn, call FROM waiting_call",
    "message": "SELECT id, state, body FROM outbox WHERE state IN ('ready', 'sending')",
    "child": "SELECT id, path FROM delegation WHERE turn IN "
    "(SELECT id FROM turn WHERE phase <> 'answered')",
    "question": "SELECT id, state FROM escalation WHERE state NOT IN ('applied', 'cancelled')",
    "alarm": "SELECT id, due FROM escalation WHERE due IS NOT NULL",
    "lane": "SELECT key, phase FROM lane WHERE phase <> 'idle'",
}
"""What is left over, if anything."""


def check_rest(conn: sqlite3.Connection) -> None:
    """The file is sound, and nothing in it waits for anything."""
    assert conn.execute(OPENED).fetchall() == [("ok",)]
    for what, sql in LEFT.items():
        found = conn.execute(sql).fetchall()
        assert not found, (what, found)


def check_ends(conn: sqlite3.Connection) -> None:
    """Each question came to one of its ends, was answered at most once, and told at most once."""
    for id_ in _ids(conn):
        stored = escalation_rows.by_id(conn, id_)
        assert stored is not None
        trail = Counter(
            what
            for (what,) in conn.execute(
                "SELECT what FROM escalation_event WHERE escalation = ?", (id_,)
            )
        )
        facts = (stored.lane, stored.value.id, stored.value.state, dict(trail))
        assert stored.value.ending is not None, facts
        assert trail["answered"] <= 1, facts
        assert trail["applied"] == (stored.value.state is State.APPLIED), facts
        ends = sum(trail[end] for end in ("answered", "expired", "undeliverable"))
        assert ends + trail["cancelled"] >= 1, facts
        assert ends <= 1, facts
        assert trail["cancelled"] <= 1, facts


def _ids(conn: sqlite3.Connection) -> list[int]:
    return [id_ for (id_,) in conn.execute("SELECT id FROM escalation ORDER BY id")]


def check_commands(conn: sqlite3.Connection, ledgers: Iterable[Path], *, stops: int = 0) -> int:
    """A command ran once and only when it was approved; one that never did was reported as
    interrupted, or stopped. How many ran."""
    lines: Counter[str] = Counter()
    for ledger in ledgers:
        if ledger.exists():
            lines.update(ledger.read_text(encoding="utf-8").splitlines())
    assert not [line for line, count in lines.items() if count > 1], lines.most_common(3)
    unrun = []
    for id_ in _ids(conn):
        stored = escalation_rows.by_id(conn, id_)
        assert stored is not None
        found = KEY.search(_command(stored.value))
        if found is None:
            continue
        approved = outcome(stored.value) is Outcome.APPROVED
        assert approved or not lines[found[1]], (stored.value.id, found[1], "ran unapproved")
        if approved and not lines[found[1]] and not found[1].startswith("look"):
            unrun.append(found[1])
    told = sum(INTERRUPTED in text for _, text in _said(conn))
    assert len(unrun) <= told + stops, (unrun, told, stops)
    return len(lines)


def _command(escalation: Escalation) -> str:
    return escalation.facts[0].text if escalation.purpose is Purpose.COMMAND else ""


def _said(conn: sqlite3.Connection) -> list[tuple[int, str]]:
    """What the sessions' models were told: session and text."""
    return [
        (session, entry["text"])
        for session, body in conn.execute("SELECT session, body FROM message")
        if (entry := json.loads(body))["role"] in {"tool", "user"}
    ]


def check_told(conn: sqlite3.Connection) -> None:
    """What a person said came to the work once."""
    told = Counter(
        (session, "".join(found)) for session, text in _said(conn) for found in TOLD.findall(text)
    )
    asked = Counter(
        (session, f"E{number}")
        for session, number in conn.execute("SELECT session, number FROM escalation")
    )
    assert not told - asked, told - asked


def check_transcripts(conn: sqlite3.Connection) -> None:
    """No call is open when anything but results follows."""
    open_: dict[int, list[str]] = {}
    for session, body in conn.execute("SELECT session, body FROM message ORDER BY session, n"):
        entry = json.loads(body)
        waits = open_.setdefault(session, [])
        if entry["role"] == "tool":
            assert entry["call_id"] in waits, (session, entry)
            waits.remove(entry["call_id"])
            continue
        assert not waits, (session, waits, entry)
        waits += [call["id"] for call in entry.get("calls", ())]
    assert not any(open_.values()), open_


def check_cards(people: FakeTelegram, deaths: Iterable[Autopsy]) -> None:
    """A card was sent once; a second copy is marked, and only a death in its sending made it."""
    sent: Counter[tuple[int, str, bool]] = Counter()
    for call in people.calls:
        found = CARD.match(str(call.params.get("text", "")))
        if call.method.lower() == "sendmessage" and call.outcome == "ok" and found:
            marked = str(call.params["text"]).startswith(REPEAT)
            sent[int(call.params["chat_id"]), found[1], marked] += 1
    flights = Counter(
        (chat, found[1])
        for death in deaths
        for chat, text in death.in_flight
        if (found := CARD.match(text))
    )
    for (chat, id_, marked), count in sent.items():
        most = flights[chat, id_] if marked else 1
        assert count <= most, (chat, id_, "marked" if marked else "plain", count, most)
