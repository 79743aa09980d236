"""Who is let through to the page: the right Host, the right Origin, and a login.

A browser that was led here by another site (a name that resolves to this machine, a form that
posts here, a frame) is refused before anything is read.
"""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from adapters.web.login import Logins
from core.errors import TransientError, UserError

SAFE = frozenset({"GET", "HEAD"})
PUBLIC = "/assets/"
LOGIN = "/login"
CHAT = re.compile(r"/c/[a-z0-9]{6,40}")
"""The address of a chat; no other may come into a header."""
UNREADABLE = "The browser sent something that cannot be read; reload the page."
UNSAVED = "Not saved yet: {reason}."
CSP = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types pursuit",
    )
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Guard:
    """Checks every request. `origins` are further addresses that browsers may use."""

    def __init__(self, logins: Logins, port: int, origins: tuple[str, ...]) -> None:
        self._logins = logins
        self.cookie = f"pursuit_{port}"  # cookies do not tell ports apart
        self._origins = frozenset(map(origin_of, origins))
        self._hosts = frozenset(urlsplit(origin).netloc.lower() for origin in self._origins)

    def secret(self, request: web.Request) -> str:
        """The login that a request shows."""
        return request.cookies.get(self.cookie, "")

    def known(self, request: web.Request) -> bool:
        """Whether the request comes from a browser that is logged in."""
        return self._logins.holds(self.secret(request))

    def is_secure(self, request: web.Request) -> bool:
        """Whether the browser speaks TLS, to a proxy in front of us."""
        return request.headers.get("Origin", "").startswith("https://")

    def refusal(self, request: web.Request) -> web.Response | None:
        """Why a request may not be answered; None for one that may."""
        if not self._host_is_ours(request.host):
            return refused(403, "This address is not one of the web chat's; see docs/web.md.")
        if request.method in SAFE:
            site = request.headers.get("Sec-Fetch-Site", "same-origin")
            led = site not in {"same-origin", "none"}
            navigates = request.headers.get("Sec-Fetch-Mode") == "navigate"
            if led and not navigates:
                return refused(403, "Another site may not read this.")
        elif not self._is_same_origin(request):
            return refused(403, "Another site may not do this.")
        return None

    def _host_is_ours(self, host: str) -> bool:
        """Names can be made to resolve to this machine by anybody; plain addresses cannot."""
        if host.lower() in self._hosts:
            return True
        try:
            name = urlsplit(f"//{host}").hostname or ""
            if name == "localhost":
                return True
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _is_same_origin(self, request: web.Request) -> bool:
        origin = request.headers.get("Origin", "").lower()
        return origin == f"http://{request.host.lower()}" or origin in self._origins


def origin_of(url: str) -> str:
    """An address as browsers write it in `Origin`."""
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = "" if parts.port in {None, default} else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def refused(status: int, error: str) -> web.Response:
    """A refusal that the page can show."""
    return web.json_response({"error": error}, status=status)


def unsaved(error: TransientError) -> web.Response:
    """What a person sent is not stored; the page sends it again."""
    return refused(503, UNSAVED.format(reason=str(error).rstrip(".")))


def middleware(guard: Guard) -> Middleware:
    """The guard before every handler."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        refusal = guard.refusal(request)
        if refusal is not None:
            return refusal
        public = request.path == LOGIN or request.path.startswith(PUBLIC)
        if not public and not guard.known(request):
            return _to_login(request)
        try:
            return await handler(request)
        except web.RequestPayloadError:
            return refused(400, UNREADABLE)
        except UserError as error:
            return refused(400, str(error))
        except TransientError as error:
            return unsaved(error)

    return check


def _to_login(request: web.Request) -> web.Response:
    if request.path == "/" or request.path.startswith("/c/"):
        where = f"{LOGIN}?next={request.path}" if CHAT.fullmatch(request.path) else LOGIN
        return web.Response(status=303, headers={"Location": where})
    return refused(401, "Log in first.")


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Put the rules for browsers on every response, streams and errors included."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers.setdefault("Cache-Control", "no-store")
    response.headers["Server"] = "Pursuit"
