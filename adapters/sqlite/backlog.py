"""How much waits in the database, counted for metrics on a connection of its own each time: one
that stayed open would keep the log from being folded into the file at the end.

Only reads, and only through the partial indexes of open rows: what is done with is not counted.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from adapters.sqlite.database import FILE_NAME, open_reader


@dataclass(frozen=True, slots=True)
class Backlog:
    """Open rows: what waits for a turn, in how many lanes and at most in one; what is to be
    sent, and how much of it was tried already without success."""

    waiting: int
    lanes: int
    longest: int
    unsent: int
    retried: int


_WAITING = """
SELECT coalesce(sum(n), 0), count(*), coalesce(max(n), 0)
FROM (SELECT count(*) AS n FROM inbox WHERE state = 'ready' GROUP BY lane)
"""
_UNSENT = """
SELECT count(*), coalesce(sum(attempts > 0), 0)
FROM outbox WHERE state IN ('ready', 'sending')
"""


def backlog(folder: Path) -> Backlog:
    """The counts of the store in `folder`, which is open, at one moment."""
    with closing(open_reader(folder / FILE_NAME)) as conn:
        waiting, lanes, longest = conn.execute(_WAITING).fetchone()
        unsent, retried = conn.execute(_UNSENT).fetchone()
    return Backlog(waiting, lanes, longest, unsent, retried)
