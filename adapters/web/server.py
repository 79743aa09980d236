"""The HTTP server of the web chat: listens, serves, and closes within bounds."""

from __future__ import annotations

import errno
import ipaddress
import logging
from collections.abc import Sequence

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from adapters.web.api import MAX_BODY
from adapters.web.guard import Guard, add_headers, middleware
from adapters.web.options import WebOptions
from core.errors import UserError

BROKEN = (HttpProcessingError, web.RequestPayloadError, ConnectionError)

log = logging.getLogger(__name__)


def application(guard: Guard, routes: Sequence[web.RouteDef]) -> web.Application:
    """The routes behind the guard."""
    app = web.Application(middlewares=[middleware(guard)], client_max_size=MAX_BODY)
    app.on_response_prepare.append(add_headers)
    app.add_routes(routes)
    return app


class ReadableOnly(logging.Filter):
    """Keeps requests that no server can read, or that break off, out of the log: anybody can
    send them, a traceback for each, and the answer says what was wrong."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is of a fault of ours."""
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, BROKEN)


log.addFilter(ReadableOnly())


class Listener:
    """A server on one address, started and closed once."""

    def __init__(self, options: WebOptions, app: web.Application) -> None:
        self._options = options
        self._runner = web.AppRunner(
            app,
            access_log=None,
            logger=log,
            shutdown_timeout=options.close_s,
            keepalive_timeout=75.0,
        )

    async def start(self) -> int:
        """Listen; the port. Raises UserError that names the setting to change."""
        options = self._options
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, options.host, options.port).start()
        except OSError as error:
            raise UserError(_cannot_listen(options, error)) from None
        return int(self._runner.addresses[0][1])

    async def close(self) -> None:
        """End what is open."""
        await self._runner.cleanup()


def address(host: str, port: int) -> str:
    """What a person opens."""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return f"http://{host}:{port}"
    if found.is_unspecified:
        return f"http://127.0.0.1:{port}"
    return f"http://[{host}]:{port}" if found.version == 6 else f"http://{host}:{port}"


def _cannot_listen(options: WebOptions, error: OSError) -> str:
    where = f"{options.host}:{options.port}"
    if error.errno == errno.EADDRINUSE:
        return (
            f"The web chat cannot listen on {where}: another program, or another Pursuit, uses "
            f"that port. Stop it, or set {options.port_key} to a free one."
        )
    if error.errno in {errno.EACCES, errno.EPERM}:
        return (
            f"The web chat may not listen on {where}. Set {options.port_key} to a port of 1024 "
            "or more."
        )
    return (
        f"The web chat cannot listen on {where} ({error.strerror or error}). Set "
        f"{options.host_key} to an address of this machine."
    )
