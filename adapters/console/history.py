"""What was typed before, in a private file; a full disk costs the history, not the chat."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from adapters.console.pastes import MARK

_LONGEST = 10_000


class ChatHistory(FileHistory):
    """A history file that its owner alone may read; pasted novels are not kept."""

    def load_history_strings(self) -> Iterable[str]:
        """The entries, newest first; none where the file cannot be read."""
        try:
            return list(super().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        """Append an entry, unless it means nothing without a paste that is gone later."""
        if len(string) <= _LONGEST and MARK not in string:
            with suppress(OSError):
                super().store_string(string)


def open_history(path: Path | None) -> History:
    """The history in `path`, which is made where it is missing; in memory without one."""
    if path is None:
        return InMemoryHistory()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        path.chmod(0o600)
    except OSError:
        return InMemoryHistory()
    return ChatHistory(str(path))
