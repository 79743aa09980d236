"""The end of a headless run before its time: by a signal, or when nobody reads it any more."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop:
    """Asked for as often as one likes, by the loop's own thread; the run ends once, in order.

    A hang-up that whoever started the process has had ignored, as `nohup` does, stays ignored.
    """

    def __init__(self) -> None:
        self._asked = False
        self._limits: list[asyncio.Timeout] = []
        hung_up = signal.getsignal(signal.SIGHUP)
        self._signals = SIGNALS if hung_up is not signal.SIG_IGN else SIGNALS[:-1]

    def ask(self) -> None:
        """Leave the innermost block of `ends`, now or as soon as one is entered."""
        if not self._asked:
            self._asked = True
            self._leave()

    def listen(self) -> None:
        """Take the running loop's signals, from whoever had them before."""
        loop = asyncio.get_running_loop()
        for number in self._signals:
            loop.add_signal_handler(number, self.ask)

    @asynccontextmanager
    async def ends(self) -> AsyncIterator[None]:
        """A block that is left when the end is asked for. Where one is entered in another, it
        alone is left, and what is round it ends by itself."""
        self.listen()
        with suppress(TimeoutError):
            async with asyncio.timeout(None) as limit:
                self._limits.append(limit)
                try:
                    if self._asked:
                        self._leave()
                    yield
                finally:
                    self._limits.clear()

    def _leave(self) -> None:
        if self._limits:
            self._limits[-1].reschedule(asyncio.get_running_loop().time())
