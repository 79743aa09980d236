"""What is measured and what it runs on: the fakes, the program, and the bare bot."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.processes import Child, ask, python
from bench.tasks import ORDINARY

FIRST_CHAT = 1_000_000
MOST_CHATS = 6_000
START_S = 30.0
POLL_S = 0.01
STAFF: Mapping[str, object] = {
    "models": {
        "main": {"provider": "fake", "model": "main"},
        "child": {"provider": "fake", "model": "child", "tier": 2},
        "checker": {"provider": "fake", "model": "checker", "tier": 3},
    }
}
"""Settings for delegation: a model for children, and a third one that judges their work."""


@dataclass(frozen=True, slots=True)
class Drive:
    """Turns to work: in how many chats (from which on), how many at once, with what pause, and
    what people say."""

    turns: int
    chats: int
    at_once: int = 1
    gap_s: float = 0.0
    first: int = FIRST_CHAT
    text: str = ORDINARY


@dataclass(frozen=True, slots=True)
class Driven:
    """How long it all took, and each turn."""

    seconds: float
    took: list[float]


class Chat:
    """The fake Bot API with its stopwatch."""

    def __init__(self, child: Child) -> None:
        told = json.loads(child.read())
        self.token: str = told["token"]
        self.base_url: str = told["base_url"]
        self.base_file_url: str = told["base_file_url"]
        self._control: str = told["control"]

    def drive(self, what: Drive) -> Driven:
        """Let people write and wait for all answers."""
        body = {
            "turns": what.turns,
            "chats": what.chats,
            "at_once": what.at_once,
            "gap_s": what.gap_s,
            "first": what.first,
            "text": what.text,
        }
        told = ask(f"{self._control}/drive", body, within_s=180)
        return Driven(told["seconds"], told["took"])

    def start(self, bot: Child) -> float:
        """Seconds from a bot's spawn to its first poll; waits for it."""
        ends = time.monotonic() + START_S
        while time.monotonic() < ends:
            bot.check()
            if first := ask(f"{self._control}/first")["at"]:
                return float(first) - bot.started
            time.sleep(POLL_S)
        raise bot.failure(f"did not poll within {START_S:.0f} s")

    def forget(self) -> None:
        """The next poll is the first one again."""
        ask(f"{self._control}/forget", {})


@contextmanager
def chat(folder: Path) -> Iterator[Chat]:
    """A fake Bot API in a process of its own."""
    with Child(python("-m", "bench.chat_server"), folder / "chat.log", speaks=True) as child:
        yield Chat(child)


@contextmanager
def model(folder: Path, delay_s: float = 0.0) -> Iterator[str]:
    """A fake model server in a process of its own; its base URL."""
    command = python("-m", "tests.fakes.openai_api", "--delay-s", str(delay_s))
    with Child(command, folder / "model.log", speaks=True) as child:
        yield child.read()


@contextmanager
def models(folder: Path) -> Iterator[str]:
    """The models of a delegation in a process of their own; their base URL."""
    with Child(python("-m", "bench.model_server"), folder / "models.log", speaks=True) as child:
        yield child.read()


def program(
    folder: Path,
    at: Chat,
    model_url: str,
    people: int = MOST_CHATS,
    over: Mapping[str, object] | None = None,
) -> Child:
    """Start the real program on the fakes; its data is a new folder below `folder`.

    So many `people` are its owners: a long list takes its time to read. The groups of settings in
    `over` go over the usual ones.
    """
    data = Path(tempfile.mkdtemp(prefix="data-", dir=folder))
    config = data / "bench.yaml"
    config.write_text(json.dumps({**_settings(at, model_url, people), **(over or {})}))
    pursuit = str(Path(sys.executable).with_name("pursuit"))
    command = [pursuit, "up", "--config", str(config), "--data", str(data / "data")]
    return Child(command, folder / "program.log")


def bare_bot(folder: Path, at: Chat, model_url: str) -> Child:
    """Start the bare bot on the fakes."""
    command = python("-m", "bench.bare_bot", "--token", at.token, "--base-url", at.base_url)
    return Child([*command, "--model-url", model_url], folder / "bare.log")


def _settings(at: Chat, model_url: str, people: int) -> dict[str, object]:
    """What a person would write, with the fakes' addresses. JSON is YAML."""
    return {
        "providers": {"fake": {"base_url": model_url, "api_key": "test"}},
        "models": {"main": {"provider": "fake", "model": "main"}},
        "agent": {"model": "main", "max_model_calls": 1_000},
        "access": {"telegram": {"owners": [FIRST_CHAT + n for n in range(people)]}},
        "platforms": {
            "telegram": {
                "enabled": True,
                "token": at.token,
                "base_url": at.base_url,
                "base_file_url": at.base_file_url,
            }
        },
    }
