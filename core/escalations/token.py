"""What a card's buttons carry: a secret that names the escalation, and which button it is. Pure:
the random bits are made elsewhere, and only their hash is kept.

The token is no right: who presses is checked as everywhere. It keeps a press from meaning
anything on a message that the bot did not make.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.escalations.record import MOST_OPTIONS

PREFIX = "esc:"
"""No command line begins so; other buttons carry one, which begins with a slash."""
TOKEN_BYTES = 16
MOST_BYTES = 64
"""What Telegram takes as a button's data."""
_DATA = re.compile(rf"{PREFIX}([A-Za-z0-9_-]{{22}})\.([ynl0-7])", re.ASCII)


class Act(StrEnum):
    """A button that is not an option; the value is its letter in the data."""

    APPROVE = "y"
    DENY = "n"
    LATER = "l"


@dataclass(frozen=True, slots=True)
class Pressed:
    """A button's data, read; `what` is an act or an option's index. The token is not checked."""

    token: bytes
    what: Act | int


def is_ours(data: str) -> bool:
    """Whether button data is of a card, readable or not."""
    return data.startswith(PREFIX)


def encode(token: bytes, what: Act | int) -> str:
    """A button's data, at most 64 bytes of ASCII.

    Raises ValueError for a token that is not 128 bits, or an option that no card has.
    """
    if len(token) != TOKEN_BYTES:
        raise ValueError(f"a token of {len(token)} bytes instead of {TOKEN_BYTES}")
    if isinstance(what, Act):
        code = what.value
    elif 0 <= what < MOST_OPTIONS:
        code = str(what)
    else:
        raise ValueError(f"there is no option {what}")
    return f"{PREFIX}{_text(token)}.{code}"


def decode(data: str) -> Pressed | None:
    """What a button's data says, None for anything that `encode` did not make."""
    found = _DATA.fullmatch(data)
    if found is None:
        return None
    token = urlsafe_b64decode(f"{found[1]}==")
    if _text(token) != found[1]:
        return None  # another spelling of the same bits
    code = found[2]
    return Pressed(token, int(code) if code.isdecimal() else Act(code))


def hashed(token: bytes) -> bytes:
    """What is kept of a token. A fast hash will do: nobody guesses 128 random bits."""
    return hashlib.sha256(token).digest()


def matches(token: bytes, hashes: Sequence[bytes]) -> bool:
    """Whether a token is one of those; the time it takes does not tell how near it was."""
    mine = hashed(token)
    found = False
    for known in hashes:
        found |= hmac.compare_digest(mine, known)
    return found


def _text(token: bytes) -> str:
    return urlsafe_b64encode(token).rstrip(b"=").decode()
