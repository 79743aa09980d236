"""The configuration, read again while the program runs: on SIGHUP, or when its file is edited.

A file that is not valid changes nothing, nor does one that would lock everybody out of a running
platform: an empty file is valid, and writing one begins with emptying it. What can be swapped is
swapped at once; for the rest the log names the keys that wait for a restart. Values are never
logged.
"""

from __future__ import annotations

import asyncio
import hashlib
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import structlog
from pydantic import BaseModel
from watchfiles import awatch

from core.errors import PursuitError
from gateway.errors import ConfigError, KeyPath, Problem, dotted
from gateway.settings import Settings
from gateway.settings.chats import NumberedAccess, SlackAccess
from gateway.settings.rules import PLATFORMS

log = structlog.get_logger(__name__)

LIVE = frozenset({"access", "goals", "logs"})
"""The groups that are swapped while the program runs."""
SETTLE_S = 0.5
"""An edited file is read once it has stayed the same for that long."""
_MOUNTED = "..data"
"""The link that a mounted Kubernetes volume swaps when it changes."""


async def _pause() -> None:
    await asyncio.sleep(SETTLE_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the settings come from: `load` reads all layers anew.

    `file`, an absolute path, is watched for edits where there is one; `on_hangup` says whether
    SIGHUP is ours: the end of a terminal is one too.
    """

    load: Callable[[], Settings]
    file: Path | None = None
    on_hangup: bool = True


@dataclass(frozen=True, slots=True)
class Change:
    """The keys in which two settings differ."""

    live: tuple[str, ...]
    at_restart: tuple[str, ...]


def difference(old: Settings, new: Settings) -> Change:
    """What changed, by the keys that a person knows."""
    paths = sorted(dotted(path) for path in _differing(old, new, ()))
    live = tuple(path for path in paths if path.partition(".")[0] in LIVE)
    return Change(live, tuple(path for path in paths if path not in live))


def _differing(old: object, new: object, at: KeyPath) -> Iterator[KeyPath]:
    if old == new:
        return
    match old, new:
        case BaseModel(), BaseModel() if type(old) is type(new):
            for name in type(old).model_fields:
                yield from _differing(getattr(old, name), getattr(new, name), (*at, name))
        case dict(), dict():
            for key in {**old, **new}:
                yield from _differing(old.get(key), new.get(key), (*at, key))
        case _:
            yield at


def locked_out(started: Settings, new: Settings) -> list[Problem]:
    """The platforms of a run that began with `started` to which nobody could talk any more.

    Whether `new` has them enabled is of no account: they run until the next start.
    """
    return [
        Problem(
            "",
            f"access.{name}",
            f"nobody could talk to {name} any more, which is running: keep `owners` or "
            f"`members`, or set `access.{name}.pairing: true`",
        )
        for name in PLATFORMS
        if getattr(started.platforms, name).enabled and not _lets_in(getattr(new.access, name))
    ]


def _lets_in(access: NumberedAccess | SlackAccess) -> bool:
    return bool(access.owners or access.members or access.pairing)


async def settled(file: Path, pause: Callable[[], Awaitable[None]]) -> bytes | None:
    """A digest of the file once two looks at it agree, None where it is gone: whoever writes it
    may be in the middle."""
    before = await asyncio.to_thread(_digest, file)
    while True:
        await pause()
        now = await asyncio.to_thread(_digest, file)
        if now == before:
            return now
        before = now


class Reloading:
    """Keeps a running program's settings in step with their source; `run` is its life.

    `swap` puts the live groups of new settings into effect. `began` and `ended` frame each try,
    for a service manager.
    """

    def __init__(
        self,
        source: Source,
        settings: Settings,
        swap: Callable[[Settings], None],
        *,
        began: Callable[[], None] = lambda: None,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self._source = source
        self._started = settings
        self._settings = settings
        self._swap = swap
        self._began = began
        self._ended = ended
        self._asked = asyncio.Event()
        self._seen = _digest(source.file) if source.file else None

    async def run(self) -> None:
        """Reload whenever asked until cancelled."""
        if self._source.on_hangup:
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._asked.set)
        async with asyncio.TaskGroup() as group:
            if self._source.file is not None:
                group.create_task(self._watch(self._source.file), name="watch the configuration")
            while True:
                await self._asked.wait()
                self._asked.clear()
                self._began()
                await self._reload()
                self._ended()

    async def _watch(self, file: Path) -> None:
        """Look at the folder: editors put a new file into the old one's place."""
        names = {file.name, _MOUNTED}
        try:
            async for _ in awatch(
                file.parent,
                watch_filter=lambda _, path: Path(path).name in names,
                recursive=False,
                step=100,
            ):
                now = await settled(file, _pause)
                if now not in {self._seen, None}:  # None: between the old file and the new one
                    self._asked.set()
        except OSError as error:
            log.warning("configuration_not_watched", file=str(file), error=str(error))

    async def _reload(self) -> None:
        if self._source.file is not None:  # before it is loaded, so that no edit is missed
            self._seen = await asyncio.to_thread(_digest, self._source.file)
        try:
            settings = await asyncio.to_thread(self._load)
        except ConfigError as error:
            log.error("reload_refused", kept="the old configuration", error=str(error))
            return
        try:
            change = difference(self._settings, settings)
            self._swap(settings)
        except (PursuitError, OSError) as error:
            log.error("reload_failed", error=str(error))
            return
        self._settings = settings
        log.info("reloaded", in_effect=change.live, at_restart=change.at_restart)

    def _load(self) -> Settings:
        settings = self._source.load()
        if problems := locked_out(self._started, settings):
            raise ConfigError(problems)
        return settings


def _digest(file: Path) -> bytes | None:
    with suppress(OSError):
        return hashlib.sha256(file.read_bytes()).digest()
    return None
