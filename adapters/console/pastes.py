"""Keeps long pasted texts out of the line that is typed into. Pure.

A pasted log would fill the screen, and the scrollback once more when it is sent. So a long paste
stands in the line as a short mark, and the text takes its place when the line is handed over.
"""

from __future__ import annotations

import re

from adapters.console.encode import readable_size

MARK = "[pasted text "
_MARKS = re.compile(r"\[pasted text (\d+): [^\]\n]*\]")
_LONGEST_TEXT = 2000
_MOST_LINES = 20
_KEPT = 20


class Pastes:
    """The long texts that were pasted lately."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._count = 0

    def fold(self, text: str) -> str:
        """What to put into the line for a pasted text: itself, or a mark where it is long."""
        lines = text.count("\n") + 1
        if len(text) <= _LONGEST_TEXT and lines <= _MOST_LINES:
            return text
        self._count += 1
        self._texts[self._count] = text
        self._texts.pop(self._count - _KEPT, None)
        return f"{MARK}{self._count}: {lines} lines, {readable_size(len(text.encode()))}]"

    def unfold(self, line: str) -> str:
        """The line with every mark replaced by its text; unknown marks stay."""
        return _MARKS.sub(lambda mark: self._texts.get(int(mark[1]), mark[0]), line)
