"""The running platforms by name, and the supervisor that keeps them running."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import structlog

from core.errors import PermanentError, TransientError, UserError
from core.messages import Address, Attachment, Outbound, PlatformName, Say
from core.ports import Intake, Platform

log = structlog.get_logger(__name__)

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0


class Platforms:
    """Platforms that may be sent to; the composition root adds them before anything runs."""

    def __init__(self) -> None:
        self._platforms: dict[PlatformName, Platform] = {}

    def add(self, platform: Platform) -> None:
        """Make a platform known."""
        self._platforms[platform.name] = platform

    def get(self, name: PlatformName) -> Platform | None:
        """The platform, None where it is not configured in this run."""
        return self._platforms.get(name)

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


async def supervise(platform: Platform, intake: Intake) -> None:
    """Run a platform for as long as it can; one that fails never stops another.

    After a transient fault it is rebuilt with a growing pause; a permanent one leaves it down
    and says why. Returns when the platform ends by itself.
    """
    pause = FIRST_PAUSE_S
    while True:
        started = asyncio.get_running_loop().time()
        try:
            await platform.run(intake)
        except (UserError, PermanentError) as error:
            log.error("platform_down", platform=platform.name, error=str(error))
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
