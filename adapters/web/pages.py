"""The page itself, its parts, and the way in and out. Serves only what it read at its start."""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl

from aiohttp import web
from jinja2 import Environment, StrictUndefined

from adapters.web.chats import Chats
from adapters.web.guard import CHAT, LOGIN, UNREADABLE, Guard
from adapters.web.login import LOGIN_S, Attempts, Logins, network_of
from adapters.web.options import Door

PAGE = Path(__file__).parent / "page"
TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".html": "text/html",
}
MAX_TOKEN = 1_000
MAX_FIELDS = 20
FORM = "application/x-www-form-urlencoded"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asset:
    """One file of the page."""

    body: bytes
    type: str
    etag: str


def assets(folder: Path = PAGE) -> dict[str, Asset]:
    """All files of the page by name."""
    return {
        path.name: Asset(
            body := path.read_bytes(), TYPES[path.suffix], hashlib.sha256(body).hexdigest()[:20]
        )
        for path in sorted(folder.iterdir())
        if path.suffix in TYPES
    }


class Pages:
    """Handlers of what a browser opens by itself."""

    def __init__(
        self, guard: Guard, logins: Logins, attempts: Attempts, door: Door, chats: Chats
    ) -> None:
        self._guard = guard
        self._logins = logins
        self._attempts = attempts
        self._door = door
        self._chats = chats
        self._assets = assets()
        environment = Environment(autoescape=True, undefined=StrictUndefined)
        self._login_page = environment.from_string(self._assets["login.html"].body.decode())

    def routes(self) -> Sequence[web.RouteDef]:
        """What is served here."""
        return (
            web.get("/", self.begin),
            web.get("/c/{chat}", self.page),
            web.get("/assets/{name}", self.asset),
            web.get(LOGIN, self.show_login),
            web.post(LOGIN, self.log_in),
            web.post("/logout", self.log_out),
        )

    async def begin(self, request: web.Request) -> web.Response:
        """Go on with the chat spoken in last, or begin the first one."""
        return _see(f"/c/{await self._chats.latest() or secrets.token_hex(6)}")

    async def page(self, request: web.Request) -> web.Response:
        """The chat; its address says which, and the page reads that, so that it never has none."""
        if not CHAT.fullmatch(request.path):
            return _see("/")
        return web.Response(
            body=self._assets["index.html"].body, content_type="text/html", charset="utf-8"
        )

    async def asset(self, request: web.Request) -> web.Response:
        """A stylesheet, a module, a picture."""
        found = self._assets.get(request.match_info["name"])
        if found is None or found.type == "text/html":
            raise web.HTTPNotFound
        tag = f'"{found.etag}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("If-None-Match") == tag:
            return web.Response(status=304, headers=headers)
        return web.Response(
            body=found.body, content_type=found.type, charset="utf-8", headers=headers
        )

    async def show_login(self, request: web.Request) -> web.Response:
        """Ask for the token."""
        if self._guard.known(request):
            return _see(_next(request.query.get("next", "")))
        return self._login(_next(request.query.get("next", "")))

    async def log_in(self, request: web.Request) -> web.Response:
        """Check the token; a browser that knows it gets a cookie.

        The right token is let in however many wrong ones came: behind a proxy all come from one
        address, and whoever guesses there must not keep the owner out. No token can be so short
        that this lets it be guessed: `token_of` refuses it.
        """
        form = await _form(request)
        if form is None:
            return self._login("/", UNREADABLE, status=400)
        given, to = form.get("token", "").strip()[:MAX_TOKEN], _next(form.get("next", ""))
        peer = request.remote or ""
        if not self._logins.is_token(given):
            await self._door.refused(network_of(peer))
            return self._wrong(peer, to)
        self._attempts.succeeded(peer)
        try:
            secret = self._logins.open()
        except OSError as error:
            return self._login(to, f"The login cannot be kept: {error.strerror}.", status=503)
        response = _see(to)
        response.set_cookie(
            self._guard.cookie,
            secret,
            max_age=int(LOGIN_S),
            httponly=True,
            samesite="Strict",
            secure=self._guard.is_secure(request),
        )
        return response

    def _wrong(self, peer: str, to: str) -> web.Response:
        wait = self._attempts.wait_s(peer)
        if wait <= 0:
            self._attempts.failed(peer)
            log.warning("a wrong token for the web chat came from %s", peer)
            return self._login(to, "That is not the token.", status=403)
        words = f"Too many wrong tokens. Try again in {wait / 60:.0f} min."
        if wait < 90:
            words = f"Too many wrong tokens. Try again in {wait:.0f} seconds."
        response = self._login(to, words, status=429)
        response.headers["Retry-After"] = str(int(wait) + 1)
        return response

    async def log_out(self, request: web.Request) -> web.Response:
        """End this browser's login."""
        try:
            self._logins.close(self._guard.secret(request))
        except OSError as error:
            raise web.HTTPServiceUnavailable(text=str(error.strerror)) from error
        response = web.json_response({})
        response.del_cookie(self._guard.cookie, httponly=True, samesite="Strict")
        return response

    def _login(self, to: str, words: str = "", *, status: int = 200) -> web.Response:
        text = self._login_page.render(message=words, next=to)
        # With no-referrer a browser posts a form from "null", which could be any site.
        headers = {"Referrer-Policy": "same-origin"}
        return web.Response(text=text, content_type="text/html", status=status, headers=headers)


async def _form(request: web.Request) -> Mapping[str, str] | None:
    """The fields of the login's form, None for anything else.

    Strangers send this: `Request.post` fails on an unknown charset and on broken parts.
    """
    if request.content_type != FORM:
        return None
    text = (await request.read()).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS))
    except ValueError:
        return None


def _next(path: str) -> str:
    """Where to go after the login: a chat, never elsewhere."""
    return path if CHAT.fullmatch(path) else "/"


def _see(path: str) -> web.Response:
    return web.Response(status=303, headers={"Location": path})
