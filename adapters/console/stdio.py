"""Reads standard input and writes standard output without ever blocking the event loop.

It leaves the descriptors' flags alone: O_NONBLOCK belongs to the open file, which the shell that
started us, or our own standard error, may share.
"""

from __future__ import annotations

import asyncio
import errno
import os
import select
import sys
import threading
from contextlib import suppress

_CHUNK = 1 << 16
_PIPE_ATOM = 4096
"""A pipe that polls writable takes this much without blocking (PIPE_BUF)."""

_AHEAD = 4
_JOIN_S = 1.0


CLOSED = -1
"""Stands for a descriptor that was closed when the program started."""


class InputThread:
    """Reads a descriptor to its end in a daemon thread, a few chunks ahead of the consumer.

    A thread, because a file or /dev/null cannot be watched by the loop and a blocking read must
    not stop it; a daemon one, so that no read that hangs can keep the process from leaving.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self._credit = threading.Semaphore(_AHEAD)
        self._wake_read, self._wake_write = os.pipe()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._read, name="console-stdin", daemon=True)
        self._thread.start()

    async def chunk(self) -> bytes:
        """The next bytes, b"" at the end."""
        data = await self._chunks.get()
        self._credit.release()
        return data

    def close(self) -> None:
        """End the thread; safe to call twice."""
        if self._closing.is_set():
            return
        self._closing.set()
        self._credit.release()
        os.close(self._wake_write)
        self._thread.join(_JOIN_S)
        if not self._thread.is_alive():
            os.close(self._wake_read)

    def _read(self) -> None:
        poll = select.poll()
        if self._fd != CLOSED:
            poll.register(self._fd, select.POLLIN)
        poll.register(self._wake_read, select.POLLIN)
        data = b"-"
        while data and not self._closing.is_set():
            self._credit.acquire()
            data = self._next(poll)
            # The loop may be gone when the program ends by an exception.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._chunks.put_nowait, data)

    def _next(self, poll: select.poll) -> bytes:
        if self._fd == CLOSED:
            return b""
        ready = {fd for fd, _ in poll.poll()}
        if self._wake_read in ready:
            return b""
        try:
            return os.read(self._fd, _CHUNK)
        except OSError:
            # A closed descriptor or a hung-up terminal: there is nothing more to read.
            return b""


class OutputWriter:
    """Writes to a descriptor, message by message; a reader who is slow holds up only this."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._turn = asyncio.Lock()

    async def write(self, text: str) -> None:
        """Write all of it. Raises OSError when nobody reads any more."""
        if self._fd == CLOSED:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        data = memoryview(text.encode("utf-8", "replace"))
        async with self._turn:
            while data:
                await self._writable()
                data = data[os.write(self._fd, data[:_PIPE_ATOM]) :]

    async def _writable(self) -> None:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        try:
            loop.add_writer(self._fd, _settle, ready)
        except PermissionError:
            # A plain file cannot be watched and never blocks.
            return
        try:
            await ready
        finally:
            loop.remove_writer(self._fd)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def let_go() -> None:
    """Flush what was printed; streams whose terminal is gone go nowhere from now on, or the
    interpreter would fail over them when it ends."""
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is None or stream.closed:
            continue
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
