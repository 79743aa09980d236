"""The protocol's messages over a runner's standard streams, one line each.

The SDK's own transport takes lines of any length, logs each bad one with a traceback and fails on
JSON that is no message; this one is bounded in all and ends the conversation with a reason.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from adapters.acp import decode
from adapters.acp.kept import short

LINE_BYTES = 50 * 1024 * 1024
PIECE_BYTES = 64 * 1024
MOST_STRAY = 200
"""How many lines that are no messages are stepped over: banners, stray prints, warnings."""

TOO_LONG = f"sent a message of more than {LINE_BYTES // (1024 * 1024)} MB"
TOO_STRAY = f"printed more than {MOST_STRAY} lines that are no messages of the protocol"


class Wire:
    """A transport as the SDK's connection takes one.

    `fault` says why it ended the conversation itself, "" when the runner did; `stray` is the first
    line that was no message; `answered` is set once the runner has answered its prompt, or will
    answer no more.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.fault = ""
        self.stray = ""
        self.answered = asyncio.Event()
        self._strays = 0
        self._prompt: object = None
        self._reader = reader
        self._writer = writer
        self._buffer = bytearray()

    async def send(self, message: Mapping[str, Any]) -> None:
        """Put a message on its way."""
        if message.get("method") == "session/prompt":
            self._prompt = message["id"]
        self._writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    async def receive(self) -> dict[str, Any] | None:
        """The next message, None when there is none any more.

        A runner that does not read is not read either, and each message is dealt with before
        the next: nothing piles up here.
        """
        await asyncio.sleep(0)
        while not self.fault and (line := await self._line()):
            if found := decode.message(line):
                self._look_at(found)
                return found
            self._step_over(line)
        self.answered.set()
        return None

    def _look_at(self, found: Mapping[str, Any]) -> None:
        answers = "method" not in found and self._prompt is not None
        if answers and found["id"] == self._prompt:
            self.answered.set()

    def _step_over(self, line: bytes) -> None:
        if not line.strip():
            return
        self._strays += 1
        self.stray = self.stray or short(line[:1000].decode("utf-8", "replace"), 100)
        if self._strays > MOST_STRAY:
            self.fault = TOO_STRAY

    async def _line(self) -> bytes:
        """The next line with its end, b"" at the end of all."""
        seen = 0
        while (end := self._buffer.find(b"\n", seen)) < 0:
            seen = len(self._buffer)
            if seen > LINE_BYTES:
                self.fault = TOO_LONG
                return b""
            if not (piece := await self._piece()):
                end = seen - 1
                break
            self._buffer += piece
        line = bytes(self._buffer[: end + 1])
        del self._buffer[: end + 1]
        return line

    async def _piece(self) -> bytes:
        with suppress(ConnectionError):  # it closed its input; what it still says is heard
            await self._writer.drain()
        return await self._reader.read(PIECE_BYTES)

    async def close(self) -> None:
        """The streams are closed by whoever opened them."""
