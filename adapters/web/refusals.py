"""What was not taken, by the key it came under, so that a message that is sent again is refused
again. Bounded; lives as long as the process.

The store answers the second time that it knows the message, whether or not it was taken.
"""

from __future__ import annotations

from collections import OrderedDict

from core.messages import Ack, Duplicate, Refused

MOST = 1_000


class Refusals:
    """Remembers refusals, the newest ones."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Refused] = OrderedDict()

    def settled(self, dedupe: str, ack: Ack) -> Ack:
        """What to answer: the first refusal, where the store knows the message by now."""
        if isinstance(ack, Duplicate):
            return self._known.get(dedupe, ack)
        self._known.pop(dedupe, None)  # a refusal that was not stored may be taken later
        if isinstance(ack, Refused):
            self._known[dedupe] = ack
            if len(self._known) > MOST:
                self._known.popitem(last=False)
        return ack
