"""The control socket over a real one: who may connect, what is bounded, what a fault does."""

from __future__ import annotations

import asyncio
import json
import socket
import stat
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.errors import TransientError, UserError
from gateway.control import client, server
from gateway.control.client import NotRunning, ask
from gateway.control.place import short_path
from gateway.control.server import ControlServer
from gateway.control.wire import MAX_REQUEST, SOCKET_NAME, Data


async def echo(words: Mapping[str, str]) -> Data:
    """Say it back."""
    return {"words": dict(words)}


async def refuse(_: Mapping[str, str]) -> Data:
    """Not today."""
    raise UserError("Not today.")


async def crash(_: Mapping[str, str]) -> Data:
    """A fault of ours."""
    raise ZeroDivisionError


async def flood(_: Mapping[str, str]) -> Data:
    """More than an answer may have."""
    return {"much": "x" * 2_000_000}


ANSWERS = {"echo": echo, "refuse": refuse, "crash": crash, "flood": flood}


@asynccontextmanager
async def serving(folder: Path, *, read_s: float = 5.0) -> AsyncIterator[None]:
    """A server in the folder."""
    control = ControlServer(folder, ANSWERS, read_s=read_s)
    task = asyncio.create_task(control.run(), name="control")
    try:
        async with asyncio.timeout(10):
            while not (folder / SOCKET_NAME).exists():  # noqa: ASYNC110 - a file tells nobody
                await asyncio.sleep(0.005)
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def asked(folder: Path, do: str, **words: str) -> Data:
    return await asyncio.to_thread(lambda: ask(folder, do, **words))


def raw(folder: Path, *pieces: bytes) -> dict[str, object]:
    """What is answered to some bytes."""
    with socket.socket(socket.AF_UNIX) as line, short_path(folder) as path:
        line.settimeout(20)
        line.connect(path)
        for piece in pieces:
            line.sendall(piece)
        return dict(json.loads(line.makefile("rb").readline()))


async def test_a_request_is_answered_and_the_socket_is_its_users_alone(tmp_path: Path) -> None:
    async with serving(tmp_path):
        assert await asked(tmp_path, "echo", a="ä\n", b="") == {"words": {"a": "ä\n", "b": ""}}
        mode = (tmp_path / SOCKET_NAME).stat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600
    assert not (tmp_path / SOCKET_NAME).exists()


async def test_a_folder_may_lie_deeper_than_a_sockets_path_may_be_long(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["a-rather-long-name-of-a-folder"] * 6)
    folder.mkdir(parents=True)
    assert len(str(folder)) > 108
    async with serving(folder):
        assert await asked(folder, "echo") == {"words": {}}


async def test_where_nothing_runs_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotRunning, match="No Pursuit is running in"):
        ask(tmp_path, "echo")
    with pytest.raises(NotRunning):
        ask(tmp_path / "missing", "echo")


async def test_what_a_killed_gateway_left_behind_is_neither_asked_nor_in_the_way(
    tmp_path: Path,
) -> None:
    with socket.socket(socket.AF_UNIX) as left, short_path(tmp_path) as path:
        left.bind(path)
    with pytest.raises(NotRunning):
        ask(tmp_path, "echo")
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        task = group.create_task(ControlServer(tmp_path, ANSWERS).run(), name="control")
        while True:
            try:
                assert await asked(tmp_path, "echo") == {"words": {}}
                break
            except NotRunning:
                await asyncio.sleep(0.005)
        task.cancel()


async def test_a_refusal_is_told_in_its_own_words(tmp_path: Path) -> None:
    async with serving(tmp_path):
        with pytest.raises(UserError, match=r"^Not today\.$"):
            await asked(tmp_path, "refuse")
        with pytest.raises(UserError, match="another version"):
            await asked(tmp_path, "dance")


async def test_a_fault_is_one_requests_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with serving(tmp_path):
        with pytest.raises(UserError, match="internal error"):
            await asked(tmp_path, "crash")
        with pytest.raises(UserError, match="too long"):
            await asked(tmp_path, "flood")
        assert await asked(tmp_path, "echo") == {"words": {}}
    assert "control_request_crashed" in capsys.readouterr().out


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"hello\n",
        b"[]\n",
        b'{"do": 5}\n',
        b'{"do": "echo", "a": []}\n',
        b"[" * 8000 + b"\n",
    ],
)
async def test_what_is_no_request_is_refused(tmp_path: Path, line: bytes) -> None:
    async with serving(tmp_path):
        assert (await asyncio.to_thread(raw, tmp_path, line))["ok"] is False
        assert await asked(tmp_path, "echo") == {"words": {}}


async def test_a_request_that_never_ends_is_cut_off(tmp_path: Path) -> None:
    async with serving(tmp_path):
        told = await asyncio.to_thread(raw, tmp_path, b" " * MAX_REQUEST)
        assert told["ok"] is False


async def test_many_who_say_nothing_keep_the_next_one_waiting_for_a_moment_only(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, read_s=0.2):
        with short_path(tmp_path) as path:
            silent = [socket.socket(socket.AF_UNIX) for _ in range(server.AT_ONCE)]
            for line in silent:
                line.connect(path)
        try:
            assert await asked(tmp_path, "echo") == {"words": {}}
        finally:
            for line in silent:
                line.close()


async def test_a_gateway_that_dies_in_its_answer_is_worth_another_try(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as door, short_path(tmp_path) as path:
        door.bind(path)
        door.listen(1)

        def die() -> None:
            line, _ = door.accept()
            line.recv(100)
            line.sendall(b'{"ok": true, "da')
            line.close()

        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.to_thread(die), name="die")
            with pytest.raises(TransientError, match="does not answer"):
                await asked(tmp_path, "echo")
    assert client.WITHIN_S > server.READ_S + server.ANSWER_S / 2
