"""Whether a command is so dangerous that a person should be asked first.

Advisory and pure: it decides whether to ask. The border is the sandbox, so what cannot be read
here is not refused for that alone, and an ordinary command must never be in its way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from adapters.workspace.ground import HOME, Ground
from adapters.workspace.rules import Ask, Never, by_program, on_places
from adapters.workspace.shell import Command, Reader, Word
from adapters.workspace.unwrap import MAX_LAYERS, feeds_code, nested, peeled

MAX_DEPTH = 6
MAX_CHARS = 131_072
"""The longest text that the system hands to a shell; what is longer cannot run."""
TOO_DEEP = Ask("it is nested too deeply to be read")


@dataclass(frozen=True, slots=True)
class Allow:
    """Nothing speaks against it."""


Verdict: TypeAlias = Allow | Ask | Never

FORK_BOMB = Never("it is a fork bomb, which starts itself until the machine stands still")
BOMB = re.compile(
    r"([\w:.-]{1,30})\s{0,9}\(\)\s{0,9}\{[^}]{0,99}?(?<![\w-])\1\s{0,9}\|\s{0,9}\1(?![\w-])[^}]{0,99}&"
    r"|fork\s+while\s+fork|while[^\n;]{0,30}[:{(\s]\s*(os\.)?fork\s*\("
)


def judge(command: str, workspace: Path, extra: tuple[Path, ...] = ()) -> Verdict:
    """The gravest verdict on any part of the command."""
    ground = Ground(str(workspace), tuple(map(str, extra)), str(workspace))
    worst: Verdict = Allow()
    for found in _verdicts(command[:MAX_CHARS], ground, 0):
        if isinstance(found, Never):
            return found
        worst = worst if isinstance(worst, Ask) else found
    return worst


def _verdicts(text: str, ground: Ground, depth: int) -> Iterator[Ask | Never]:
    if BOMB.search(text):
        yield FORK_BOMB
    reader = Reader(
        {"HOME": (HOME,), "PWD": (ground.cwd or "\0",), "IFS": (" ",), "TMPDIR": ("/tmp",)}  # noqa: S108
    )
    commands = reader.read(text)
    if reader.bombs:
        yield FORK_BOMB
    if reader.too_deep:
        yield TOO_DEEP
    for command in commands:
        yield from _on(command, ground, depth)
        if command.texts[:1] in {("cd",), ("pushd",)}:
            ground = ground.moved(command.words[1:])


def _on(command: Command, ground: Ground, depth: int) -> Iterator[Ask | Never]:
    """Verdicts on one command: its places, each program in it, and the texts it runs."""
    yield from on_places(command, ground)
    layers = tuple(peeled(_split(command)))
    if len(layers) >= MAX_LAYERS:
        yield TOO_DEEP
    for layer in layers:
        yield from by_program(layer, ground)
        yield from feeds_code(layer)
        for text in nested(layer):
            if depth >= MAX_DEPTH:
                yield TOO_DEEP
                break
            yield from _verdicts(text, ground, depth + 1)


def _split(command: Command) -> Command:
    """A program word that holds blanks after expansion (`rm${IFS}-rf`) is several words."""
    first = command.words[0] if command.words else None
    if first is None or first.quoted or " " not in first.text:
        return command
    words = tuple(Word(text) for text in first.text.split())
    return replace(command, words=words + command.words[1:])
