"""The console under the platforms' contract suite: the real terminal chat on a pseudo-terminal.

There is one person and one conversation, so most mishaps of a network cannot happen here. What
the bot prints ends with a blank line; what the console itself remarks does not, and is shown
among the messages without an id.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.output.vt100 import Vt100_Output

from adapters.console.adapter import ConsoleOptions, ConsolePlatform
from adapters.console.conversation import ADDRESS
from adapters.console.entry import first_screen
from adapters.console.terminal import TerminalFront
from core.messages import Address, RemoteId
from tests.contracts.console_screen import Screen, plain
from tests.contracts.platform_life import Life
from tests.contracts.platform_rig import (
    WITHIN_S,
    Backend,
    Can,
    Person,
    PlatformRig,
    Seen,
    Traits,
)
from tests.contracts.watched import Watched
from tests.fakes.intake import FakeIntake
from tests.fakes.telegram_rig import RealClock

TRAITS = Traits(
    can=frozenset({Can.PRESS, Can.UPLOAD, Can.PROGRESS, Can.SAVE_LATE, Can.BE_REFUSED}),
    most=0,
)
COMMANDS = (("goal", "Set, show or change the goal"), ("stop", "Stop the work"))
ENTER = "\r"
PASTE = "\x1b[200~{}\x1b[201~"
CHOICE = re.compile(r"(?:\[\d+\] )?(?P<label>.+?)(?:  |\n)")
CHOICES = re.compile(r"\n?^(\[1\]|1\.) .*\(type the number\)$", re.MULTILINE | re.DOTALL)
GOES_ON = "\n↪ "
FILE = "📄 "

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Run:
    """A life of the console and where its output begins."""

    id: str
    begins: int


class ConsoleRig(PlatformRig):
    """One terminal; each life of the console opens it anew."""

    home = away = ADDRESS
    traits = TRAITS

    def __init__(self, folder: Path) -> None:
        self.intake = FakeIntake()
        self._watched = Watched(lambda: "\n".join(self._screen.printed()[-8:]))
        self._screen = Screen(self._watched.changed)
        self._folder = folder
        self._life = Life()
        self._runs: list[_Run] = []
        self._typed = 0
        self._opened = ExitStack()
        self.platform = self._built()

    async def start(self) -> None:
        self.platform = self._built()
        await self._life.begin(self.platform, self.intake)
        begins = self._runs[-1].begins
        await self.until(lambda: "›" in self._screen.written[begins:])

    async def stop(self) -> None:
        await self._life.end()
        self._opened.close()

    def close(self) -> None:
        """Take the terminal away."""
        self._opened.close()
        self._screen.close()

    def _built(self) -> ConsolePlatform:
        self._opened.close()
        run = _Run(f"r{len(self._runs)}", len(self._screen.written))
        self._runs.append(run)
        self._typed = 0
        options = ConsoleOptions(run_id=run.id, files=self._folder / "files", model="a model")
        device = Path(self._screen.device)
        keyboard = self._opened.enter_context(device.open(encoding="utf-8"))
        paper = self._opened.enter_context(device.open("w", encoding="utf-8"))
        keys = Vt100Input(keyboard)
        clear_typeahead(keys)  # kept by the descriptor's number: another test's, perhaps
        devices = (keys, Vt100_Output.from_pty(paper, term="xterm-256color"))
        clock = RealClock()
        front = TerminalFront(
            first_screen(options), COMMANDS, clock, history=None, devices=devices
        )
        return ConsolePlatform(options, front=front, clock=clock, idle=_never_idle)

    # What the person does

    async def say(
        self, place: Address, text: str, *, who: Person = Person.ANNA, addressed: bool = True
    ) -> RemoteId:
        self._screen.types(PASTE.format(text) + ENTER)
        return self._sent()

    async def command(self, place: Address, line: str, *, who: Person = Person.ANNA) -> None:
        self._screen.types(line + ENTER)
        self._sent()

    async def press(
        self, place: Address, remote: RemoteId, label: str, *, who: Person = Person.ANNA
    ) -> str:
        [seen] = [each for each in self.chat(place) if each.remote == remote]
        self._screen.types(f"{seen.buttons.index(label) + 1}{ENTER}")
        return self._sent()

    async def toast(self, press: str) -> str:
        return ""  # a terminal shows what was typed, and the gateway's reply

    async def upload(
        self,
        place: Address,
        name: str,
        content: bytes,
        *,
        caption: str = "",
        who: Person = Person.ANNA,
    ) -> RemoteId:
        path = self._folder / name
        path.write_bytes(content)
        return await self.say(place, f"/attach {path} {caption}".rstrip())

    def _sent(self) -> RemoteId:
        self._typed += 1
        return RemoteId(f"console:{self._runs[-1].id}:{self._typed}")

    # What is seen

    def chat(self, place: Address) -> Sequence[Seen]:
        return list(self._messages()) if place == ADDRESS else []

    def _messages(self) -> Iterator[Seen]:
        ends = [run.begins for run in self._runs[1:]] + [len(self._screen.written)]
        for run, end in zip(self._runs, ends, strict=True):
            said = 0
            for block in self._screen.printed(run.begins, end):
                if block.endswith("\n\n"):
                    said += 1
                    yield _seen(block, f"{run.id}:{said}")
                elif not plain(block).startswith("› "):
                    yield _seen(block, "")

    def progress(self, place: Address) -> str:
        return "\n".join(self._screen.lines())

    async def until(self, predicate: Callable[[], T | None], within_s: float = WITHIN_S) -> T:
        return await self._watched.until(predicate, within_s)


async def _never_idle() -> None:
    """The lane is the gateway's to know; here the spinner just turns."""
    await asyncio.Event().wait()


def _seen(block: str, remote: str) -> Seen:
    text = plain(block).strip("\n").replace(GOES_ON, "")
    choices = CHOICES.search(text)
    labels = CHOICE.finditer(choices[0]) if choices else ()
    caption, mark, path = text.rpartition(FILE)
    file = Path(path.replace("\n", "")) if mark else None
    return Seen(
        remote=RemoteId(remote),
        text=caption.strip("\n") if file else CHOICES.sub("", text),
        buttons=tuple(found["label"] for found in labels),
        file=file.name if file else "",
        content=file.read_bytes() if file else b"",
        formatted=plain(block) != block,
    )


@asynccontextmanager
async def terminal(folder: Path) -> AsyncIterator[PlatformRig]:
    """A person at a terminal."""
    rig = ConsoleRig(folder)
    try:
        await rig.start()
        yield rig
    finally:
        try:
            await rig.stop()
        finally:
            rig.close()


RIGS: Mapping[str, Backend] = {"console": Backend(terminal, TRAITS)}
