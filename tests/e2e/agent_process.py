"""`pursuit agent` and `pursuit eval` as processes of their own, on a fake endpoint."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from dataclasses import dataclass
from pathlib import Path

import yaml

from core.transcript import Json
from tests.fakes.openai_api import FakeOpenAI

PURSUIT = Path(sys.executable).with_name("pursuit")
WITHIN_S = 100.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended."""

    code: int
    out: str
    err: str


def configured(folder: Path, models: FakeOpenAI, **groups: Json) -> Path:
    """A configuration whose models are the fake's: main, judge, critic and child."""
    roles = {"main": 1, "judge": 1, "critic": 1, "child": 2}
    settings: dict[str, Json] = {
        "providers": {"fake": {"base_url": models.base_url, "api_key": "test-key-of-the-fake"}},
        "models": {
            name: {"provider": "fake", "model": name, "tier": tier} for name, tier in roles.items()
        },
        "agent": {"model": "main", "toolsets": ["terminal", "file", "ask"]},
        "auxiliary": {"goal_judge": {"model": "judge"}, "critic": {"model": "critic"}},
        "workspace": {"sandbox": "bwrap"},
        **groups,
    }
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(settings), encoding="utf-8")
    return file


def environment(home: Path) -> dict[str, str]:
    """A bare one, with a home and a place for temporary files of its own."""
    temporary = home / "tmp"
    temporary.mkdir(exist_ok=True)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TMPDIR": str(temporary),
    }


async def started(home: Path, cwd: Path, *line: str) -> Process:
    """The command at work, with no terminal."""
    return await asyncio.create_subprocess_exec(
        *(str(PURSUIT), *line),
        env=environment(home),
        cwd=cwd,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
    )


async def ended(process: Process) -> Ended:
    """Wait for its end."""
    async with asyncio.timeout(WITHIN_S):
        out, err = await process.communicate()
    assert process.returncode is not None
    streams = [(data or b"").decode() for data in (out, err)]  # None where it is no pipe of ours
    return Ended(process.returncode, *streams)


async def pursuit(home: Path, cwd: Path, *line: str) -> Ended:
    """Run the command to its end."""
    return await ended(await started(home, cwd, *line))
