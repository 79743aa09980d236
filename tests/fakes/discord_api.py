"""A fake Discord that behaves: REST and gateway that the real discord.py talks to.

In a test, inside its loop:

    async with FakeDiscord() as fake:
        platform = DiscordPlatform(DiscordOptions(token=fake.token, api_base=fake.api_base,
                                                  gateway_url=fake.gateway_url), …)
        message = fake.say("/goal write tests")                 # Anna, in her private channel
        [answer] = await fake.sent(fake.direct(fake.anna), 1)   # the bot's messages, as shown
        fake.press(channel, answer.id, "Pause")

Its semantics (permissions, limits, threads, interactions, mentions) are simcord's, with what that
leaves out in `discord_rest`; the gateway is `discord_gateway`, people act through
`discord_people`. `fault("send", Lost())` makes the next call of a kind fail; see
`telegram_faults` for the faults and `discord_rest.Asked.kind` for the kinds.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime as dtm
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from aiohttp import web
from simcord._clock import Clock
from simcord.backend import Backend
from simcord.backend.errors import BackendError

from tests.fakes.discord_gateway import FakeGateway
from tests.fakes.discord_people import CDN, Populace, Shown
from tests.fakes.discord_rest import OPEN_PATHS, Asked, Rest, read
from tests.fakes.telegram_faults import (
    Fault,
    FaultPlan,
    Html,
    Lost,
    Reset,
    Stall,
    Status,
    TooMany,
)

__all__ = ["Call", "FakeDiscord"]

MAX_REQUEST = 64 * 1024 * 1024

T = TypeVar("T")


class RisingClock(Clock):
    """The machine's time; interactions are late after 3 s of it, ids hold it."""

    def now(self) -> dtm.datetime:
        """Now, plus what a test added."""
        return dtm.datetime.now(dtm.UTC) + dtm.timedelta(seconds=self.elapsed)


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it came; `outcome` is "ok" or the refusal."""

    asked: Asked
    outcome: str


class FakeDiscord(Populace):
    """The server with one bot. `async with` starts and stops it on a free loopback port."""

    def __init__(self, *, port: int = 0) -> None:
        self.backend = Backend(clock=RisingClock())
        self.anna = self.backend.make_user("anna", global_name="Anna")
        self.bob = self.backend.make_user("bob", global_name="Bob")
        head = base64.urlsafe_b64encode(str(self.backend.bot_user.id).encode()).decode()
        self.token = f"{head.rstrip('=')}.fake.s3cret-AAHdqTcvCH1vGWJx"
        self.gateway = FakeGateway(self.backend, self.token, self.changed)
        self.rest = Rest(self.backend)
        self.calls: deque[Call] = deque(maxlen=100_000)
        self.port = port
        self._faults = FaultPlan()
        self._waiters: set[asyncio.Future[None]] = set()
        self._runner: web.AppRunner | None = None
        self.backend.subscribers.append(lambda _event, _payload: self.changed())

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=MAX_REQUEST)
        app.router.add_get("/gateway", self.gateway.serve)
        app.router.add_get("/cdn/{path:.+}", self._file)
        app.router.add_route("*", "/api/v10/{path:.+}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = int(self._runner.addresses[0][1])
        self.gateway.url = self.gateway_url
        self.gateway.rewrite = (CDN, f"http://127.0.0.1:{self.port}/cdn")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.gateway.shut()
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def api_base(self) -> str:
        """For `platforms.discord.api_base`."""
        return f"http://127.0.0.1:{self.port}/api/v10"

    @property
    def gateway_url(self) -> str:
        """For `platforms.discord.gateway_url`."""
        return f"ws://127.0.0.1:{self.port}/gateway"

    # What a test plans and sees

    def fault(self, kind: str, fault: Fault, *, times: int = 1, chat: int | None = None) -> None:
        """Let the next `times` calls of a kind ("*": any) fail, in channel `chat` if given."""
        self._faults.add(kind, fault, times=times, chat=chat)

    def calm(self) -> None:
        """Nothing goes wrong any more."""
        self._faults.clear()

    def called(self, kind: str) -> list[Call]:
        """The calls of one kind."""
        return [call for call in self.calls if call.asked.kind == kind]

    async def sent(self, channel: int, count: int = 1, within_s: float = 5.0) -> list[Shown]:
        """The bot's messages in a channel as shown now, once there are `count` of them."""

        def enough() -> list[Shown] | None:
            found = self.shown(channel)
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
        last = [f"{c.asked.method} {c.asked.path} -> {c.outcome}" for c in list(self.calls)[-8:]]
        raise AssertionError(f"not seen within {within_s} s; last calls:\n" + "\n".join(last))

    def changed(self) -> None:
        """Ask every waiting predicate again."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    # The server

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        signed = request.headers.get("Authorization") == f"Bot {self.token}"
        if not (signed or path.startswith(OPEN_PATHS)):
            return self._json({"message": "401: Unauthorized", "code": 0}, 401)
        asked = await read(request)
        fault = self._faults.take(asked.kind, asked.channel)
        if fault is not None and (early := await self._meet(fault, asked, request)) is not None:
            return early
        try:
            body, status, outcome = self.rest.answer(asked), 200, "ok"
        except BackendError as refusal:
            body, status, outcome = refusal.to_json(), refusal.status, str(refusal)
        self._record(asked, outcome)
        if isinstance(fault, Lost):
            return _cut(request)
        return web.Response(status=204) if body is None else self._json(body, status)

    async def _meet(
        self, fault: Fault, asked: Asked, request: web.Request
    ) -> web.StreamResponse | None:
        """The answer of a fault; None where the call is handled all the same."""
        match fault:
            case Lost():
                return None
            case Stall(until):
                await until.wait()
                return None
            case Reset():
                self._record(asked, "reset")
                return _cut(request)
            case Html():
                self._record(asked, "html")
                return web.Response(text="<html>Sign in</html>", content_type="text/html")
            case TooMany(seconds):
                self._record(asked, "429")
                told = {"message": "You are being rate limited.", "retry_after": float(seconds)}
                headers = {"Via": "1.1 google", "Retry-After": str(seconds)}
                return self._json({**told, "global": False}, 429, headers)
            case Status(code, text):
                self._record(asked, text)
                return self._json({"message": text, "code": 0}, code)

    def _json(
        self, body: Any, status: int = 200, headers: dict[str, str] | None = None
    ) -> web.Response:
        """discord.py wants exactly this content type."""
        text = json.dumps(body).replace(*self.gateway.rewrite)
        kind = {"Content-Type": "application/json", **(headers or {})}
        return web.Response(status=status, body=text.encode(), headers=kind)

    def _record(self, asked: Asked, outcome: str) -> None:
        self.calls.append(Call(asked, outcome))
        self.changed()

    async def _file(self, request: web.Request) -> web.StreamResponse:
        content = self.backend.cdn.get(f"{CDN}/{request.match_info['path']}")
        fault = self._faults.take("file", None)
        if content is None or isinstance(fault, Status):
            return web.Response(status=404)
        return web.Response(body=content)


def _cut(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
