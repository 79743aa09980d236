"""The thread that waits for the disk: who is told, and when it ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from adapters.sqlite.syncer import Syncer

PATIENCE_S = 10.0


@contextmanager
def running(folder: Path) -> Iterator[Syncer]:
    log = folder / "log"
    log.touch()
    syncer = Syncer(log)
    syncer.start()
    try:
        yield syncer
    finally:
        syncer.close()


def test_each_commit_is_told_once_and_in_order(tmp_path: Path) -> None:
    told: list[int] = []
    with running(tmp_path) as syncer:
        for number in range(200):
            syncer.committed(changed=number % 3 > 0, then=partial(told.append, number))
    assert told == list(range(200))


def test_a_commit_nobody_waits_for_does_not_hold_up_one_that_is_waited_for(tmp_path: Path) -> None:
    safe = threading.Event()
    with running(tmp_path) as syncer:
        syncer.committed(changed=True, then=None)
        syncer.committed(changed=True, then=safe.set)
        assert safe.wait(PATIENCE_S)


def test_closing_ends_the_thread_with_everything_told(tmp_path: Path) -> None:
    safe = threading.Event()
    with running(tmp_path) as syncer:
        syncer.committed(changed=True, then=None)
        syncer.committed(changed=False, then=safe.set)
    assert safe.is_set()


def test_closing_with_nothing_committed_ends_the_thread(tmp_path: Path) -> None:
    with running(tmp_path):
        pass
