"""What holds for all tests: no example of Hypothesis is timed, since machines are shared, and a
connection that comes in while its server is being closed is closed too."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping

from hypothesis import HealthCheck, settings

settings.register_profile(
    "pursuit", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("pursuit")


class Loop(asyncio.SelectorEventLoop):
    """The default loop without a fault of its: what it has accepted just before the server is
    closed fails an assertion later, and stays open until it is collected, in any test."""

    async def _accept_connection2(
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        conn: socket.socket,
        extra: dict[str, object],
        sslcontext: object = None,
        server: asyncio.Server | None = None,
        *limits: object,
    ) -> None:
        if server is not None and not server.is_serving():
            conn.close()
            return
        await super()._accept_connection2(  # type: ignore[misc]
            protocol_factory, conn, extra, sslcontext, server, *limits
        )


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The loop of every test."""
    return {"asyncio": Loop}
