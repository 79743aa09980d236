"""The pages `/healthz`, `/readyz` and `/metrics`, read by machines that have the token.

It shows no chat and no person. A browser that another site steers gets nothing: the Host must be
ours, and a foreign Origin is refused.
"""

from __future__ import annotations

import hmac
import ipaddress
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from core.errors import UserError
from gateway.access import Door
from gateway.health.vitals import Report, Vitals

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
CLOSE_S = 1.0
BROKEN = (HttpProcessingError, web.RequestPayloadError, ConnectionError)
Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Where to listen, and what a reader must know."""

    host: str
    port: int
    token: str


class HealthPages:
    """Answers requests; knows no socket. `door` is told of readers without the token."""

    def __init__(
        self,
        vitals: Vitals,
        metrics: Callable[[], bytes],
        listening: Listening,
        door: Door | None = None,
    ) -> None:
        self._vitals = vitals
        self._metrics = metrics
        self._listening = listening
        self._door = door

    def application(self) -> web.Application:
        """The pages behind the checks."""
        app = web.Application(middlewares=[self._checked], client_max_size=1024)
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._numbers)
        return app

    async def _healthz(self, _: web.Request) -> web.StreamResponse:
        report = self._vitals.report()
        return _page(report, good=report.well)

    async def _readyz(self, _: web.Request) -> web.StreamResponse:
        report = self._vitals.report()
        return _page(report, good=report.ready)

    async def _numbers(self, _: web.Request) -> web.StreamResponse:
        return web.Response(body=self._metrics(), headers={"Content-Type": CONTENT_TYPE})

    @web.middleware
    async def _checked(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        refusal = self._refusal(request)
        if refusal is not None and refusal.status == 401 and self._door is not None:
            await self._door.refused(request.remote or "")
        answer = refusal if refusal is not None else await handler(request)
        answer.headers["Cache-Control"] = "no-store"
        answer.headers["X-Content-Type-Options"] = "nosniff"
        return answer

    def _refusal(self, request: web.Request) -> web.Response | None:
        if not self._is_ours(request.headers.get("Host", "")):
            return web.Response(status=421, text="This is not the host you asked for.\n")
        origin = request.headers.get("Origin")
        if origin is not None and _netloc(origin) != request.headers.get("Host"):
            return web.Response(status=403, text="Not for pages of other sites.\n")
        kind, _, given = request.headers.get("Authorization", "").partition(" ")
        wanted = self._listening.token.encode()
        if kind.lower() != "bearer" or not hmac.compare_digest(_bytes(given), wanted):
            text = "Send the token: Authorization: Bearer …\n"
            return web.Response(status=401, text=text, headers={"WWW-Authenticate": "Bearer"})
        return None

    def _is_ours(self, host: str) -> bool:
        """A name that another site made point here is refused; an address cannot be such."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in {"localhost", self._listening.host} or _is_address(name)


class ReadableOnly(logging.Filter):
    """Keeps requests that no server can read, or that break off, out of the log: anybody can
    send them, a traceback for each, and the answer says what was wrong."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is of a fault of ours."""
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, BROKEN)


log.addFilter(ReadableOnly())


@asynccontextmanager
async def serving(pages: HealthPages, listening: Listening) -> AsyncIterator[int]:
    """Serve while entered; the port. Raises UserError when it cannot be listened on."""
    runner = web.AppRunner(
        pages.application(), access_log=None, logger=log, shutdown_timeout=CLOSE_S
    )
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, listening.host, listening.port).start()
        except OSError as error:
            raise UserError(
                f"health cannot listen on {listening.host}:{listening.port}: {error.strerror}. "
                "Set health.port to a free one."
            ) from error
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def _page(report: Report, *, good: bool) -> web.Response:
    platforms = {
        p.name.value: {"state": p.state.value, "silent_s": round(p.silent_s), "detail": p.detail}
        for p in report.platforms
    }
    body = {"ok": good, "stopping": report.stopping, "platforms": platforms}
    return web.json_response(body, status=200 if good else 503)


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _bytes(given: str) -> bytes:
    """A header's text as it came: what is no UTF-8 cannot be encoded otherwise."""
    return given.strip().encode("utf-8", "surrogateescape")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
