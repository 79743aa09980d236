"""A download's progress on a stream: a bar on a terminal, a line each few percent elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO, TypeAlias

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

OnProgress: TypeAlias = Callable[[int, int, str], None]
"""Takes the bytes at hand, the bytes in all, and where they come from. Call it as often as
you like, from one thread at a time."""

_STEP_PERCENT = 5


@contextmanager
def drawn(what: str, stream: TextIO) -> Iterator[OnProgress]:
    """Show the progress of fetching `what` while the block runs; nothing until it is called."""
    if stream.isatty():
        yield from _bar(what, stream)
    else:
        yield _lines(what, stream)


def _bar(what: str, stream: TextIO) -> Iterator[OnProgress]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=stream)) as progress:
        task = progress.add_task(what, total=None, visible=False)

        def show(done: int, total: int, source: str) -> None:
            words = f"{what} ({source})" if source else what
            progress.update(task, completed=done, total=total, description=words, visible=True)

        yield show


def _lines(what: str, stream: TextIO) -> OnProgress:
    shown = -_STEP_PERCENT

    def show(done: int, total: int, source: str) -> None:
        nonlocal shown
        percent = 100 * done // max(total, 1)
        if percent >= shown + _STEP_PERCENT or (percent >= 100 > shown):
            shown = percent
            origin = f" from {source}" if source else ""
            stream.write(f"{what}{origin}: {percent} % of {total / 1e6:.0f} MB\n")
            stream.flush()

    return show
