"""A server that is a program of ours: its lines in and out, its errors, its certain end.

The SDK's own transport reads lines of any length, leaves behind what the server started, and
does not say how it ended.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import IO, TYPE_CHECKING

import anyio
import structlog
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from adapters.mcp.decode import clean
from adapters.mcp.options import ServerOptions
from core.tools.tool import one_line

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

MAX_LINE_BYTES = 16 * 1024 * 1024
EXIT_S = 1.0
"""How long a server has to end by itself once its input is closed."""
TERM_S = 1.0
"""How long it and what it started have after SIGTERM."""
KILL_S = 0.3
KEPT_CHARS = 2_000
LAST_LINES = 2

Arriving = MemoryObjectSendStream[SessionMessage | Exception]
Leaving = MemoryObjectReceiveStream[SessionMessage]

log = structlog.get_logger(__name__)


class ServerProcess:
    """One run of a server's program. `lost` is called when it can no longer be spoken to."""

    def __init__(self, options: ServerOptions, lost: Callable[[], None]) -> None:
        self._options = options
        self._lost = lost
        self._child: subprocess.Popen[bytes] | None = None
        self._errors = ""
        self._garbage = ""
        self._fault = ""

    @property
    def clue(self) -> str:
        """What it was seen to do, "" for nothing of note."""
        ended = self._child is not None and self._child.poll() is not None
        code = f"it ended with {_exit(self._child.returncode)}" if ended and self._child else ""
        errors = " / ".join(self._errors.strip().splitlines()[-LAST_LINES:])
        garbage = f"its standard output is not the protocol's: {self._garbage!r}"
        clues = (self._fault, code, errors, garbage if self._garbage else "")
        return "; ".join(filter(None, clues))

    @asynccontextmanager
    async def open(self) -> AsyncIterator[TransportStreams]:
        """Start the program; raises OSError when that fails. Leaving ends all its processes."""
        child = self._child = self._start()
        arriving, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        told, leaving = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            async with asyncio.TaskGroup() as pumps, _pipes(child) as (out, err, into):
                tasks = [
                    pumps.create_task(self._read(out, arriving), name="mcp output"),
                    pumps.create_task(self._write(into, leaving, arriving), name="mcp input"),
                    pumps.create_task(self._drain(err), name="mcp errors"),
                ]
                try:
                    yield heard, told
                finally:
                    into.close()
                    await _end(child)
                    for task in tasks:
                        task.cancel()
        finally:
            _kill(child)
            for stream in (arriving, heard, told, leaving):
                stream.close()

    def _start(self) -> subprocess.Popen[bytes]:
        options = self._options
        return subprocess.Popen(  # noqa: S603 (an owner configured what runs)
            (options.command, *options.args),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**get_default_environment(), **options.env, **options.mark},
            cwd=options.cwd,
            start_new_session=True,
        )

    async def _read(self, out: asyncio.StreamReader, arriving: Arriving) -> None:
        """Hand on what the server says until it ends or is no longer listened to."""
        try:
            while line := await out.readline():
                message = self._message(line)
                if message is not None:
                    await arriving.send(message)
        except ValueError:
            self._fault = f"it sent a line of more than {MAX_LINE_BYTES // 2**20} MB"
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            pass
        finally:
            arriving.close()
            self._lost()

    def _message(self, line: bytes) -> SessionMessage | None:
        """A line's message; None for one that is none, as banners that libraries print."""
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError:
            text = one_line(line[:1_000].decode("utf-8", "replace"))
            self._garbage = self._garbage or text
            if text:
                log.debug("mcp_no_message", server=self._options.name, line=text)
            return None

    async def _write(
        self, into: asyncio.StreamWriter, leaving: Leaving, arriving: Arriving
    ) -> None:
        try:
            async for message in leaving:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                into.write(line.encode() + b"\n")
                await into.drain()
        except OSError:
            arriving.close()  # so that who waits for an answer hears of it
            self._lost()
        finally:
            leaving.close()

    async def _drain(self, err: asyncio.StreamReader) -> None:
        """Read the server's errors, which would block it, for the log and for `clue`."""
        with suppress(OSError):
            while data := await err.read(KEPT_CHARS * 4):
                text = data.decode("utf-8", "replace")
                self._errors = (self._errors + text)[-KEPT_CHARS:]
                log.debug("mcp_errors", server=self._options.name, text=clean(text).strip())


@asynccontextmanager
async def _pipes(
    child: subprocess.Popen[bytes],
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamReader, asyncio.StreamWriter]]:
    """Its three pipes on the loop; closed at the end whoever else still holds them."""
    loop = asyncio.get_running_loop()
    transports: list[asyncio.BaseTransport] = []

    async def reading(pipe: IO[bytes]) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        transports.append(transport)
        return reader

    if child.stdin is None or child.stdout is None or child.stderr is None:
        raise ValueError("the child has no pipes")
    try:
        out, err = await reading(child.stdout), await reading(child.stderr)
        flow = asyncio.StreamReaderProtocol(asyncio.StreamReader())
        transport, _ = await loop.connect_write_pipe(lambda: flow, child.stdin)
        transports.append(transport)
        yield out, err, asyncio.StreamWriter(transport, flow, None, loop)
    finally:
        for one in transports:
            if not one.is_closing():
                one.close()
            elif isinstance(one, asyncio.WriteTransport) and one.get_write_buffer_size():
                one.abort()  # what it did not read is in the way of closing
        await asyncio.sleep(0)  # the transports let go of their pipes in the loop's next round


async def _end(child: subprocess.Popen[bytes]) -> None:
    """Its input is closed: wait for its group to go, then SIGTERM; SIGKILL comes after."""
    if not await _within(EXIT_S, _gone(child)):
        _signal(child, signal.SIGTERM)
        await _within(TERM_S, _gone(child))
        _kill(child)
        await _within(TERM_S, _gone(child))


async def _gone(child: subprocess.Popen[bytes]) -> None:
    pause = 0.005
    while _alive(child):
        await asyncio.sleep(pause)
        pause = min(2 * pause, 0.05)


def _alive(child: subprocess.Popen[bytes]) -> bool:
    """Whether any process of its group is left; polling collects the first one."""
    return child.poll() is None or _signal(child, 0)


def _kill(child: subprocess.Popen[bytes]) -> None:
    """At once, for an end that was cut short; the kernel takes a moment to be done with it."""
    if _alive(child):
        _signal(child, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            child.wait(KILL_S)


def _signal(child: subprocess.Popen[bytes], number: int) -> bool:
    """Signal the group, whose id is the first process's; False when it is gone."""
    try:
        os.killpg(child.pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _exit(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


async def _within(seconds: float, waiting: Awaitable[None]) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await waiting
    except TimeoutError:
        return False
    return True
