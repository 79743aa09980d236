"""The native command menu, cut to Telegram's limits. Pure: no I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from telegram import BotCommand

from adapters.telegram.options import MenuEntry

MAX_COMMANDS = 100
MAX_SUMMARY = 256

NAME = re.compile(r"[a-z0-9_]{1,32}")


def menu(entries: Iterable[MenuEntry]) -> tuple[BotCommand, ...]:
    """The entries Telegram takes: a name of 1-32 of `a-z0-9_`, a summary of 1-256, 100 at most.

    A name that Telegram would refuse is left out: one such name makes it refuse the whole list.
    """
    fit = [entry for entry in entries if NAME.fullmatch(entry.name)]
    return tuple(
        BotCommand(entry.name, (entry.summary.strip() or entry.name)[:MAX_SUMMARY])
        for entry in fit[:MAX_COMMANDS]
    )


def same_menu(current: Sequence[BotCommand], wanted: Sequence[BotCommand]) -> bool:
    """Whether Telegram shows the wanted menu already."""
    return [(c.command, c.description) for c in current] == [
        (c.command, c.description) for c in wanted
    ]
