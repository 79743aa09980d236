"""The counts of the scripted tasks: what they cost in turns and tokens, kept in a file, so that
nothing moves them unseen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from core.errors import UserError

FILE = Path(__file__).with_name("data") / "fingerprint.txt"
MOVED = (
    "The fingerprint has moved. If that is meant, take it into {file} with: pursuit eval --accept"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What one task used; tokens are the scripted models' words."""

    name: str
    turns: int
    calls: int
    tokens_in: int
    tokens_out: int

    @property
    def line(self) -> str:
        """As it is printed and kept."""
        return (
            f"{self.name}: turns={self.turns} calls={self.calls} in={self.tokens_in} "
            f"out={self.tokens_out}"
        )


def fingerprint(counts: Sequence[Counts]) -> str:
    """All of them in a line."""
    turns, calls, tokens_in, tokens_out = (
        sum(getattr(each, key) for each in counts)
        for key in ("turns", "calls", "tokens_in", "tokens_out")
    )
    return f"tasks={len(counts)} turns={turns} calls={calls} in={tokens_in} out={tokens_out}"


def text(counts: Sequence[Counts]) -> str:
    """What the file holds: a line a task, and the fingerprint."""
    return "\n".join([*(each.line for each in counts), fingerprint(counts)]) + "\n"


def moved(counts: Sequence[Counts], file: Path = FILE) -> str:
    """What has moved since the file was written, "" for nothing."""
    kept = file.read_text(encoding="utf-8") if file.is_file() else ""
    now = text(counts)
    if kept == now:
        return ""
    lines = unified_diff(kept.splitlines(), now.splitlines(), "kept", "now", n=0, lineterm="")
    return "\n".join([*lines, MOVED.format(file=file)])


def accept(counts: Sequence[Counts], file: Path = FILE) -> None:
    """Write the file. Raises UserError where it cannot be written."""
    try:
        file.write_text(text(counts), encoding="utf-8")
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror}") from error
