"""How far we have read Discord. Pure values; the intake keeps the text form as the cursor.

Discord's ids grow with time across all channels, so one id stands for a moment everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

EPOCH_MS = 1_420_070_400_000
MAX_DIRECT = 50
"""So many private chats are looked at after a start, the latest first."""
OVERLAP_S = 10.0
"""Messages of two channels may come out of order by as much; what comes twice counts once."""


def id_at(seconds: float) -> int:
    """The least id that Discord gives at a moment (epoch seconds)."""
    return max(0, int(seconds * 1000) - EPOCH_MS) << 22


@dataclass(frozen=True, slots=True)
class Bookmark:
    """The newest message that was committed, and the private chats that we take part in: Discord
    names those to nobody."""

    last: int
    direct: tuple[int, ...] = ()

    @classmethod
    def first(cls, now: float) -> Bookmark:
        """For the very first start: nothing that was written before is for us."""
        return cls(id_at(now + OVERLAP_S))

    @classmethod
    def of(cls, text: str) -> Bookmark | None:
        """The bookmark a cursor was made from, None for no cursor of ours."""
        words = text.split()
        if not words or not all(word.isdecimal() for word in words):
            return None
        return cls(int(words[0]), tuple(map(int, words[1:])))

    def __str__(self) -> str:
        return " ".join(map(str, (self.last, *self.direct)))

    @property
    def since(self) -> int:
        """The id after which messages may have been missed."""
        return max(0, self.last - (int(OVERLAP_S * 1000) << 22))

    def read(self, message: int) -> Bookmark:
        """Further by one message."""
        return replace(self, last=max(self.last, message))

    def back_at(self, message: int) -> Bookmark:
        """The same, read no further than that."""
        return replace(self, last=message)

    def talked(self, channel: int) -> Bookmark:
        """With a private chat as the latest one."""
        others = tuple(each for each in self.direct if each != channel)
        return replace(self, direct=(channel, *others)[:MAX_DIRECT])
