"""A fake Bot API that behaves: an HTTP server a real Telegram library can talk to.

In a test, inside its loop:

    async with FakeTelegram() as fake:
        platform = TelegramPlatform(TelegramOptions(token=fake.token, base_url=fake.base_url,
                                                    base_file_url=fake.base_file_url), …)
        message = fake.say("/goal write tests")            # Anna, in her private chat
        [answer] = await fake.sent(ANNA.id, count=1)       # the bot's messages there, as shown now
        query = fake.press(answer, "Pause")                # a button by its label
        assert await fake.toast(query) == "⏸ Goal paused."

People speak through `say`, `edit`, `upload`, `press`; groups and topics come from `group` and
`topic`; `migrate`, `block`, `redeliver` and `push` (any update, malformed ones too) do the rest.
`chat(id)` is what a chat shows: every message with its edits, buttons and reaction. `calls` is
every call in order. `sent`, `toast` and `wait_for(predicate)` wait for changes without polling,
and fail with the last calls in the message.

`fault("sendMessage", Lost())` makes the next call fail; see `telegram_faults`. getUpdates holds
the call, forgets updates below the offset, and gives the older of two pollers a 409; after
setWebhook updates are POSTed in order, again and again until the answer is a 2xx. A wrong token
gets 401, a malformed one 404.

As a process of its own, for kill -9 and benchmarks (`/control/…` is in `telegram_control`):

    python -m tests.fakes.telegram_api --port 8081 --token 42:secret

It prints one JSON line with its URLs when it listens.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self, TypeVar

from aiohttp import web

from tests.fakes.telegram_control import add_control
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
from tests.fakes.telegram_methods import METHODS
from tests.fakes.telegram_people import Populace
from tests.fakes.telegram_updates import UpdateQueue
from tests.fakes.telegram_wire import parameters
from tests.fakes.telegram_world import Obj, Person, Refusal, Seen, World

__all__ = ["Call", "FakeTelegram"]

TOKEN = "4242:fake-secret-AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"
MAX_REQUEST = 64 * 1024 * 1024
KEPT_CALLS = 200_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it came; `method` is spelled as in the URL, `outcome` "ok" or the refusal."""

    method: str
    params: Obj
    at: float
    outcome: str


class FakeTelegram(Populace):
    """The server with one bot. `async with` starts and stops it on a free loopback port."""

    def __init__(
        self, token: str = TOKEN, *, username: str = "pursuit_bot", port: int = 0
    ) -> None:
        self.token = token
        self.bot = Person(int(token.partition(":")[0]), "Pursuit", username, is_bot=True)
        self.world = World(self.bot)
        self.calls: deque[Call] = deque(maxlen=KEPT_CALLS)
        self.counts: Counter[str] = Counter()
        """Calls by method."""
        self.unsupported: set[str] = set()
        """Methods (lower case) that this server is too old for: they get 404."""
        self.port = port
        self._faults = FaultPlan()
        self._waiters: set[asyncio.Future[None]] = set()
        self._runner: web.AppRunner | None = None
        self.queue = UpdateQueue(self.world, self.changed)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=MAX_REQUEST)
        app.router.add_route("*", "/bot{token:[^/]+}/{method}", self._serve)
        app.router.add_get("/file/bot{token:[^/]+}/{path:.+}", self._serve_file)
        add_control(app, self)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        if not self.port:
            self.port = int(self._runner.addresses[0][1])
        self.queue.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.queue.stop()
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def base_url(self) -> str:
        """For `platforms.telegram.base_url`."""
        return f"http://127.0.0.1:{self.port}/bot"

    @property
    def base_file_url(self) -> str:
        """For `platforms.telegram.base_file_url`."""
        return f"http://127.0.0.1:{self.port}/file/bot"

    # What a test plans and sees

    def fault(self, method: str, fault: Fault, *, times: int = 1, chat: int | None = None) -> None:
        """Let the next `times` calls of a method ("*": any) fail, to `chat` if given."""
        self._faults.add(method.lower(), fault, times=times, chat=chat)

    def clear_faults(self) -> None:
        """Nothing goes wrong any more."""
        self._faults.clear()

    def called(self, method: str, chat: int | None = None) -> list[Call]:
        """The calls of one method, to one chat if given."""
        return [
            call
            for call in self.calls
            if call.method.lower() == method.lower()
            and (chat is None or call.params.get("chat_id") == chat)
        ]

    async def sent(self, chat: int, count: int = 1, within_s: float = 5.0) -> list[Seen]:
        """The bot's messages in a chat as shown now, once there are `count` of them."""

        def enough() -> list[Seen] | None:
            found = self.by_bot(chat)
            return found if len(found) >= count else None

        return await self.wait_for(enough, within_s)

    async def toast(self, query: str, within_s: float = 5.0) -> str:
        """The text that answered a press, "" for none."""
        await self.wait_for(lambda: self.world.queries[query] is not None, within_s)
        return self.world.queries[query] or ""

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

    def changed(self) -> None:
        """Ask every waiting predicate again."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    # The server

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if (refused := self._door(request)) is not None:
            return refused
        method = request.match_info["method"]
        params = await parameters(request)
        fault = self._faults.take(method.lower(), params.get("chat_id"))
        if fault is not None and (early := await self._meet(fault, method, params, request)):
            return early
        try:
            status, body = 200, {"ok": True, "result": await self._handle(method, params)}
            outcome = "ok"
        except Refusal as refusal:
            status, outcome = refusal.code, refusal.description
            body = {"ok": False, "error_code": status, "description": outcome}
            if refusal.parameters:
                body["parameters"] = refusal.parameters
        self._record(method, params, outcome)
        if isinstance(fault, Lost):
            return _cut(request)
        return web.json_response(body, status=status)

    def _door(self, request: web.Request) -> web.Response | None:
        token = request.match_info["token"]
        if token == self.token:
            return None
        if re.fullmatch(r"\d+:[\w-]+", token):
            return _failure(401, "Unauthorized")
        return _failure(404, "Not Found")

    async def _handle(self, method: str, params: Obj) -> object:
        name = method.lower()
        if name in self.unsupported:
            raise Refusal("Not Found", 404)
        if name in METHODS:
            return METHODS[name](self.world, params)
        return await self.queue.handle(name, params)

    async def _meet(
        self, fault: Fault, method: str, params: Obj, request: web.Request
    ) -> web.StreamResponse | None:
        """The answer of a fault; None where the call is handled all the same."""
        match fault:
            case Lost():
                return None
            case Stall(until):
                await until.wait()
                return None
            case Reset():
                self._record(method, params, "reset")
                return _cut(request)
            case Html():
                self._record(method, params, "html")
                return web.Response(text="<html>Sign in</html>", content_type="text/html")
            case TooMany(seconds):
                text = f"Too Many Requests: retry after {seconds}"
                self._record(method, params, text)
                return _failure(429, text, {"retry_after": seconds})
            case Status(code, text):
                self._record(method, params, text)
                return _failure(code, text)

    def _record(self, method: str, params: Obj, outcome: str) -> None:
        self.calls.append(Call(method, params, time.monotonic(), outcome))
        self.counts[method.lower()] += 1
        self.changed()

    async def _serve_file(self, request: web.Request) -> web.StreamResponse:
        if (refused := self._door(request)) is not None:
            return refused
        wanted = request.match_info["path"]
        for path, content in self.world.files.values():
            if path == wanted:
                fault = self._faults.take("file", None)
                if fault is not None and (early := await self._meet(fault, "file", {}, request)):
                    return early
                return web.Response(body=content)
        return _failure(404, "Not Found")


def _failure(code: int, description: str, parameters: Obj | None = None) -> web.Response:
    body: Obj = {"ok": False, "error_code": code, "description": description}
    if parameters:
        body["parameters"] = parameters
    return web.json_response(body, status=code)


def _cut(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def _main() -> None:
    parser = argparse.ArgumentParser(description="A fake Telegram Bot API on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--token", default=TOKEN)
    parser.add_argument("--username", default="pursuit_bot")
    given = parser.parse_args()
    async with FakeTelegram(given.token, username=given.username, port=given.port) as fake:
        ready = {"port": fake.port, "token": fake.token, "base_url": fake.base_url}
        ready |= {"base_file_url": fake.base_file_url}
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_main())
