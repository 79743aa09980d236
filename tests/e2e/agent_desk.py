"""A folder in which `pursuit agent` works, and the models that it talks to."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from core.transcript import Json
from tests.e2e.agent_process import Ended, configured, pursuit
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import Answer, calls, text
from tests.fakes.openai_seen import role_of

WRITE = calls(("write_file", {"path": "a.txt", "content": "one"}))


@dataclass(slots=True)
class Desk:
    """A folder to work in, and the models."""

    home: Path
    cwd: Path
    models: FakeOpenAI
    config: Path

    async def agent(self, *line: str) -> Ended:
        """Run `pursuit agent` to its end."""
        return await pursuit(self.home, self.cwd, *self.line(*line))

    def line(self, *line: str) -> tuple[str, ...]:
        """The command line."""
        return ("agent", *line, "--config", str(self.config), "--log-level", "error")

    @property
    def leftovers(self) -> list[Path]:
        """What lies where temporary files are."""
        return list((self.home / "tmp").iterdir())


def by_name(body: dict[str, object]) -> str:
    """The role of a request: the critic asks for JSON as judges do, and has a model of its own."""
    return "critic" if body.get("model") == "critic" else role_of(body)


@asynccontextmanager
async def desk(tmp_path: Path, **groups: Json) -> AsyncIterator[Desk]:
    """A desk on fresh fakes."""
    cwd = tmp_path / "project"
    cwd.mkdir()
    async with FakeOpenAI(role_of=by_name) as models:  # type: ignore[arg-type]
        yield Desk(tmp_path, cwd, models, configured(tmp_path, models, **groups))


def ruled(word: str, reason: str) -> Answer:
    """The critic's reply."""
    return text(json.dumps({"verdict": word, "reason": reason}))


def events(end: Ended) -> list[dict[str, Json]]:
    """What a run with --json has printed."""
    return [json.loads(line) for line in end.out.splitlines()]
