"""Reaching the socket by its folder: a Unix socket's own path may have 107 bytes at most."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway.control.wire import SOCKET_NAME


@contextmanager
def short_path(folder: Path) -> Iterator[str]:
    """A path of the folder's socket that is short, however deep the folder lies; good while the
    block runs. Raises OSError where the folder cannot be opened."""
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{handle}/{SOCKET_NAME}"
    finally:
        os.close(handle)
