"""Who may use the page: the token, the logins that it gave, and how often it may be guessed.

Both are files that only the user can read. Of a login the hash alone is kept, so reading the
file lets nobody in.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import os
import secrets
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path

from core.errors import UserError
from core.ports import Clock

TOKEN_FILE = "web_token"  # noqa: S105 - a file's name
LOGINS_FILE = "web_logins.json"
LOGIN_S = 30 * 24 * 3600.0
MOST_LOGINS = 100
SHORTEST = 16

WRONG = 5
"""So many wrong tokens an address may give in `WINDOW_S`."""
WRONG_IN_ALL = 100
WINDOW_S = 300.0
ADDRESSES = 1_000


def token_of(folder: Path, given: str | None, key: str) -> tuple[str, bool]:
    """The token, and whether it was made just now; `key` names its setting in errors.

    Raises UserError for one that is too short, or a folder that cannot be written.
    """
    if given is not None:
        if len(given) < SHORTEST:
            raise UserError(
                f"{key} is too short: at least {SHORTEST} characters, such as those of: "
                "openssl rand -hex 24"
            )
        return given, False
    path = folder / TOKEN_FILE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            path.chmod(0o600)
            kept = path.read_text(encoding="utf-8").strip()
            if len(kept) >= SHORTEST:
                return kept, False
        fresh = secrets.token_urlsafe(24)
        write_private(path, fresh + "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The web chat's token cannot be kept in {path}: {error}") from error
    return fresh, True


def write_private(path: Path, text: str) -> None:
    """Replace a file whole, readable by nobody else."""
    beside = path.with_name(f".{path.name}.part")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


class Logins:
    """Logins of browsers, each under a secret that its cookie holds; a new token ends all."""

    def __init__(self, folder: Path, token: str, clock: Clock) -> None:
        self._path = folder / LOGINS_FILE
        self._token = token
        self._clock = clock
        self._until = self._read()

    def is_token(self, given: str) -> bool:
        """Whether this is the token; takes as long for a wrong one."""
        return hmac.compare_digest(_hash(given), _hash(self._token))

    def open(self) -> str:
        """A new login's secret. Raises OSError when it cannot be kept."""
        secret = secrets.token_urlsafe(32)
        now = self._clock.now()
        alive = sorted((until, key) for key, until in self._until.items() if until > now)
        kept = {key: until for until, key in alive[-MOST_LOGINS + 1 :]}
        self._write({**kept, _hash(secret): now + LOGIN_S})
        return secret

    def holds(self, secret: str) -> bool:
        """Whether a login with this secret is open."""
        return bool(secret) and self._until.get(_hash(secret), 0.0) > self._clock.now()

    def close(self, secret: str) -> None:
        """End a login. Raises OSError when that cannot be kept."""
        gone = _hash(secret)
        self._write({key: until for key, until in self._until.items() if key != gone})

    def _read(self) -> dict[str, float]:
        try:
            stored = json.loads(self._path.read_text(encoding="utf-8"))
            if stored["token"] != _hash(self._token):
                return {}
            return {str(key): float(until) for key, until in stored["logins"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}  # everybody logs in again, which harms nobody

    def _write(self, logins: dict[str, float]) -> None:
        stored = {"token": _hash(self._token), "logins": logins}
        write_private(self._path, json.dumps(stored))
        self._until = logins


class Attempts:
    """Counts wrong tokens by address, an IPv6 network as one, and all together."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, list[float]] = OrderedDict()
        self._all: list[float] = []

    def wait_s(self, peer: str) -> float:
        """Seconds until this address may try again; 0.0 for now."""
        now = self._clock.monotonic()
        own = [at for at in self._wrong.get(network_of(peer), []) if now - at < WINDOW_S]
        self._all = [at for at in self._all if now - at < WINDOW_S]
        wait = own[-WRONG] + WINDOW_S - now if len(own) >= WRONG else 0.0
        if len(self._all) >= WRONG_IN_ALL:
            wait = max(wait, self._all[-WRONG_IN_ALL] + WINDOW_S - now)
        return wait

    def failed(self, peer: str) -> None:
        """A wrong token came from there."""
        now, key = self._clock.monotonic(), network_of(peer)
        self._wrong[key] = [*self._wrong.get(key, [])[-WRONG:], now]
        self._wrong.move_to_end(key)
        self._all.append(now)
        if len(self._wrong) > ADDRESSES:
            self._wrong.popitem(last=False)

    def succeeded(self, peer: str) -> None:
        """The right one came."""
        self._wrong.pop(network_of(peer), None)


def network_of(peer: str) -> str:
    """What counts as one address: of IPv6 a network, as everybody has many of its addresses."""
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return peer
    if address.version == 6 and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((int(address), 64), strict=False))
    return peer


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
