"""Asking a running gateway from another process. Blocking and light: no asyncio, no SDK."""

from __future__ import annotations

import socket
from pathlib import Path

from core.errors import TransientError, UserError
from gateway.control.place import short_path
from gateway.control.wire import MAX_RESPONSE, Data, Request, dump_request, load_response

WITHIN_S = 10.0
DEAF = "The gateway in {folder} does not answer. Its log says more."


class NotRunning(UserError):
    """No gateway works in that folder."""


def ask(folder: Path, do: str, **words: str) -> Data:
    """The answer of the gateway that works in `folder`.

    Raises NotRunning where there is none, UserError with its words where it refuses, and
    TransientError where it does not answer.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(WITHIN_S)
        try:
            with short_path(folder) as path:
                line.connect(path)
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError) as error:
            raise NotRunning(f"No Pursuit is running in {folder}.") from error
        except PermissionError as error:
            raise UserError(f"The gateway in {folder} is another user's.") from error
        try:
            line.sendall(dump_request(Request(do, words)))
            got = _read(line)
        except OSError as error:  # a timeout is one too
            raise TransientError(DEAF.format(folder=folder)) from error
    if not got.endswith(b"\n"):  # it ended in the middle of its answer
        raise TransientError(DEAF.format(folder=folder))
    return load_response(got)


def _read(line: socket.socket) -> bytes:
    got = bytearray()
    while len(got) <= MAX_RESPONSE and (piece := line.recv(65536)):
        got += piece
        if piece.endswith(b"\n"):
            break
    return bytes(got)
