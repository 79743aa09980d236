"""Remembers what may have been posted, so that the outbox's next try makes no second copy.

Discord keeps a post's nonce for some minutes and answers a second post under it with the first.
Pure apart from the clock it is given.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass, replace

from core.messages import LaneKey, Outbound, Say
from core.ports import Clock

KEEP_S = 120.0
"""For so long a nonce is trusted."""
MARK_LENGTH = 40
"""The outbox writes a short mark before what may be a repeat."""
REMEMBERED = 1_000


@dataclass(frozen=True, slots=True)
class Post:
    """What is posted under one nonce, since when."""

    nonce: str
    what: Outbound
    at: float


class Nonces:
    """The posts in doubt, one a lane: a lane's outbox goes on only after its head."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._doubtful: OrderedDict[LaneKey, Post] = OrderedDict()

    def post(self, lane: LaneKey, what: Outbound) -> Post:
        """The post to make: the one in doubt when this is its repeat, else a new one."""
        now = self._clock.monotonic()
        known = self._doubtful.get(lane)
        if known is not None and now - known.at < KEEP_S and _repeats(known.what, what):
            return known
        return Post(secrets.token_hex(12), what, now)

    def settled(self, lane: LaneKey) -> None:
        """It is known what became of it."""
        self._doubtful.pop(lane, None)

    def doubt(self, lane: LaneKey, post: Post) -> None:
        """Nobody knows whether it is there."""
        self._doubtful[lane] = post
        self._doubtful.move_to_end(lane)
        if len(self._doubtful) > REMEMBERED:
            self._doubtful.popitem(last=False)


def _repeats(old: Outbound, new: Outbound) -> bool:
    """Whether it is the same but for a mark in front."""
    if isinstance(old, Say) and isinstance(new, Say):
        return replace(old, text=new.text) == new and _ends(new.text, old.text)
    if isinstance(old, Say) or isinstance(new, Say):
        return False
    return replace(old, caption=new.caption) == new and _ends(new.caption, old.caption)


def _ends(text: str, ending: str) -> bool:
    return text.endswith(ending) and len(text) - len(ending) <= MARK_LENGTH
