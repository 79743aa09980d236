"""Who may talk, as the adapter asks it. Decides nothing: the answer is the gateway's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class People(Protocol):
    """Who may talk just now: it changes while the program runs. Both are cheap."""

    def known(self) -> Sequence[int]:
        """Everybody's user id: Discord lists a bot's private chats to nobody."""
        ...

    def admits(self, person: str, chat: str) -> bool:
        """Whether that person is heard in that chat."""
        ...
