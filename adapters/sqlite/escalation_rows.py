"""Rows of questions to people, of their trail and of their cards' tokens.

Plain functions of a connection, called inside a writer's job; no commit here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from adapters.sqlite.codec import Unreadable
from adapters.sqlite.escalation_codec import Found, dump, load
from adapters.sqlite.lane_rows import dump_principal
from core.escalations.events import Trail
from core.escalations.record import Escalation
from core.messages import Address, LaneKey, Principal, RemoteId

KNOWN = 20
"""So many of a chat's decided questions are still known there, for whoever comes late."""
REPEATED_S = 60.0
"""The same refusal of one person within this time is one line of the trail."""
_COLUMNS = "id, lane, number, session, turn, call, state, decided, body"
_OPEN = f"SELECT {_COLUMNS} FROM escalation WHERE chat = ? AND decided IS NULL ORDER BY id"  # noqa: S608
_DECIDED = (
    f"SELECT {_COLUMNS} FROM escalation WHERE chat = ? AND decided IS NOT NULL "  # noqa: S608
    f"ORDER BY decided DESC LIMIT {KNOWN}"
)
_SHOWN = (
    f"SELECT {_COLUMNS} FROM escalation WHERE chat = ? AND decided IS NOT NULL "  # noqa: S608
    "AND id IN (SELECT escalation FROM outbox WHERE remote_id = ? AND escalation IS NOT NULL)"
)


@dataclass(frozen=True, slots=True)
class Stored:
    """An escalation with the store's own number of it, and the lane whose turn asked."""

    id: int
    lane: LaneKey
    value: Escalation


def chat_of(address: Address) -> str:
    """What a chat is called in the column of that name."""
    return "|".join((address.platform, address.account, address.chat))


def place_of(address: Address) -> str:
    """What a chat and thread is called in the column of that name."""
    return f"{chat_of(address)}|{address.thread}"


def next_number(conn: sqlite3.Connection, address: Address) -> int:
    """The number that the next question of a place gets."""
    (last,) = conn.execute(
        "SELECT coalesce(max(number), 0) FROM escalation WHERE place = ?", (place_of(address),)
    ).fetchone()
    return int(last) + 1


def taken(conn: sqlite3.Connection, address: Address, number: int, *, but: int) -> bool:
    """Whether another question of a place has that number."""
    found = conn.execute(
        "SELECT 1 FROM escalation WHERE place = ? AND number = ? AND id <> ?",
        (place_of(address), number, but),
    ).fetchone()
    return found is not None


def insert(conn: sqlite3.Connection, lane: LaneKey, key: str, new: Escalation) -> Stored:
    """Keep a new one."""
    done = conn.execute(
        "INSERT INTO escalation (lane, chat, place, number, session, turn, call, key, state, "
        "decided, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            lane,
            chat_of(new.address),
            place_of(new.address),
            new.number,
            new.session,
            new.turn,
            new.tool_call_id,
            key,
            new.state.value,
            new.decided,
            dump(new),
        ),
    )
    return Stored(int(done.lastrowid or 0), lane, new)


def save(conn: sqlite3.Connection, stored: Stored) -> None:
    """Keep what became of it; its turn and call are changed by `adopt` only."""
    new = stored.value
    conn.execute(
        "UPDATE escalation SET lane = ?, chat = ?, place = ?, number = ?, state = ?, decided = ?, "
        "body = ? WHERE id = ?",
        (
            stored.lane,
            chat_of(new.address),
            place_of(new.address),
            new.number,
            new.state.value,
            new.decided,
            dump(new),
            stored.id,
        ),
    )


def by_id(conn: sqlite3.Connection, id_: int) -> Stored | None:
    """The one with that id. Raises Unreadable."""
    return _first(conn, "id = ?", id_)


def by_key(conn: sqlite3.Connection, turn: int, key: str) -> Stored | None:
    """What a turn asked under a key. Raises Unreadable."""
    return _first(conn, "turn = ? AND key = ?", turn, key)


def by_number(conn: sqlite3.Connection, address: Address, number: int) -> Stored | None:
    """The one that people of a place know by a number. Raises Unreadable."""
    return _first(conn, "place = ? AND number = ?", place_of(address), number)


def by_token(conn: sqlite3.Connection, hash_: bytes) -> Stored | None:
    """The one whose card carries a token, wherever that is; None also where it is unreadable."""
    found = conn.execute(
        "SELECT escalation FROM escalation_token WHERE hash = ?", (hash_,)
    ).fetchone()
    with suppress(Unreadable):
        return by_id(conn, found[0]) if found else None
    return None


def _first(conn: sqlite3.Connection, where: str, *values: str | int) -> Stored | None:
    found = conn.execute(
        f"SELECT {_COLUMNS} FROM escalation WHERE {where}",  # noqa: S608 - ours
        values,
    ).fetchone()
    return None if found is None else _stored(found)


def live(conn: sqlite3.Connection, lane: str) -> int:
    """How many of a lane's questions wait for an answer or for their card."""
    (count,) = conn.execute(
        "SELECT count(*) FROM escalation WHERE lane = ? AND state <> 'applied' "
        "AND state IN ('pending_send', 'open')",
        (lane,),
    ).fetchone()
    return int(count)


def undecided(conn: sqlite3.Connection, address: Address) -> list[Stored]:
    """Those of a chat, whatever the thread, that may be answered; asked for each message, so that
    without any it costs next to nothing. One that cannot be read is left out."""
    return list(_readable(conn.execute(_OPEN, (chat_of(address),)).fetchall()))


def known(conn: sqlite3.Connection, address: Address) -> list[Stored]:
    """Those, and the last ones of the chat that were decided, oldest first."""
    decided = _readable(conn.execute(_DECIDED, (chat_of(address),)).fetchall())
    return sorted([*undecided(conn, address), *decided], key=lambda one: one.id)


def decided_and_shown(
    conn: sqlite3.Connection, address: Address, remote: RemoteId
) -> list[Stored]:
    """Of the decided ones of a chat those whose card or reminder a message is."""
    return list(_readable(conn.execute(_SHOWN, (chat_of(address), remote)).fetchall()))


def unapplied(
    conn: sqlite3.Connection, where: str, *values: str | int | None
) -> list[Stored | int]:
    """Those that the work was not told of yet, oldest first; of one that cannot be read the id."""
    found = conn.execute(
        f"SELECT {_COLUMNS} FROM escalation "  # noqa: S608 - ours
        f"WHERE state <> 'applied' AND {where} ORDER BY id",
        values,
    ).fetchall()
    loaded: list[Stored | int] = []
    for row in found:
        try:
            loaded.append(_stored(row))
        except Unreadable:
            loaded.append(row[0])
    return loaded


def _stored(found: Found) -> Stored:
    return Stored(found[0], LaneKey(found[1]), load(found))


def _readable(rows: list[Found]) -> Iterator[Stored]:
    for row in rows:
        with suppress(Unreadable):
            yield _stored(row)


def give_up(conn: sqlite3.Connection, id_: int, now: float) -> None:
    """End one that cannot be read together with its work."""
    conn.execute(
        "UPDATE escalation SET state = 'applied', due = NULL, decided = ? WHERE id = ?", (now, id_)
    )


def set_due(conn: sqlite3.Connection, id_: int, due: float | None) -> None:
    """When its next reminder or its expiry comes."""
    conn.execute("UPDATE escalation SET due = ? WHERE id = ?", (due, id_))


def note(
    conn: sqlite3.Connection,
    id_: int,
    at: float,
    what: Trail,
    by: Principal | None = None,
    detail: str = "",
) -> None:
    """Add to the trail. What one person was refused again and again stands there once a minute."""
    who = dump_principal(by) if by else ""
    if what in {Trail.REFUSED, Trail.LATE}:
        told = conn.execute(
            "SELECT 1 FROM escalation_event WHERE escalation = ? AND what = ? AND who = ? "
            "AND at > ? LIMIT 1",
            (id_, what.value, who, at - REPEATED_S),
        ).fetchone()
        if told is not None:
            return
    conn.execute(
        "INSERT INTO escalation_event (escalation, at, what, who, detail) VALUES (?, ?, ?, ?, ?)",
        (id_, at, what.value, who, detail),
    )


def keep_token(conn: sqlite3.Connection, stored: Stored, hash_: bytes) -> Stored:
    """Know a token of its buttons again, by its hash."""
    if hash_ in stored.value.tokens:
        return stored
    conn.execute(
        "INSERT OR IGNORE INTO escalation_token (hash, escalation) VALUES (?, ?)",
        (hash_, stored.id),
    )
    value = replace(stored.value, tokens=(*stored.value.tokens, hash_))
    stored = replace(stored, value=value)
    save(conn, stored)
    return stored
