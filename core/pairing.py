"""Pairing: how a stranger becomes a member. Pure: codes are made elsewhere, checked here.

A stranger's private message is answered with a code, which an owner accepts. Only a salted hash
of it is kept. Wrong tries are counted over all platforms, and too many lock approving.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from math import ceil
from typing import TypeAlias, assert_never

from core.messages import LaneKey, PlatformName, Role

ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
"""Without what is mistaken for something else when it is read out: 0, O, 1, I, L."""
LENGTH = 8
LIVES_S = 3600.0
MAX_PENDING = 3
"""Codes that are open at once on one platform; a further stranger gets nothing."""
MAX_WRONG = 5
LOCK_S = 3600.0
MAX_NAME = 64

USAGE = "Usage: /pair approve CODE; /pair list; /pair remove ID"
OWNERS_BY_SHELL = (
    "In a chat people are let in as members only. For an owner run: "
    "pursuit pair approve CODE --role owner"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Knock:
    """A stranger who was given a code; `lane` is the private chat where it was asked for.

    `expires` is wall time.
    """

    platform: PlatformName
    person: str
    name: str
    lane: LaneKey
    salt: bytes
    hash: bytes
    expires: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """A person who was let in, when (wall time) and by whom."""

    platform: PlatformName
    person: str
    name: str
    role: Role
    at: float
    by: str


@dataclass(frozen=True, slots=True)
class Book:
    """All of pairing as it stands; `wrong` are the times of wrong tries, oldest first."""

    pending: tuple[Knock, ...] = ()
    paired: tuple[Paired, ...] = ()
    wrong: tuple[float, ...] = ()


# What an owner asks for.


@dataclass(frozen=True, slots=True)
class Approve:
    """Let the person with this code in."""

    code: str
    role: Role = Role.MEMBER


@dataclass(frozen=True, slots=True)
class Remove:
    """Let a paired person out again; `who` is an id, or platform:id."""

    who: str


@dataclass(frozen=True, slots=True)
class ListPeople:
    """Tell who waits and who was let in."""


PairOrder: TypeAlias = Approve | Remove | ListPeople

# What comes of it, for the store to write.


@dataclass(frozen=True, slots=True)
class Admit:
    """The person is let in and told so; the code is spent, and wrong tries are forgotten."""

    knock: Knock
    role: Role
    by: str


@dataclass(frozen=True, slots=True)
class Expel:
    """The person is a stranger again."""

    paired: Paired
    by: str


@dataclass(frozen=True, slots=True)
class Mistry:
    """A wrong code was tried."""

    by: str


PairingChange: TypeAlias = Admit | Expel | Mistry


@dataclass(frozen=True, slots=True)
class Decision:
    """What to answer and what to write; `done` is false when nothing came of the order."""

    text: str
    changes: tuple[PairingChange, ...] = ()
    done: bool = True


def hashed(code: str, salt: bytes) -> bytes:
    """What is kept of a code. Slow on purpose: a code has 40 bits, and guessing all of them
    must take longer than the code lives."""
    return hashlib.scrypt(normal(code).encode(), salt=salt, n=2**12, r=8, p=1, dklen=32)


def normal(code: str) -> str:
    """A code as it was made, however it was typed."""
    return "".join(code.split()).replace("-", "").upper()


def read_pair(argument: str) -> PairOrder | str:
    """The order in a chat's `/pair …`, or what to answer when there is none."""
    match argument.split():
        case [] | ["list"]:
            return ListPeople()
        case ["approve", *code] if code and not any(word.startswith("-") for word in code):
            return Approve("".join(code))
        case ["approve", _, *_]:
            return OWNERS_BY_SHELL
        case ["remove", who]:
            return Remove(who)
        case _:
            return USAGE


def decide(book: Book, order: PairOrder, by: str, now: float) -> Decision:
    """What becomes of an owner's order; `by` names the owner for the audit."""
    match order:
        case Approve():
            return _approve(book, order, by, now)
        case Remove(who):
            return _remove(book, who, by)
        case ListPeople():
            return Decision(listed(book, now))
        case _:
            assert_never(order)


def recent(wrong: tuple[float, ...], now: float) -> tuple[float, ...]:
    """The wrong tries that count beside a new one."""
    return tuple(at for at in wrong if now - LOCK_S < at)


def _approve(book: Book, order: Approve, by: str, now: float) -> Decision:
    if len(book.wrong) >= MAX_WRONG and now < book.wrong[-1] + LOCK_S:
        left = ceil((book.wrong[-1] + LOCK_S - now) / 60)
        text = f"⚠ Approving is locked after {MAX_WRONG} wrong codes. Try again in {left} min."
        return Decision(text, done=False)
    for knock in book.pending:
        if knock.expires > now and hmac.compare_digest(knock.hash, hashed(order.code, knock.salt)):
            text = f"✓ {_who(knock)} is let in as {order.role.value}."
            return Decision(text, (Admit(knock, order.role, by),))
    left = MAX_WRONG - len(recent(book.wrong, now)) - 1
    then = f"{left} tries left" if left else "approving is locked for an hour"
    text = f"⚠ No such code, or it is older than an hour ({then})."
    return Decision(text, (Mistry(by),), done=False)


def _remove(book: Book, who: str, by: str) -> Decision:
    platform, _, id_ = who.rpartition(":")
    found = [p for p in book.paired if p.person == id_ and platform in {"", p.platform.value}]
    match found:
        case [one]:
            return Decision(f"✓ {_who(one)} is let out.", (Expel(one, by),))
        case []:
            text = (
                f"Nobody with the id {who} was let in by pairing. People who are listed in the "
                "configuration are removed there."
            )
            return Decision(text, done=False)
        case _:
            names = " or ".join(f"{one.platform}:{one.person}" for one in found)
            return Decision(f"There are several: say {names}.", done=False)


def listed(book: Book, now: float) -> str:
    """Who waits and who was let in, for people to read."""
    pending = [knock for knock in book.pending if knock.expires > now]
    lines = ["Waiting to be let in by their code:"] if pending else ["Nobody waits to be let in."]
    lines.extend(f"· {_who(one)}, {ceil((one.expires - now) / 60)} min left" for one in pending)
    lines.append("Let in by pairing:" if book.paired else "Nobody was let in by pairing.")
    lines.extend(f"· {_who(one)}, {one.role.value}" for one in book.paired)
    return "\n".join(lines)


def _who(one: Knock | Paired) -> str:
    return f"{one.name or 'someone'} ({one.platform}:{one.person})"


def invitation(code: str) -> str:
    """What a stranger is told, once."""
    return (
        "This bot does not know you. To be let in, give its owner this code, which is good for "
        f"an hour: {code}\nThe owner runs: pursuit pair approve {code}\n"
        f"Or writes in a chat with this bot: /pair approve {code}"
    )


def welcome(role: Role) -> str:
    """What the person is told who was let in."""
    return f"✓ You were let in as {role.value}. Write what you want done; /help lists commands."
