"""The running platforms by name, and the supervisor that keeps them running."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import structlog

from core.errors import PermanentError, TransientError, UserError
from core.escalations import token
from core.messages import (
    Address,
    Attachment,
    Outbound,
    PlatformName,
    RemoteId,
    Say,
    SendFile,
)
from core.ports import Intake, Platform, Sent
from core.splitting import Room

log = structlog.get_logger(__name__)

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0


class Platforms:
    """Platforms that may be sent to; the composition root adds them before anything runs."""

    def __init__(self) -> None:
        self._platforms: dict[PlatformName, Platform] = {}
        self._only: dict[PlatformName, Address] = {}

    def add(self, platform: Platform, *, only: Address | None = None) -> None:
        """Make a platform known, which may be reached at one address `only`."""
        self._platforms[platform.name] = platform
        if only is not None:
            self._only[platform.name] = only

    def get(self, name: PlatformName) -> Platform | None:
        """The platform, None where it is not configured in this run."""
        return self._platforms.get(name)

    def at(self, address: Address) -> Platform | None:
        """What delivers there, None where nothing in this run does."""
        only = self._only.get(address.platform, address)
        return self.get(address.platform) if only == address else None

    def __iter__(self) -> Iterator[Platform]:
        return iter(self._platforms.values())

    def parts(self, address: Address, text: str) -> tuple[Outbound, ...]:
        """A text cut for the address's platform; whole where that is not running now."""
        platform = self._platforms.get(address.platform)
        return (Say(text, markdown=True),) if platform is None else platform.parts(text)

    async def download(self, address: Address, attachment: Attachment, to: Path) -> None:
        """Fetch a file that a person sent at that address."""
        platform = self._platforms.get(address.platform)
        if platform is None:
            raise UserError(f"{address.platform} is not running, so the file cannot be fetched")
        await platform.download(attachment, to)


class Redacted:
    """A `Platform` whose texts pass a redactor on their way out."""

    def __init__(self, platform: Platform, redact: Callable[[str], str]) -> None:
        self.name = platform.name
        self.repeats_s = platform.repeats_s
        self.run = platform.run
        self.health = platform.health
        self.parts = platform.parts
        self.acknowledge = platform.acknowledge
        self.download = platform.download
        self._platform = platform
        self._redact = redact

    @property
    def room(self) -> Room:
        """See `Platform.room`."""
        return self._platform.room

    async def send(self, address: Address, what: Outbound, *, key: str = "") -> Sent:
        """See `Platform.send`. The bytes of a file from disk are sent as they are, and so is a
        card: its desk has redacted the parts, and none of the exact ones may be hidden."""
        clean: Outbound
        match what:
            case Say() if any(token.is_ours(button.command) for button in what.buttons):
                clean = what
            case Say():
                clean = replace(what, text=self._redact(what.text))
            case SendFile():
                clean = replace(
                    what,
                    caption=self._redact(what.caption),
                    content=self._redact(what.content),
                )
        return await self._platform.send(address, clean, key=key)

    async def edit(self, address: Address, remote: RemoteId, what: Say) -> None:
        """See `Platform.edit`."""
        await self._platform.edit(address, remote, replace(what, text=self._redact(what.text)))

    async def show_progress(
        self, address: Address, turn: int, remote: RemoteId | None, text: str
    ) -> RemoteId | None:
        """See `Platform.show_progress`."""
        return await self._platform.show_progress(address, turn, remote, self._redact(text))


async def supervise(platform: Platform, intake: Intake) -> None:
    """Run a platform for as long as it can; one that fails never stops another.

    After a transient fault it is rebuilt with a growing pause; a permanent one is raised
    and leaves it down. Returns when the platform ends by itself.
    """
    pause = FIRST_PAUSE_S
    while True:
        started = asyncio.get_running_loop().time()
        try:
            await platform.run(intake)
        except (UserError, PermanentError):
            raise
        except TransientError as error:
            log.warning("platform_failed", platform=platform.name, error=str(error))
            wanted = error.retry_after
        except Exception:  # the border of a receive loop: a bug in one must not stop the rest
            log.exception("platform_crashed", platform=platform.name)
            wanted = None
        else:
            return
        if asyncio.get_running_loop().time() - started > LONGEST_PAUSE_S:
            pause = FIRST_PAUSE_S
        await asyncio.sleep(wanted or pause * random.uniform(0.8, 1.2))  # noqa: S311 - jitter
        pause = min(pause * 2, LONGEST_PAUSE_S)
