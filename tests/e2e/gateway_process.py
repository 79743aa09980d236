"""`pursuit up` as a process of its own on fakes, as a service manager would start it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import yaml

from tests.scenarios.rig import Bot

PURSUIT = Path(sys.executable).with_name("pursuit")


class Gateway:
    """A running gateway and the lines of its log."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.lines: list[str] = []

    async def logged(self, words: str, within_s: float = 30.0) -> dict[str, object]:
        """The next line of the log with these words, as JSON; {} for one that is none."""
        assert self.process.stderr is not None
        try:
            async with asyncio.timeout(within_s):
                while line := (await self.process.stderr.readline()).decode():
                    self.lines.append(line)
                    if words in line:
                        return dict(json.loads(line)) if line.startswith("{") else {}
        except TimeoutError:
            pass
        raise AssertionError(f"{words!r} is not in the log:\n{''.join(self.lines)}")

    def tell(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    async def ended(self, within_s: float = 35.0) -> int:
        """The exit code, once it has ended; its log is read to the end."""
        assert self.process.stderr is not None
        async with asyncio.timeout(within_s):
            self.lines += (await self.process.stderr.read()).decode().splitlines(keepends=True)
            return await self.process.wait()


def written(bot: Bot, file: Path, **changes: object) -> Path:
    """A configuration file with the bot's settings, `changes` over its groups."""
    settings = bot.settings.model_dump(mode="json", exclude_defaults=True)
    settings["platforms"]["telegram"]["token"] = bot.people.token
    settings["providers"]["fake"]["api_key"] = "test"
    for group, change in changes.items():
        if isinstance(change, Mapping):
            settings[group] = {**settings.get(group, {}), **change}
        else:
            settings[group] = change
    partial = file.with_name(f"{file.name}.new")
    partial.write_text(yaml.safe_dump(settings), encoding="utf-8")
    partial.replace(file)
    return file


@asynccontextmanager
async def gateway(config: Path, data: Path, **environ: str) -> AsyncIterator[Gateway]:
    """Start it; nothing of it is left at the end."""
    bare = {"PATH": os.environ["PATH"], "HOME": str(data.parent), "LANG": "C.UTF-8"}
    process = await asyncio.create_subprocess_exec(
        *(str(PURSUIT), "up", "--config", str(config), "--data", str(data)),
        env={**bare, **environ},
        stderr=PIPE,
        stdout=PIPE,
        stdin=asyncio.subprocess.DEVNULL,
    )
    try:
        yield Gateway(process)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()
