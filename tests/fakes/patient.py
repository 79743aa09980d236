"""A platform whose health a test sets; it neither receives nor sends."""

from __future__ import annotations

import asyncio
from pathlib import Path

from core.errors import TransientError
from core.messages import Address, Attachment, Outbound, PlatformName, RemoteId, Say
from core.ports import Health, Intake, Mark, Sent
from core.splitting import Room

NO = "this platform sends nothing"


class Patient:
    """A `Platform` that is only looked at."""

    def __init__(self, name: PlatformName) -> None:
        self.name = name
        self.repeats_s = 0.0
        self.is_now = Health(ok=True, silent_s=0.0, detail="connected")
        self._looks = asyncio.Semaphore(0)

    async def run(self, intake: Intake) -> None:
        """See `Platform.run`."""
        intake.caught_up(self.name)
        await asyncio.Event().wait()

    def health(self) -> Health:
        """What the test says."""
        self._looks.release()
        return self.is_now

    async def looked_at(self, times: int) -> None:
        """Wait until its health was asked for so often from now on."""
        while not self._looks.locked():
            await self._looks.acquire()
        for _ in range(times):
            await self._looks.acquire()

    def parts(self, text: str) -> tuple[Outbound, ...]:
        """The text whole."""
        return (Say(text),)

    @property
    def room(self) -> Room:
        """As much as anybody writes."""
        return Room(10_000)

    async def send(self, address: Address, what: Outbound, *, key: str = "") -> Sent:
        """Never."""
        raise TransientError(NO)

    async def edit(self, address: Address, remote: RemoteId, what: Say) -> None:
        """Never."""
        raise TransientError(NO)

    async def show_progress(
        self, address: Address, turn: int, remote: RemoteId | None, text: str
    ) -> RemoteId | None:
        """Nothing to show it on."""
        return None

    async def acknowledge(self, address: Address, remote: RemoteId, state: Mark) -> None:
        """Nothing to mark."""

    async def download(self, attachment: Attachment, to: Path) -> None:
        """Never."""
        raise TransientError(NO)
