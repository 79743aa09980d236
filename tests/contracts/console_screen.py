"""A pseudo-terminal as a person sees it: what was printed, and the lines round the prompt.

It answers where its cursor is, as terminals do, and reads without ever holding up the writer.
"""

from __future__ import annotations

import asyncio
import os
import pty
import re
import termios
import threading
from collections.abc import Callable

from prompt_toolkit.utils import get_cwidth

ROWS, COLUMNS = 40, 120
CHUNK = 1 << 16
CURSOR_ASKED, CURSOR_HERE = "\x1b[6n", b"\x1b[1;1R"
PRINTED = re.compile(r"\x1b\[\?2004l(.*?)\x1b\[6n", re.DOTALL)
"""The prompt steps aside, which ends its bracketed paste, and asks for the cursor to come
back."""
STYLE = re.compile(r"\x1b\[[0-9;]*m")
PIECE = re.compile(r"\x1b\[(?P<count>[0-9;?]*)(?P<move>[A-Za-z])|(?P<char>.)", re.DOTALL)


class Screen:
    """The terminal's far end; `device` is the near one, a path to open."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._far, self._near = pty.openpty()
        termios.tcsetwinsize(self._near, (ROWS, COLUMNS))
        self.device = os.ttyname(self._near)
        self.written = ""
        self._undecoded = b""
        self._answered = 0
        self._on_change = on_change
        self._loop = asyncio.get_running_loop()
        self._reader = threading.Thread(target=self._read, name="pty", daemon=True)
        self._reader.start()

    def types(self, keys: str) -> None:
        """Press keys."""
        data = keys.encode()
        while data:
            data = data[os.write(self._far, data) :]

    def close(self) -> None:
        """Hang up."""
        os.close(self._near)  # the reader gets its end
        self._reader.join(2.0)
        os.close(self._far)

    def printed(self, begin: int = 0, end: int | None = None) -> list[str]:
        """The texts that were printed above the prompt, styles and all."""
        found = PRINTED.findall(self.written[begin:end])
        return [block.replace("\r", "") for block in found if block]

    def lines(self) -> list[str]:
        """The last lines of the screen as they stand, the live ones among them."""
        return _Grid().drawn(self.written[self.written.rfind("\x1b[?2004h") :])

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._far, CHUNK)
            except OSError:
                return
            try:
                self._loop.call_soon_threadsafe(self._took, data)
            except RuntimeError:  # the loop is closed
                return

    def _took(self, data: bytes) -> None:
        whole = self._undecoded + data
        text = whole.decode("utf-8", "ignore")
        kept = len(text.encode())
        self.written += text
        self._undecoded = whole[kept:]
        while (at := self.written.find(CURSOR_ASKED, self._answered)) >= 0:
            self._answered = at + len(CURSOR_ASKED)
            os.write(self._far, CURSOR_HERE)
        self._on_change()


class _Grid:
    """Follows a cursor; as tall as it takes, since nothing here moves to a fixed place."""

    def __init__(self) -> None:
        self._rows: list[list[str]] = [[]]
        self._x = self._y = 0

    def drawn(self, text: str) -> list[str]:
        """The lines after all of that."""
        for piece in PIECE.finditer(text):
            if piece["char"] is not None:
                self._put(piece["char"])
            elif piece["count"].isdigit() or not piece["count"]:
                self._move(piece["move"], int(piece["count"] or 1))
        return ["".join(row).rstrip() for row in self._rows]

    def _put(self, char: str) -> None:
        match char:
            case "\r":
                self._x = 0
            case "\n":
                self._to(self._y + 1)
            case "\b":
                self._x = max(0, self._x - 1)
            case _:
                row, width = self._rows[self._y], get_cwidth(char)
                row.extend(" " * (self._x + width - len(row)))
                row[self._x : self._x + width] = [char, *[""] * (width - 1)]
                self._x += width

    def _move(self, way: str, count: int) -> None:
        match way:
            case "A":
                self._to(max(0, self._y - count))
            case "B":
                self._to(self._y + count)
            case "C":
                self._x += count
            case "D":
                self._x = max(0, self._x - count)
            case "K":
                del self._rows[self._y][self._x :]
            case "J":
                del self._rows[self._y][self._x :]
                del self._rows[self._y + 1 :]

    def _to(self, row: int) -> None:
        self._y = row
        while len(self._rows) <= row:
            self._rows.append([])


def plain(text: str) -> str:
    """The text without its styles."""
    return STYLE.sub("", text)
