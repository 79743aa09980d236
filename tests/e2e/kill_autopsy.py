"""Reads what a dead program left in its database, from a copy, and what is left running of it.

The copy matters: whoever opens the file first after a crash recovers it, and that must be the
program's next life.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from adapters.sqlite.database import FILE_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class Autopsy:
    """The state at a death. `cut_calls` are (turn, call id) of running turns' calls that had
    begun and not ended, `in_flight` the (chat, text) that were being sent."""

    points: frozenset[str]
    cut_calls: frozenset[tuple[int, str]]
    in_flight: tuple[tuple[int, str], ...]


@contextmanager
def copied(data: Path) -> Iterator[sqlite3.Connection]:
    """The database as it lies on the disk."""
    with TemporaryDirectory() as folder:
        for name in (FILE_NAME, f"{FILE_NAME}-wal"):
            if (data / name).exists():
                shutil.copyfile(data / name, Path(folder, name))
        conn = sqlite3.connect(Path(folder, FILE_NAME))
        try:
            yield conn
        finally:
            conn.close()


def most_tries(data: Path) -> int:
    """How often, at most, a turn was begun without a new step; asks the living file."""
    path = data / FILE_NAME
    if not path.exists():
        return 0
    conn = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        (found,) = conn.execute(
            "SELECT coalesce(max(tries), 0) FROM turn WHERE phase = 'begun'"
        ).fetchone()
    except sqlite3.OperationalError:  # the first start has not made the tables yet
        return 0
    finally:
        conn.close()
    return int(found)


def examine(data: Path, waiting: tuple[int, ...]) -> Autopsy:
    """The state at a death; `waiting` are the updates that Telegram would deliver again."""
    with copied(data) as conn:
        if not conn.execute("SELECT 1 FROM sqlite_master WHERE name = 'turn'").fetchone():
            return Autopsy(points=frozenset({"no schema"}), cut_calls=frozenset(), in_flight=())
        cut = frozenset(conn.execute(CUT_CALLS))
        sending = conn.execute("SELECT lane, body FROM outbox WHERE state = 'sending'").fetchall()
        points = {name for name, sql in POINTS.items() if conn.execute(sql).fetchone()[0]}
        if any(conn.execute(ACCEPTED, (f"%:{number}",)).fetchone()[0] for number in waiting):
            points.add("accepted, not confirmed")
        (points_turns,) = conn.execute(BETWEEN).fetchone()
    if points_turns:
        points.add("between a result and the next step")
    return Autopsy(
        points=frozenset(points),
        cut_calls=frozenset((int(turn), str(part)[5:]) for turn, part in cut),
        in_flight=tuple((_chat(lane), words_of(body)) for lane, body in sending),
    )


def words_of(body: str) -> str:
    """What an outbox row shows in the chat: a text, or a file's caption."""
    stored = json.loads(body)
    said = stored["say"] if stored["op"] == "amend" else stored
    return str(said["caption"] if stored["op"] == "file" else said["text"])


def _chat(lane: str) -> int:
    return int(lane.split("|")[2])


CUT_CALLS = (
    "SELECT s.turn, s.part FROM step s JOIN lane l ON l.turn = s.turn "
    "WHERE s.state = 'started' AND l.phase = 'running'"
)
ACCEPTED = "SELECT EXISTS (SELECT 1 FROM inbox WHERE dedupe LIKE ?)"
BETWEEN = (
    "SELECT EXISTS (SELECT 1 FROM turn t WHERE phase = 'begun' AND "
    "EXISTS (SELECT 1 FROM step s WHERE s.turn = t.id) AND "
    "NOT EXISTS (SELECT 1 FROM step s WHERE s.turn = t.id AND s.state = 'started'))"
)
POINTS = {
    "message waiting": "SELECT EXISTS (SELECT 1 FROM inbox WHERE state = 'ready')",
    "turn without a step": "SELECT EXISTS (SELECT 1 FROM turn t WHERE phase = 'begun' AND "
    "NOT EXISTS (SELECT 1 FROM step s WHERE s.turn = t.id))",
    "tool started, no result": "SELECT EXISTS (SELECT 1 FROM step WHERE state = 'started')",
    "turn ended, answer not sent": "SELECT EXISTS (SELECT 1 FROM outbox WHERE state = 'ready' "
    "AND turn IS NOT NULL)",
    "answer being sent": "SELECT EXISTS (SELECT 1 FROM outbox WHERE state = 'sending' "
    "AND turn IS NOT NULL)",
    "judgement open": "SELECT EXISTS (SELECT 1 FROM state_meta WHERE key LIKE 'goal:%' AND "
    "json_extract(value, '$.goal.judgement') IS NOT NULL)",
    "turn being stopped": "SELECT EXISTS (SELECT 1 FROM lane WHERE phase = 'stopped')",
    "continuation waiting": "SELECT EXISTS (SELECT 1 FROM inbox WHERE state = 'ready' "
    "AND kind = 'continuation')",
}


@dataclass(frozen=True, slots=True)
class Leftover:
    """A process that was a dead program's."""

    pid: int
    name: str
    line: str

    @property
    def unborn(self) -> bool:
        """A sandbox whose launcher died while it was being built: it waits for the word to go
        on, which never comes, so its command never runs."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        return self.name == "bwrap" and children.exists() and not children.read_text()


def leftovers(starter: int) -> list[Leftover]:
    """What the dead lives of a starter have left running; it adopts what they lose."""
    found = [_looked_at(pid) for pid in _children(starter)]
    return [left for left in found if left is not None]


def _children(pid: int) -> list[int]:
    return [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _looked_at(pid: int) -> Leftover | None:
    """The process, None for one that is dead and not reaped yet."""
    with suppress(OSError):
        line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
        return Leftover(pid, name, line[-120:]) if line else None
    return None
