"""What a command printed, held in bounded memory and made fit for a model. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

SHOWN_CHARS = 8_000
KEPT_BYTES = 16 * 1024
"""Of the beginning and of the end each; more than can be shown, as escapes fall away."""

ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS and its kin
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor
    r"|\x1b[ -/]*[0-~]?"
)
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
OVERWRITTEN = re.compile(r"[^\n]*\r(?=[^\r\n])")


def clean(data: bytes) -> str:
    """Bytes as text without escapes and control characters; of a line that a carriage return
    overwrote, the last state stays."""
    text = ESCAPES.sub("", data.decode("utf-8", "replace"))
    text = re.sub(r"\r+\n", "\n", text)
    return CONTROLS.sub("", OVERWRITTEN.sub("", text))


@dataclass(slots=True)
class Capture:
    """The first and the last bytes of an output of any length."""

    kept: int = KEPT_BYTES
    total: int = 0
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> None:
        """Take the next piece."""
        self.total += len(data)
        room = self.kept - len(self.head)
        self.head += data[:room]
        self.tail += data[max(room, 0) :][-self.kept :]
        if len(self.tail) > 4 * self.kept:
            del self.tail[: -self.kept]

    def shown(self, whole: str) -> str:
        """The text for the model, its middle left out when it is long; `whole` says where the
        rest is, as the end of a sentence ("" for nowhere)."""
        joined = self.total == len(self.head) + len(self.tail)
        start = clean(bytes(self.head + self.tail if joined else self.head))
        if joined and len(start) <= SHOWN_CHARS:
            return start.rstrip("\n")
        end = start if joined else clean(bytes(self.tail[-self.kept :]).lstrip(CONTINUATIONS))
        half = SHOWN_CHARS // 2
        return (
            f"{start[:half]}\n[… the middle of {self.total} bytes is left out{whole} …]\n"
            f"{end[-half:].rstrip(chr(10))}"
        )


CONTINUATIONS = bytes(range(0x80, 0xC0))
"""Bytes that cannot begin a character: what is left of one that was cut."""
