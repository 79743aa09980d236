"""Reads a lane's chat back from the rows of its inbox and outbox.

Reads only. The rows of lanes for which `KEPT` holds are never pruned and have an index by lane;
a query finds it only where it repeats these very words.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence

from adapters.sqlite import codec, escalation_rows
from adapters.sqlite.cards import commands
from adapters.sqlite.escalation_rows import Stored
from adapters.sqlite.lane_rows import load_principal, seen_goal
from core.escalations import shown
from core.escalations.texts import decision, how_to
from core.messages import Address, LaneKey, PlatformName, RemoteId
from core.sessions.conversation import (
    ChatFact,
    Conversation,
    Place,
    Posted,
    Question,
    Told,
    TrailLine,
)
from core.sessions.inputs import attachments_of
from core.sessions.outgoing import Amend
from core.transcript import Json

KEPT = "lane >= 'web|' AND lane < 'web}'"
SPOKEN = "kind IN ('message', 'control')"
NEWEST = 1 << 62
PRESS = "press"
"""The name that a press on a question's card stands under; no command is called so."""
TEXT = 200
"""So much of what a question asks is listed."""
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
            command=kind == "control" and "name" in payload,
        )
        found.append((seq, line))
    return found


def _words(kind: str, payload: Mapping[str, Json]) -> str | None:
    """What a person said, as a message or as an answer; None for a press, and for a mark that a
    chat has moved."""
    if kind == "message" or "text" in payload:
        return str(payload.get("text", ""))
    if payload.get("name", PRESS) == PRESS:
        return None
    return f"/{payload['name']} {payload.get('argument', '')}".rstrip()


def _posted(
    conn: sqlite3.Connection, here: str, lane: LaneKey, upto: int, limit: int
) -> list[tuple[int, Posted]]:
    rows = conn.execute(
        "SELECT id, remote_id, body, first_try, card FROM outbox "  # noqa: S608 - ours
        f"WHERE {here} AND id < ? AND state = 'sent' AND shows <> 'decision' "
        "ORDER BY id DESC LIMIT ?",
        (lane, upto, limit),
    )
    found = []
    for number, remote, body, first_try, card in rows:
        what = codec.load_outbound(body)
        if not isinstance(what, Amend):
            line = Posted(remote=RemoteId(remote), what=what, at=first_try, card=bool(card))
            found.append((number, line))
    return found


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
        waiting=escalation_rows.live(conn, lane),
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


def questions(conn: sqlite3.Connection, lane: LaneKey) -> tuple[Question, ...]:
    """The whole of `Archive.questions`. One that cannot be read is left out."""
    known = escalation_rows.known(conn, Address.of(lane))
    here = [stored for stored in known if stored.lane == lane]
    return tuple(_question(conn, stored) for stored in reversed(here))


def _question(conn: sqlite3.Connection, stored: Stored) -> Question:
    one = stored.value
    asked = one.exact[0].text if one.exact else one.question
    return Question(
        id=one.id,
        text=shown.line(asked, TEXT),
        how=how_to(one),
        state=one.state.value,
        until=one.until,
        outcome="" if one.live else decision(one),
        buttons=commands(one),
        trail=_trail(conn, stored.id),
        remotes=tuple(copy.remote for copy in one.copies),
    )


def _trail(conn: sqlite3.Connection, escalation: int) -> tuple[TrailLine, ...]:
    rows = conn.execute(
        "SELECT at, what, who, detail FROM escalation_event WHERE escalation = ? ORDER BY id",
        (escalation,),
    )
    return tuple(
        TrailLine(at, what, shown.name(load_principal(who)) if who else "", detail)
        for at, what, who, detail in rows
    )
