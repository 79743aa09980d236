"""An answer that refuses a command for want of a right. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from core.sessions.lane import Change, Lane, Post


@dataclass(frozen=True, slots=True)
class Denied(Post):
    """Says so in the chat; the commit that says it writes it down for the audit too."""


def deny(lane: Lane, text: str) -> Change:
    """The lane as it was, and the refusal."""
    return lane, (Denied(text),)
