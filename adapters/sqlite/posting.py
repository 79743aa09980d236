"""A row of the outbox: what is to be said in a lane's chat.

Plain functions of a connection, called inside a writer's job; no commit here.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from adapters.sqlite import codec
from core.messages import LaneKey, Outbound, TurnId
from core.sessions.outgoing import Amend


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """What is said, once per key. `goal` is the goal whose status message it is, `turn` the turn
    whose answer, `escalation` the question that it `shows` (its card or a reminder)."""

    lane: LaneKey
    key: str
    what: Outbound | Amend
    goal: int | None = None
    turn: TurnId | None = None
    last_part: bool = True
    escalation: int | None = None
    shows: str = ""


def insert(conn: sqlite3.Connection, post: Post) -> None:
    """Queue it, unless its key was seen before."""
    conn.execute(
        "INSERT INTO outbox (lane, turn_key, turn, card, goal, last_part, body, state, "
        "escalation, shows) VALUES (?, ?, ?, ?, ?, ?, ?, 'ready', ?, ?) "
        "ON CONFLICT (turn_key) DO NOTHING",
        (
            post.lane,
            post.key,
            post.turn,
            post.goal is not None,
            post.goal,
            post.last_part,
            codec.dump_outbound(post.what),
            post.escalation,
            post.shows,
        ),
    )
