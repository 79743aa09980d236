"""systemd's side of `sd_notify`: a datagram socket that remembers what a service told it."""

from __future__ import annotations

import asyncio
import secrets
import socket
from typing import Self


class FakeServiceManager(asyncio.DatagramProtocol):
    """Listens at `address`, a socket without a file. `told` are the datagrams, in order."""

    def __init__(self) -> None:
        self.address = f"@pursuit-test-{secrets.token_hex(8)}"
        self.told: list[dict[str, str]] = []
        self._transport: asyncio.DatagramTransport | None = None
        self._news = asyncio.Event()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(
            lambda: self, local_addr=f"\0{self.address[1:]}", family=socket.AF_UNIX
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._transport is not None:
            self._transport.close()

    def datagram_received(self, data: bytes, addr: object) -> None:
        """A service says something."""
        lines = data.decode().split("\n")
        self.told.append(dict(line.split("=", 1) for line in lines))
        self._news.set()

    def count(self, key: str) -> int:
        """How often a variable was told."""
        return sum(key in message for message in self.told)

    async def hear(self, key: str, times: int = 1, within_s: float = 20.0) -> dict[str, str]:
        """Wait until a variable was told so often; the datagram of that time."""
        async with asyncio.timeout(within_s):
            while self.count(key) < times:
                self._news.clear()
                await self._news.wait()
        return [message for message in self.told if key in message][times - 1]
