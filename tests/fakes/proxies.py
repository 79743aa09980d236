"""Proxies on loopback that really forward: HTTP (absolute addresses and CONNECT) and SOCKS5.

In a test::

    async with FakeProxy("socks5h", "ann", "secret") as proxy:
        ...                     # call through proxy.url
        assert proxy.asked == ["127.0.0.1:4711"]

With a user it lets in nobody else. `refuses` answers everybody that the target cannot be reached.
"""

from __future__ import annotations

import asyncio
import base64
import ipaddress
from typing import Self
from urllib.parse import quote, urlsplit


class FakeProxy:
    """One proxy; `asked` are the targets in the order they were asked for."""

    def __init__(
        self, scheme: str, user: str = "", password: str = "", *, refuses: bool = False
    ) -> None:
        self.asked: list[str] = []
        self._scheme = scheme
        self._user = user
        self._password = password
        self._refuses = refuses
        self._port = 0
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        """The address for clients, with the user."""
        user = f"{quote(self._user)}:{quote(self._password, safe='')}@" if self._user else ""
        return f"{self._scheme}://{user}127.0.0.1:{self._port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()
        for writer in self._open:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        speak = self._socks if self._scheme.startswith("socks") else self._http
        try:
            await speak(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        start = await reader.readexactly(1)
        if not start.isalpha():
            writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            return
        head = (start + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, where, version = head.split("\r\n", 1)[0].split(" ")
        credentials = base64.b64encode(f"{self._user}:{self._password}".encode()).decode()
        if self._user and f"Proxy-Authorization: Basic {credentials}" not in head:
            writer.write(
                b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
            )
            return
        parts = urlsplit(where if "://" in where else f"//{where}")
        self.asked.append(f"{parts.hostname}:{parts.port}")
        if self._refuses:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            return
        first = b""
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            line = f"{method} {parts.path} {version}\r\n"
            first = (line + head.split("\r\n", 1)[1]).encode("latin-1")
        await self._forward(reader, writer, (str(parts.hostname), parts.port or 80), first)

    async def _socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        methods = await reader.readexactly((await reader.readexactly(2))[1])
        wanted = 2 if self._user else 0
        writer.write(bytes([5, wanted if wanted in methods else 255]))
        if wanted == 2 and wanted in methods:
            user = await self._counted(reader, skip=1)
            right = (user, await self._counted(reader)) == (self._user, self._password)
            writer.write(bytes([1, 0 if right else 1]))
            if not right:
                return
        kind = (await reader.readexactly(4))[3]
        host = await self._counted(reader) if kind == 3 else await self._address(reader, kind)
        port = int.from_bytes(await reader.readexactly(2))
        self.asked.append(f"{host}:{port}")
        writer.write(bytes([5, 5 if self._refuses else 0, 0, 1, 0, 0, 0, 0, 0, 0]))
        if not self._refuses:
            await self._forward(reader, writer, (host, port), b"")

    @staticmethod
    async def _counted(reader: asyncio.StreamReader, skip: int = 0) -> str:
        await reader.readexactly(skip)
        length = (await reader.readexactly(1))[0]
        return (await reader.readexactly(length)).decode()

    @staticmethod
    async def _address(reader: asyncio.StreamReader, kind: int) -> str:
        return str(ipaddress.ip_address(await reader.readexactly(4 if kind == 1 else 16)))

    async def _forward(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        target: tuple[str, int],
        first: bytes,
    ) -> None:
        far_reader, far_writer = await asyncio.open_connection(*target)
        self._open.add(far_writer)
        far_writer.write(first)
        await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()
