"""What every source of a model file has in common.

Words shared by `hub` and `wheels`; it may not touch the network.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Report = Callable[[int], None]
"""Called with the bytes at hand, also while nothing arrives; it may raise to abort."""

CHUNK = 1 << 20


class SourceUnavailable(Exception):
    """A source cannot deliver now; the text is the reason, for people."""


class SourceCorrupt(SourceUnavailable):
    """What a source sent is not what is pinned; nothing of it was kept."""


def size_of(path: Path) -> int:
    """Bytes in `path`; 0 when there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
