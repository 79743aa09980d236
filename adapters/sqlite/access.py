"""Who was let in by pairing, who asks to be, and what was refused and granted.

Plain functions of a connection, for the writer's jobs; no commit here. A code is made here and
handed out once; what is kept is its salted hash.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Sequence

from adapters.sqlite.lane_rows import put_meta
from core import pairing
from core.messages import LaneKey, PlatformName, Role
from core.pairing import Admit, Book, Expel, Knock, Mistry, Paired, PairingChange
from core.people import AuditRow, Refusal

ROW_S = 60.0
"""Refusals of one person within this time are one audit row."""
MAX_REFUSALS = 10_000
"""Audit rows of refusals that are kept."""
_WRONG = "pairing:wrong"


def role_of(conn: sqlite3.Connection, platform: PlatformName, person: str) -> Role | None:
    """The role that a person was let in with."""
    found = conn.execute(
        "SELECT role FROM paired WHERE platform = ? AND person = ?", (platform.value, person)
    ).fetchone()
    return None if found is None else Role(found[0])


def load_book(conn: sqlite3.Connection) -> Book:
    """All of pairing."""
    pending = conn.execute(
        "SELECT platform, person, name, lane, salt, hash, expires FROM pairing ORDER BY expires"
    ).fetchall()
    paired = conn.execute(
        "SELECT platform, person, name, role, since, actor FROM paired ORDER BY since, person"
    ).fetchall()
    wrong = conn.execute("SELECT value FROM state_meta WHERE key = ?", (_WRONG,)).fetchone()
    return Book(
        tuple(
            Knock(
                platform=PlatformName(platform),
                person=person,
                name=name,
                lane=LaneKey(lane),
                salt=salt,
                hash=hash_,
                expires=expires,
            )
            for platform, person, name, lane, salt, hash_, expires in pending
        ),
        tuple(
            Paired(
                platform=PlatformName(platform),
                person=person,
                name=name,
                role=Role(role),
                at=since,
                by=actor,
            )
            for platform, person, name, role, since, actor in paired
        ),
        tuple(json.loads(wrong[0])) if wrong else (),
    )


def write(conn: sqlite3.Connection, change: PairingChange, now: float) -> None:
    """Store what came of an order, with its audit row."""
    match change:
        case Admit(knock, role, by):
            conn.execute(
                "INSERT INTO paired (platform, person, name, role, since, actor) "
                "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET name = excluded.name, "
                "role = excluded.role, since = excluded.since, actor = excluded.actor",
                (knock.platform, knock.person, knock.name, role.value, now, by),
            )
            conn.execute(
                "DELETE FROM pairing WHERE platform = ? AND person = ?",
                (knock.platform, knock.person),
            )
            put_meta(conn, _WRONG, "[]")
            _note(conn, now, f"let in as {role.value}", by, knock)
        case Expel(paired, by):
            conn.execute(
                "DELETE FROM paired WHERE platform = ? AND person = ?",
                (paired.platform, paired.person),
            )
            _note(conn, now, "let out", by, paired)
        case Mistry(by):
            wrong = (*pairing.recent(load_book(conn).wrong, now), now)
            put_meta(conn, _WRONG, json.dumps(wrong))
            _note(conn, now, "wrong pairing code", by)


def _note(
    conn: sqlite3.Connection, now: float, what: str, by: str, who: Knock | Paired | None = None
) -> None:
    """Add an audit row of something that an owner did."""
    lane = who.lane if isinstance(who, Knock) else ""
    whose = (who.platform.value, who.person) if who else ("", "")
    conn.execute(
        "INSERT INTO audit (at, lane, what, detail, platform, person, chat) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (now, lane, what, f"by {by}", *whose, lane.split("|")[2] if lane else ""),
    )


def refuse(conn: sqlite3.Connection, refusals: Sequence[Refusal], now: float) -> tuple[str, ...]:
    """Write refusals down; the code for each stranger who gets one, "" for the others."""
    return tuple(_refuse(conn, refusal, now) for refusal in refusals)


def _refuse(conn: sqlite3.Connection, refusal: Refusal, now: float) -> str:
    code = _knock(conn, refusal, now) if refusal.may_pair else ""
    what = f"refused {refusal.what}"
    key = (refusal.platform.value, refusal.person, what)
    counted = conn.execute(
        "UPDATE audit SET times = times + 1 WHERE id = (SELECT id FROM audit WHERE refused = 1 "
        "AND platform = ? AND person = ? AND what = ? AND at > ? ORDER BY at DESC LIMIT 1)",
        (*key, now - ROW_S),
    )
    if not counted.rowcount:
        _add_refusal(conn, refusal, what, now)
    return code


def _add_refusal(conn: sqlite3.Connection, refusal: Refusal, what: str, now: float) -> None:
    added = conn.execute(
        "INSERT INTO audit (at, lane, what, detail, platform, person, chat, refused) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, 1)",
        (
            now,
            refusal.lane,
            what,
            _plain(refusal.name),
            refusal.platform.value,
            refusal.person,
            refusal.chat,
        ),
    ).lastrowid
    if added is not None and added % 100 == 0:
        conn.execute(
            "DELETE FROM audit WHERE refused = 1 AND id <= (SELECT id FROM audit "
            "WHERE refused = 1 ORDER BY id DESC LIMIT 1 OFFSET ?)",
            (MAX_REFUSALS,),
        )


def _plain(name: str) -> str:
    """A stranger's name for lists: short, in one line, and no order to a terminal."""
    shown = "".join(c if c.isprintable() else " " for c in name)
    return " ".join(shown.split())[: pairing.MAX_NAME]


def _knock(conn: sqlite3.Connection, refusal: Refusal, now: float) -> str:
    """A code for a stranger who has none, while few others have one."""
    conn.execute("DELETE FROM pairing WHERE expires <= ?", (now,))
    whose = (refusal.platform.value, refusal.person)
    pending, has_one = conn.execute(
        "SELECT count(*), coalesce(max(person = ?2), 0) FROM pairing WHERE platform = ?1", whose
    ).fetchone()
    if has_one or pending >= pairing.MAX_PENDING:
        return ""
    code = "".join(secrets.choice(pairing.ALPHABET) for _ in range(pairing.LENGTH))
    salt = secrets.token_bytes(16)
    knock = Knock(
        platform=refusal.platform,
        person=refusal.person,
        name=_plain(refusal.name),
        lane=refusal.lane,
        salt=salt,
        hash=pairing.hashed(code, salt),
        expires=now + pairing.LIVES_S,
    )
    conn.execute(
        "INSERT INTO pairing (platform, person, name, lane, salt, hash, expires) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*whose, knock.name, knock.lane, knock.salt, knock.hash, knock.expires),
    )
    _note(conn, now, "was given a pairing code", "the bot", knock)
    return code


def audit_rows(conn: sqlite3.Connection, last: int) -> tuple[AuditRow, ...]:
    """The newest rows, the newest first."""
    found = conn.execute(
        "SELECT at, platform, person, chat, what, detail, times FROM audit "
        "ORDER BY id DESC LIMIT ?",
        (last,),
    ).fetchall()
    return tuple(AuditRow(*row) for row in found)
