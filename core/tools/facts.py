"""What a workspace holds, as a judge is shown it. Values only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileFact:
    """A file on disk: `path` relative to the workspace, `size` in bytes, `start` the first
    characters of a small text file ("" for others)."""

    path: str
    size: int
    start: str = ""
