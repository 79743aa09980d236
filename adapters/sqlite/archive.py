"""Reads a lane's chat back from the rows of its inbox and outbox.

Reads only. The rows of lanes for which `KEPT` holds are never pruned and have an index by lane;
a query finds it only where it repeats these very words.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence

from adapters.sqlite import codec
from adapters.sqlite.lane_rows import load_principal, seen_goal
from core.messages import LaneKey, PlatformName, RemoteId
from core.sessions.conversation import ChatFact, Conversation, Place, Posted, Told
from core.sessions.inputs import attachments_of
from core.transcript import Json

KEPT = "lane >= 'web|' AND lane < 'web}'"
SPOKEN = "kind IN ('message', 'control')"
NEWEST = 1 << 62
OPENERS = 10
"""So many of a chat's first lines are looked at for one that tells what it is about."""


def conversation(
    conn: sqlite3.Connection, lane: LaneKey, before: Place | None, limit: int
) -> Conversation:
    """The whole of `Archive.conversation`."""
    upto = before or Place(NEWEST, NEWEST)
    here = f"lane = ? AND {KEPT}" if _kept(lane) else "lane = ?"
    told = _told(conn, here, lane, upto.inbox, limit + 1)
    posted = _posted(conn, here, lane, upto.outbox, limit + 1)
    # In one instant a person spoke first; within each table the ids are the order.
    merged = sorted(
        [(line.at, 0, number, line) for number, line in told]
        + [(line.at, 1, number, line) for number, line in posted],
        key=lambda item: item[:3],
    )
    page = merged[-limit:]
    lines = tuple(item[3] for item in page)
    if len(merged) <= limit:
        return Conversation(lines)
    numbers = {0: upto.inbox, 1: upto.outbox}
    for _, table, number, _ in page:
        numbers[table] = min(numbers[table], number)
    return Conversation(lines, Place(numbers[0], numbers[1]))


def _kept(lane: LaneKey) -> bool:
    return "web|" <= lane < "web}"


def _told(
    conn: sqlite3.Connection, here: str, lane: LaneKey, upto: int, limit: int
) -> list[tuple[int, Told]]:
    rows = conn.execute(
        "SELECT seq, kind, dedupe, principal, payload, received FROM inbox "  # noqa: S608 - ours
        f"WHERE {here} AND seq < ? AND {SPOKEN} ORDER BY seq DESC LIMIT ?",
        (lane, upto, limit),
    )
    found = []
    for seq, kind, dedupe, principal, stored, received in rows:
        payload = json.loads(stored)
        text = _words(kind, payload)
        if text is None:
            continue
        line = Told(
            dedupe=dedupe,
            by=load_principal(principal),
            text=text,
            at=received,
            attachments=tuple(file for file, _ in attachments_of(payload, seq)),
            command=kind == "control",
        )
        found.append((seq, line))
    return found


def _words(kind: str, payload: Mapping[str, Json]) -> str | None:
    """What a person said; None for a mark that a chat has moved."""
    if kind == "message":
        return str(payload.get("text", ""))
    if "name" not in payload:
        return None
    return f"/{payload['name']} {payload.get('argument', '')}".rstrip()


def _posted(
    conn: sqlite3.Connection, here: str, lane: LaneKey, upto: int, limit: int
) -> list[tuple[int, Posted]]:
    rows = conn.execute(
        "SELECT id, remote_id, body, first_try, card FROM outbox "  # noqa: S608 - ours
        f"WHERE {here} AND id < ? AND state = 'sent' ORDER BY id DESC LIMIT ?",
        (lane, upto, limit),
    )
    return [
        (
            number,
            Posted(
                remote=RemoteId(remote),
                what=codec.load_outbound(body),
                at=first_try,
                card=bool(card),
            ),
        )
        for number, remote, body, first_try, card in rows
    ]


def chats(conn: sqlite3.Connection, platform: PlatformName) -> tuple[ChatFact, ...]:
    """The whole of `Archive.chats`."""
    lanes = conn.execute(
        "SELECT key, phase, session FROM lane WHERE key >= ? AND key < ?",
        (f"{platform}|", f"{platform}}}"),
    ).fetchall()
    found = [_fact(conn, LaneKey(key), phase, session) for key, phase, session in lanes]
    return tuple(sorted(filter(None, found), key=lambda fact: fact.last, reverse=True))


def _fact(conn: sqlite3.Connection, lane: LaneKey, phase: str, session: int) -> ChatFact | None:
    here = f"lane = ? AND {KEPT}" if _kept(lane) else "lane = ?"
    opening = conn.execute(
        f"SELECT kind, payload FROM inbox WHERE {here} AND {SPOKEN} "  # noqa: S608 - ours
        "ORDER BY seq LIMIT ?",
        (lane, OPENERS),
    ).fetchall()
    last = conn.execute(
        f"SELECT received FROM inbox WHERE {here} AND {SPOKEN} "  # noqa: S608 - ours
        "ORDER BY seq DESC LIMIT 1",
        (lane,),
    ).fetchone()
    if last is None:
        return None
    goal = seen_goal(conn, session)
    return ChatFact(
        lane=lane,
        first=_subject(opening),
        last=last[0],
        busy=phase != "idle",
        goal=goal.status.value if goal else "",
    )


def _subject(opening: Sequence[tuple[str, str]]) -> str:
    """What a chat is about: its first goal or message, else its first command."""
    texts = [(kind, json.loads(stored)) for kind, stored in opening]
    for kind, payload in texts:
        if kind == "message" and payload.get("text"):
            return str(payload["text"])
        if kind == "control" and payload.get("name") == "goal" and payload.get("argument"):
            return str(payload["argument"])
    return next((said for kind, payload in texts if (said := _words(kind, payload))), "")
