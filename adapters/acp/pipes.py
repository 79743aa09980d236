"""A launched program's standard streams on the event loop, drained whatever happens, and its
sure end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import IO

from adapters.acp.kept import ERROR_BYTES, Kept
from adapters.acp.launch import Launched

LINGER_S = 0.3
"""How long the output of a program that has ended may stay open in another's hands."""
TERM_S = 0.7
"""How long its processes have after SIGTERM; with the farewell before it stays below 2 s."""


class Drain(asyncio.Protocol):
    """Takes in all that a stream brings."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take
        self.closed = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        """A piece of output."""
        self._take(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """The other side closed it, or this one."""
        self.closed.set()


@dataclass(slots=True)
class Pipes:
    """The loop's side of the streams, each there once it was asked for."""

    launched: Launched
    errors: Kept = field(default_factory=lambda: Kept(head=0, tail=ERROR_BYTES))
    _transports: list[asyncio.BaseTransport] = field(default_factory=list)
    _input: asyncio.StreamWriter | None = None

    async def drain(self, stream: IO[bytes] | None, take: Callable[[bytes], None]) -> Drain:
        """Hand all that comes from a stream to `take`."""
        taking = Drain(take)
        loop = asyncio.get_running_loop()
        self._transports.append((await loop.connect_read_pipe(lambda: taking, stream))[0])
        return taking

    async def reader(self) -> asyncio.StreamReader:
        """Standard output, read with back-pressure."""
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        loop = asyncio.get_running_loop()
        stdout = self.launched.streams[1]
        self._transports.append((await loop.connect_read_pipe(lambda: protocol, stdout))[0])
        return reader

    async def writer(self) -> asyncio.StreamWriter:
        """Standard input."""
        loop = asyncio.get_running_loop()
        protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
        stdin = self.launched.streams[0]
        transport, _ = await loop.connect_write_pipe(lambda: protocol, stdin)
        self._transports.append(transport)
        self._input = asyncio.StreamWriter(transport, protocol, None, loop)
        return self._input

    async def closing(self, seconds: float) -> None:
        """Close standard input, by which a program knows that it is over, and wait a while for it
        to end."""
        if self._input is not None:
            self._input.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.launched.exited()

    def hang_up(self) -> None:
        """Take what was read of its output as all that there is."""
        for transport in self._transports:
            if isinstance(transport, asyncio.ReadTransport):
                transport.close()

    def close(self) -> None:
        """Let all streams go, unsent input too."""
        for transport in self._transports:
            if not isinstance(transport, asyncio.WriteTransport):
                transport.close()
            elif not transport.is_closing() or transport.get_write_buffer_size():
                transport.abort()  # not twice, nor after close() has sent all: that fails
        for stream in self.launched.streams:
            if stream is not None:
                with suppress(OSError):
                    stream.close()


@asynccontextmanager
async def opened(launched: Launched) -> AsyncIterator[Pipes]:
    """The streams of a program, standard error draining; at the end all its processes go."""
    pipes = Pipes(launched)
    try:
        await pipes.drain(launched.streams[2], pipes.errors.feed)
        yield pipes
    finally:
        try:
            await launched.end(TERM_S)
        finally:
            pipes.close()


async def within(seconds: float, event: asyncio.Event) -> None:
    """Wait for an event, but no longer."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
