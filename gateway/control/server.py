"""Serves the control socket: one request a connection, bounded in size and time.

What is asked for is somebody else's to answer (`gateway.control.desk`). The socket's mode keeps
other users out; whoever may connect is the gateway's own user.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import structlog

from core.errors import PursuitError, UserError
from gateway.control import wire
from gateway.control.place import short_path
from gateway.control.wire import MAX_REQUEST, Data, Request

log = structlog.get_logger(__name__)

READ_S = 5.0
ANSWER_S = 9.0
AT_ONCE = 16

Answer: TypeAlias = Callable[[Mapping[str, str]], Awaitable[Data]]


class ControlServer:
    """Answers requests by their name from `answers` while `run` runs; who says nothing for
    `read_s` is hung up on."""

    def __init__(
        self, folder: Path, answers: Mapping[str, Answer], *, read_s: float = READ_S
    ) -> None:
        self._folder = folder
        self._answers = answers
        self._read_s = read_s

    async def run(self) -> None:
        """Serve until cancelled. A folder that takes no socket is logged, and nothing served:
        the chats matter more."""
        try:
            door = self._open()
        except OSError as error:
            log.error("control_socket_not_served", error=str(error))
            await asyncio.Event().wait()
            return
        try:
            await self._serve(door)
        finally:
            door.close()
            with suppress(OSError):
                (self._folder / wire.SOCKET_NAME).unlink()

    def _open(self) -> socket.socket:
        """The listening socket. What a killed gateway left is removed: the folder is locked."""
        (self._folder / wire.SOCKET_NAME).unlink(missing_ok=True)
        door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            with short_path(self._folder) as path:
                door.bind(path)
                os.chmod(path, 0o600)  # noqa: PTH101 - nobody connects before it listens
            door.listen(AT_ONCE)
        except OSError:
            door.close()
            raise
        return door

    async def _serve(self, door: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        slots = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as tasks:
            while True:
                await slots.acquire()
                line, _ = await loop.sock_accept(door)
                task = tasks.create_task(self._answer(line), name="control request")
                task.add_done_callback(lambda _: slots.release())

    async def _answer(self, line: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with line:
            try:
                async with asyncio.timeout(self._read_s):
                    asked = await _read(loop, line)
                reply = await self._reply(asked)
                async with asyncio.timeout(self._read_s):
                    await loop.sock_sendall(line, reply)
            except (OSError, TimeoutError) as error:
                log.debug("control_line_lost", error=str(error))

    async def _reply(self, asked: bytes) -> bytes:
        try:
            request = wire.load_request(asked)
            async with asyncio.timeout(ANSWER_S):
                return wire.dump_data(await self._do(request))
        except PursuitError as error:
            return wire.dump_error(str(error))
        except TimeoutError:
            return wire.dump_error("This takes too long; the gateway's log may say why.")
        except Exception:  # the border of a receive loop: the next request comes
            log.exception("control_request_crashed")
            return wire.dump_error("An internal error; the gateway's log has the details.")

    async def _do(self, request: Request) -> Data:
        answer = self._answers.get(request.do)
        if answer is None:
            raise UserError(
                f"The running gateway knows no {request.do!r}: it is of another version. "
                "Restart it."
            )
        return await answer(request.words)


async def _read(loop: asyncio.AbstractEventLoop, line: socket.socket) -> bytes:
    """A line, or what there is of one that is too long: that is no JSON then."""
    got = bytearray()
    while len(got) < MAX_REQUEST and (piece := await loop.sock_recv(line, 4096)):
        got += piece
        if piece.endswith(b"\n"):
            break
    return bytes(got[:MAX_REQUEST])
