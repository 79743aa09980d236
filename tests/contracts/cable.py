"""A cable between two loopback ports that a test may cut: every connection through it breaks,
and new ones are refused until it is mended. It reads nothing of what it carries."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Self

CHUNK = 1 << 16


class Cable:
    """Listens on `port` and carries to `target` while it is whole; `async with` lays it."""

    def __init__(self, target: int) -> None:
        self.port = 0
        self._target = target
        self._server: asyncio.Server | None = None
        self._ends: set[asyncio.StreamWriter] = set()
        self._carrying: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self.mend()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.cut()

    async def mend(self) -> None:
        """Carry again, on the same port as before."""
        if self._server is None:
            self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
            self.port = int(self._server.sockets[0].getsockname()[1])

    async def cut(self) -> None:
        """Break every connection and refuse new ones."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        while self._ends:
            self._ends.pop().transport.abort()
        if self._carrying:
            await asyncio.wait(self._carrying)

    async def _connected(self, near_in: asyncio.StreamReader, near: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or self._server is None:
            near.transport.abort()
            return
        self._carrying.add(task)
        self._ends.add(near)
        try:
            with contextlib.suppress(OSError):
                await self._carry(near_in, near)
        finally:
            self._ends.discard(near)
            near.transport.abort()
            self._carrying.discard(task)

    async def _carry(self, near_in: asyncio.StreamReader, near: asyncio.StreamWriter) -> None:
        far_in, far = await asyncio.open_connection("127.0.0.1", self._target)
        self._ends.add(far)
        try:
            if self._server is not None:
                await asyncio.gather(_pump(near_in, far), _pump(far_in, near))
        finally:
            self._ends.discard(far)
            far.transport.abort()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(CHUNK):
            sink.write(data)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()
