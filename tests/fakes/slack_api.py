"""A fake Slack that behaves: HTTP and WebSockets that the real slack-bolt and slack_sdk talk to.

In a test, inside its loop:

    async with FakeSlack() as fake:
        platform = SlackPlatform(quick(fake), …)
        message = fake.say("write tests")                  # Anna, in her direct messages
        [answer] = await fake.sent(fake.home, count=1)     # the app's messages there
        envelope = fake.press(answer, "Pause")             # a button by its label
        await fake.wait_for(lambda: envelope.acked)

People speak through `say`, `mention`, `edit`, `upload`, `command` and `press`; `delivery` is how
it reaches the app (`deaf`, `cut`, `refresh`, `again`; HTTP once `url` is set). `calls` is every
call in order; `fault("chat.postMessage", Lost())` makes the next one fail.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from aiohttp import web

from tests.fakes.slack_delivery import Delivery
from tests.fakes.slack_faults import (
    Fault,
    FaultPlan,
    Html,
    Lost,
    No,
    Reset,
    Stall,
    Status,
    TooMany,
)
from tests.fakes.slack_methods import METHODS, Refusal
from tests.fakes.slack_people import Populace
from tests.fakes.slack_world import ANNA, Channel, Obj, Seen, StoredFile, World

__all__ = ["Call", "FakeSlack"]

BOT_TOKEN = "xoxb-1111-fake-bot-secret"
APP_TOKEN = "xapp-1-fake-app-secret"
SIGNING_SECRET = "0123456789abcdef-fake-signing"
LOGIN_PAGE = "<!DOCTYPE html><html><title>Login</title></html>"
MAX_REQUEST = 256 * 1024 * 1024

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it came, `outcome` "ok" or what it met."""

    method: str
    params: Obj
    at: float
    outcome: str


class FakeSlack(Populace):
    """The server with one app in one workspace. `async with` starts it on a free port."""

    def __init__(self, *, port: int = 0) -> None:
        self.bot_token, self.app_token = BOT_TOKEN, APP_TOKEN
        self.world = World()
        self.home = self.world.direct(ANNA)
        self.calls: deque[Call] = deque(maxlen=100_000)
        self.port = port
        self.public_port = 0
        """What addresses that are given out name, where it is not `port`."""
        self.delivery = Delivery(self.changed)
        self.delivery.signing_secret = SIGNING_SECRET
        self._faults = FaultPlan()
        self._waiters: set[asyncio.Future[None]] = set()
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=MAX_REQUEST)
        app.router.add_route("*", "/api/{method}", self._serve)
        app.router.add_get("/socket", self.delivery.serve)
        app.router.add_post("/upload/{file}", self._take_upload)
        app.router.add_get("/files-pri/{file}/{name}", self._give_file)
        app.router.add_get("/login", self._login)
        app.router.add_post("/respond/{name}", self._respond)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        if not self.port:
            self.port = int(self._runner.addresses[0][1])
        self.delivery.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.delivery.stop()
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def base_url(self) -> str:
        """For `platforms.slack.base_url`."""
        return f"{self._root}/api/"

    @property
    def _root(self) -> str:
        return f"http://127.0.0.1:{self.public_port or self.port}"

    def response_url(self, name: str) -> str:
        """See `Populace.response_url`."""
        return f"{self._root}/respond/{name}"

    # What a test plans and sees

    def fault(
        self,
        method: str,
        fault: Fault,
        *,
        times: int = 1,
        channel: Channel | None = None,
        spared: int = 0,
    ) -> None:
        """Let the next `times` calls of a method ("*": any) fail, to `channel` if given, after
        `spared` ones that do not."""
        place = channel.id if channel else None
        self._faults.add(method, fault, times=times, channel=place, spared=spared)

    def called(self, method: str) -> list[Call]:
        """The calls of one method."""
        return [call for call in self.calls if call.method == method]

    def by_bot(self, place: Channel) -> list[Seen]:
        """The app's messages in a channel and its threads, as shown now."""
        return [seen for seen in place.messages.values() if seen.by_bot]

    async def sent(self, place: Channel, count: int = 1, within_s: float = 5.0) -> list[Seen]:
        """The app's messages in a channel, once there are `count` of them."""

        def enough() -> list[Seen] | None:
            found = self.by_bot(place)
            return found if len(found) >= count else None

        return await self.wait_for(enough, within_s)

    async def wait_for(self, predicate: Callable[[], T | None], within_s: float = 5.0) -> T:
        """The predicate's first true value; asked anew after each change."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while not (value := predicate()):
                    waiter = asyncio.get_running_loop().create_future()
                    self._waiters.add(waiter)
                    try:
                        await waiter
                    finally:
                        self._waiters.discard(waiter)
                return value
        last = [f"{c.method} {c.params} -> {c.outcome}" for c in list(self.calls)[-8:]]
        raise AssertionError(f"not seen within {within_s} s; last calls:\n" + "\n".join(last))

    async def opened(self, count: int) -> None:
        """Returns when that many sockets have been opened since the start."""
        await self.wait_for(lambda: self.delivery.opened >= count)

    def changed(self) -> None:
        """Ask every waiting predicate again."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    # The Web API

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        params = await _parameters(request)
        channel = params.get("channel") or params.get("channel_id")
        fault = self._faults.take(method, channel)
        if fault is not None and (early := await self._meet(fault, method, params, request)):
            return early
        try:
            body: Obj = {"ok": True, **self._handle(method, params, request)}
            outcome = "ok"
        except Refusal as refusal:
            body, outcome = {"ok": False, "error": refusal.code, **refusal.more}, refusal.code
        self._record(method, params, outcome)
        return _cut(request) if isinstance(fault, Lost) else web.json_response(body)

    def _handle(self, method: str, params: Obj, request: web.Request) -> Obj:
        wanted = self.app_token if method == "apps.connections.open" else self.bot_token
        if request.headers.get("Authorization") != f"Bearer {wanted}":
            raise Refusal("invalid_auth")
        match method:
            case "apps.connections.open":
                return {"url": f"ws://127.0.0.1:{self.public_port or self.port}/socket?ticket=1"}
            case "files.getUploadURLExternal":
                file = self.world.keep(str(params["filename"]))
                return {"upload_url": f"{self._root}/upload/{file.id}", "file_id": file.id}
            case "files.info":
                return {"file": self._file_info(str(params.get("file")))}
            case name if name in METHODS:
                return METHODS[name](self.world, params)
            case _:
                raise Refusal("unknown_method")

    def _file_info(self, number: str) -> Obj:
        file = self.world.files.get(number)
        if file is None:
            raise Refusal("file_not_found")
        url = f"{self._root}/files-pri/{file.id}/{file.name}"
        if file.mode == "external":
            url = f"https://elsewhere.example/{file.name}"
        return {"id": file.id, "name": file.name, "url_private": url, "mimetype": file.mime}

    async def _meet(
        self, fault: Fault, method: str, params: Obj, request: web.Request
    ) -> web.StreamResponse | None:
        """What comes instead of handling the call, None where it is handled."""
        match fault:
            case Lost():
                return None
            case Stall(until):
                await until.wait()
                return None
            case Reset():
                answer: web.StreamResponse = _cut(request)
            case Html(kind):
                answer = web.Response(text="<html>Welcome to the hotel</html>", content_type=kind)
            case TooMany(seconds):
                headers = {"Retry-After": str(seconds)}
                body = {"ok": False, "error": "ratelimited"}
                answer = web.json_response(body, status=429, headers=headers)
            case No(code):
                answer = web.json_response({"ok": False, "error": code, "needed": "files:read"})
            case Status(code):
                answer = web.Response(status=code, text="oops")
        self._record(method, params, repr(fault))
        return answer

    def _record(self, method: str, params: Obj, outcome: str) -> None:
        self.calls.append(Call(method, params, time.monotonic(), outcome))
        self.changed()

    # Files and answers

    async def _take_upload(self, request: web.Request) -> web.StreamResponse:
        fault = self._faults.take("upload", None)
        if fault is not None and (early := await self._meet(fault, "upload", {}, request)):
            return early
        file = self.world.files[request.match_info["file"]]
        file.content = await request.read()
        self._record("upload", {"file": file.id}, "ok")
        return web.Response(text=f"OK - {len(file.content)}")

    async def _give_file(self, request: web.Request) -> web.StreamResponse:
        file: StoredFile = self.world.files[request.match_info["file"]]
        fault = self._faults.take("file", None)
        if fault is not None and (early := await self._meet(fault, "file", {}, request)):
            return early
        self._record("file", {"file": file.id}, "ok")
        if request.headers.get("Authorization") != f"Bearer {self.bot_token}":
            raise web.HTTPFound("/login")
        return web.Response(body=file.content, content_type=file.mime)

    async def _login(self, _: web.Request) -> web.Response:
        return web.Response(text=LOGIN_PAGE, content_type="text/html")

    async def _respond(self, request: web.Request) -> web.Response:
        self.world.ephemerals.append((request.match_info["name"], await request.json()))
        self.changed()
        return web.Response(text="ok")


async def _parameters(request: web.Request) -> Obj:
    if request.content_type == "application/json":
        body: Obj = await request.json()
        return body
    return {key: _value(value) for key, value in {**request.query, **await request.post()}.items()}


def _value(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) and value[:1] in {"[", "{"} else value


def _cut(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
