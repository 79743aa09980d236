"""Taking secrets out of texts that people see: logs, errors, chat.

Pure. It knows the secrets it was given and the shapes of common ones; it is the last line of
defence, not a licence to pass secrets around.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

MASK = "[redacted]"
_SHORTEST = 6
"""Shorter ones are left: masking every `abc` in a text would wreck it and hide nothing."""

_SHAPES = re.compile(
    r"""
      (?<![0-9])[0-9]{3,20}(?::|%3A)[A-Za-z0-9_-]{30,}            # Telegram bot tokens
    | \b(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}                           # OpenAI and its look-alikes
    | \bxox[a-z]-[A-Za-z0-9-]{10,}  | \bxapp-[A-Za-z0-9-]{10,}    # Slack
    | \bgh[a-z]_[A-Za-z0-9]{30,} | \bgithub_pat_[A-Za-z0-9_]{30,} | \bglpat-[A-Za-z0-9_-]{20,}
    | \bAKIA[0-9A-Z]{16}\b | \bAIza[0-9A-Za-z_-]{35} | \bhf_[A-Za-z0-9]{30,}
    | -----BEGIN\ [A-Z ]{0,20}PRIVATE\ KEY-----(?:(?!-----END).){0,20000}
    """,
    re.VERBOSE | re.DOTALL,
)
_HEADERS = re.compile(
    r"(?i)(\b(?:bearer|basic)\s+)(?=[A-Za-z0-9._~+/=-]*[0-9])[A-Za-z0-9._~+/=-]{16,}"
)
_URL_PASSWORDS = re.compile(r"(://[^\s/:@]{0,256}:)[^\s/@]{1,256}@")


class Redactor:
    """Masks the given secrets, and whatever looks like one."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: frozenset[str] = frozenset()
        self._known: re.Pattern[str] | None = None
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Mask these too from now on; what was a secret once stays masked."""
        self._secrets |= frozenset(secrets)
        spelled = {form for secret in self._secrets for form in (secret, quote(secret, safe=""))}
        known = sorted((s for s in spelled if len(s) >= _SHORTEST), key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, known))) if known else None

    def __call__(self, text: str) -> str:
        """The text with every secret in it masked."""
        if self._known is not None:
            text = self._known.sub(MASK, text)
        text = _SHAPES.sub(MASK, text)
        text = _HEADERS.sub(rf"\g<1>{MASK}", text)
        return _URL_PASSWORDS.sub(rf"\g<1>{MASK}@", text)

    def __repr__(self) -> str:
        return "Redactor()"
