"""Builds the console for the process's own terminal, or for plain lines where there is none."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Sequence

from prompt_toolkit.utils import is_dumb_terminal

from adapters.console.adapter import ConsoleOptions, ConsolePlatform
from adapters.console.clean import one_line
from adapters.console.decode import MAX_TEXT_BYTES
from adapters.console.front import Front
from adapters.console.lines import LinesFront
from adapters.console.stdio import CLOSED
from adapters.console.terminal import FirstScreen, TerminalFront
from core.ports import Clock

_USAGE = "Type a message, or /goal <what you want done>. /help lists the commands."
_KEYS = "Ctrl-C stops a turn, Ctrl-D leaves. /attach PATH sends a file, /quit leaves too."
_NO_KEYS = "/stop stops a turn, Ctrl-D leaves. /attach PATH sends a file, /quit leaves too."


def open_console(
    options: ConsoleOptions,
    *,
    commands: Sequence[tuple[str, str]],
    clock: Clock,
    idle: Callable[[], Awaitable[None]],
) -> ConsolePlatform:
    """The console on standard input and output; `commands` are (name, summary) to complete.

    It takes a message a line unless both are a terminal that can move its cursor.
    """
    # A closed descriptor's number goes to the next thing that is opened, the event loop's own
    # perhaps; Python says so with None.
    streams = (sys.__stdin__, sys.__stdout__, sys.__stderr__)
    fds = [CLOSED if stream is None else stream.fileno() for stream in streams]
    front: Front
    if all(map(os.isatty, fds[:2])) and not is_dumb_terminal():
        first = first_screen(options, _KEYS)
        front = TerminalFront(first, commands, clock, history=options.history)
    else:
        # On standard error, which leaves the answers alone.
        person = os.isatty(fds[0])
        greeting = _greeting(options) if person else f"workspace {one_line(options.workspace)}"
        front = LinesFront(
            idle, limit=MAX_TEXT_BYTES, greeting=greeting, fds=(fds[0], fds[1], fds[2])
        )
    return ConsolePlatform(options, front=front, clock=clock, idle=idle)


def first_screen(options: ConsoleOptions, keys: str = _KEYS) -> FirstScreen:
    """The banner's texts."""
    facts = (("model", one_line(options.model)), ("workspace", one_line(options.workspace)))
    details = "\n".join(f"{name:<9} {text}" for name, text in facts if text)
    return FirstScreen("Pursuit", details, f"{_USAGE}\n{keys}")


def _greeting(options: ConsoleOptions) -> str:
    first = first_screen(options, _NO_KEYS)
    return f"{first.title}\n{first.details}\n\n{first.usage}\n"
