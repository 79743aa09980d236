"""A fake OpenAI-compatible server on loopback: scripted, strict, and quick.

It speaks POST /v1/chat/completions (streamed or whole), POST /v1/responses and GET /v1/models,
and refuses what the real ones refuse: broken histories, wrong keys, unknown tools' schemas.

In a test::

    async with FakeOpenAI() as fake:
        fake.script("main", calls(("run", {"command": "ls"})), text("Two files."))
        fake.script("judge", verdict(done=True))
        fake.default("main", lambda seen: text(f"you said {seen.said()}"))
        ...                                     # point base_url at fake.base_url
        await fake.wait_for_requests(2, "main")
        assert fake.of("main")[0].raw           # the bytes of the first request

Every request has a role: one of `openai_seen.ROLES` ("judge", "child", …) when its model's name
has that word, "judge" when it asks for a JSON schema, else "main"; pass `role_of` to decide
otherwise. A role answers from
its script, then from its default (a value or a function of the request); with neither it answers
400, which a bot reports as a permanent failure. The functions of `openai_replies` make replies:
text, calls, verdict, refusal, rate_limited, server_error, html, overflow, null_choices, and the
fields of Answer make them split, interleaved, cut, stalled, broken or late.

Hanging: `text("later", gate="g")` sends nothing before `fake.open("g")`; `gate_after` holds back
the end. `seen.gone` is set once the client of a request has hung up. `context_tokens`, `api_key`
and `refuses` ("response_format", "stream_options", "temperature", "max_tokens") give the server a
window, a key and dislikes.

As a process of its own: `python -m tests.fakes.openai_api --port 0 --script simple` prints its
base URL. Roles then default to "Done." and a verdict of done (`--script none`: nothing), and

    POST /control/script   {"role": "main", "answers": [{"kind": "text", "words": "hi"}, …]}
    POST /control/default  {"role": "main", "answer": {"kind": "calls", "asked": [["run", {}]]}}
    POST /control/open     {"gate": "g"}
    POST /control/reset    {}
    GET  /control/requests[?role=main&since=N]   bodies of the requests, from the Nth on
    GET  /control/state    {"requests": …, "running": …, "gone": …}

set it up; `openai_control.from_json` says how answers are written.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Mapping
from typing import Self

from aiohttp import web

from tests.fakes import openai_wire as wire
from tests.fakes.openai_control import routes
from tests.fakes.openai_replies import (
    Answer,
    Refusal,
    Scripted,
    overflow,
    refusal,
    text,
    verdict,
)
from tests.fakes.openai_rules import complaint
from tests.fakes.openai_seen import Default, Seen, role_of

_STREAM = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}


class FakeOpenAI:
    """The server. Enter it, script it, point a client at `base_url`."""

    def __init__(
        self,
        *,
        port: int = 0,
        api_key: str = "",
        context_tokens: int = 0,
        refuses: Collection[str] = (),
        role_of: Callable[[Mapping[str, object]], str] = role_of,
        keep: int = 10_000,
    ) -> None:
        self.api_key = api_key
        self.context_tokens = context_tokens
        self.refuses = set(refuses)
        self.requests: deque[Seen] = deque(maxlen=keep)
        self.count = 0
        self.running = 0
        self.gone = 0
        self._port = port
        self._role_of = role_of
        self._scripts: dict[str, deque[Scripted]] = defaultdict(deque)
        self._defaults: dict[str, Default] = {}
        self._gates: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._arrived = asyncio.Event()
        self._closing = asyncio.Event()
        self._runner: web.AppRunner | None = None

    # Setting it up

    def script(self, role: str, *answers: Scripted) -> None:
        """Queue answers for a role, each given once."""
        self._scripts[role].extend(answers)

    def default(self, role: str, answer: Default) -> None:
        """What a role answers when its script is spent."""
        self._defaults[role] = answer

    def open(self, gate: str) -> None:
        """Let everything through that waits at a gate, and whatever comes to it later."""
        self._gates[gate].set()

    def reset(self) -> None:
        """Forget scripts, defaults, gates and requests."""
        self._scripts.clear()
        self._defaults.clear()
        self._gates.clear()
        self.requests.clear()
        self.count = self.gone = 0

    # Looking at it

    @property
    def base_url(self) -> str:
        """The address for clients, with /v1."""
        return f"http://127.0.0.1:{self._port}/v1"

    def of(self, role: str | None) -> list[Seen]:
        """The requests of a role, or all, oldest first."""
        return [seen for seen in self.requests if role is None or seen.role == role]

    async def wait_for_requests(
        self, count: int, role: str | None = None, *, within_s: float = 10.0
    ) -> list[Seen]:
        """Wait until so many requests have come, and return them."""
        async with asyncio.timeout(within_s):
            while len(found := self.of(role)) < count:
                self._arrived.clear()
                await self._arrived.wait()
        return found

    # Running it

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 2**20)
        app.add_routes(
            [
                web.post("/v1/chat/completions", self._complete),
                web.post("/v1/responses", self._complete),
                web.get("/v1/models", self._models),
                *routes(self),
            ]
        )
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.5
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port, backlog=1024)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing.set()
        for gate in self._gates.values():
            gate.set()
        if self._runner is not None:
            await self._runner.cleanup()

    # Answering

    async def _complete(self, http: web.Request) -> web.StreamResponse:
        raw = await http.read()
        try:
            body = json.loads(raw)
        except ValueError:
            return _refuse(refusal(400, "We could not parse the JSON body of your request."))
        seen = Seen(self._role_of(body), http.path, raw, body, http.headers)
        self.requests.append(seen)
        self.count += 1
        self._arrived.set()
        answer = self._objection(seen) or self._choose(seen)
        self.running += 1
        try:
            return await self._send(http, seen, answer)
        except (asyncio.CancelledError, ConnectionError):
            if not self._closing.is_set():
                seen.gone.set()
                self.gone += 1
            raise
        finally:
            self.running -= 1

    def _objection(self, seen: Seen) -> Refusal | None:
        if self.api_key and seen.headers.get("Authorization") != f"Bearer {self.api_key}":
            given = seen.headers.get("Authorization", "").removeprefix("Bearer ")
            return refusal(401, f"Incorrect API key provided: {given}.", code="invalid_api_key")
        for name in sorted(self.refuses & seen.body.keys()):
            hint = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
            words = f"Unsupported parameter: '{name}' is not supported with this model.{hint}"
            return refusal(400, words, param=name, code="unsupported_parameter")
        if self.context_tokens and len(seen.raw) // 4 > self.context_tokens:
            return overflow()
        return complaint(seen.body) if seen.path.endswith("completions") else None

    def _choose(self, seen: Seen) -> Scripted:
        if script := self._scripts.get(seen.role):
            return script.popleft()
        default = self._defaults.get(seen.role)
        if default is None:
            return refusal(400, f"nothing is scripted for the role {seen.role!r}")
        return default(seen) if callable(default) else default

    async def _send(self, http: web.Request, seen: Seen, answer: Scripted) -> web.StreamResponse:
        if answer.gate:
            await self._gates[answer.gate].wait()
        if isinstance(answer, Refusal):
            return _refuse(answer)
        if answer.delay_s:
            await asyncio.sleep(answer.delay_s)
        if answer.whole or not seen.body.get("stream"):
            return self._whole(seen, answer)
        body, last = self._rendered(seen, answer)
        if not (answer.fault or answer.gate_after):
            return web.Response(body=body + last, headers=_STREAM)
        return await self._stream(http, answer, body, last)

    def _rendered(self, seen: Seen, answer: Answer) -> tuple[bytes, bytes]:
        model, size = str(seen.body.get("model")), len(seen.raw) // 4
        if seen.path.endswith("responses"):
            return wire.response_stream(answer, model, f"resp_{self.count}", size)
        if answer.calls:
            body, last = wire.chat_stream(answer, model, f"{self.count}")
        else:
            body, last = wire.plain_stream(answer, model)
        if seen.body.get("stream_options") and not answer.silent:
            last += wire.usage_chunk(answer, model, size)
        return body, last + wire.DONE

    def _whole(self, seen: Seen, answer: Answer) -> web.Response:
        model, size = str(seen.body.get("model")), len(seen.raw) // 4
        whole = wire.chat_whole(answer, model, f"{self.count}", size)
        return web.Response(body=whole, content_type="application/json")

    async def _stream(
        self, http: web.Request, answer: Answer, body: bytes, last: bytes
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers=_STREAM)
        await response.prepare(http)
        await response.write(body)
        if answer.gate_after:
            await self._gates[answer.gate_after].wait()
        match answer.fault:
            case "":
                await response.write(last)
            case "stall":
                await self._closing.wait()
            case "drop" if http.transport is not None:
                http.transport.abort()
            case "error":
                await response.write(wire.sse({"error": {"message": answer.error}}) + wire.DONE)
            case "corrupt":
                await response.write(b'data: {"choices": [{"del\n\n' + last)
            case _:
                await response.write(wire.DONE)
        return response

    async def _models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "fake", "object": "model"}]})


def _refuse(answer: Refusal) -> web.Response:
    headers = {"Content-Type": answer.content_type, **answer.headers}
    return web.Response(status=answer.status, text=answer.body, headers=headers)


async def serve(port: int, script: str, delay_s: float) -> None:
    """Run until cancelled; the first line on standard output is the base URL."""
    async with FakeOpenAI(port=port) as fake:
        if script == "simple":
            fake.default("main", text("Done.", delay_s=delay_s))
            fake.default("critic", text('{"verdict": "APPROVE", "reason": "fine"}'))
            fake.default("judge", verdict(done=True, reason="It is done."))
        sys.stdout.write(f"{fake.base_url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="A fake OpenAI-compatible server.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", choices=("simple", "none"), default="simple")
    parser.add_argument("--delay-s", type=float, default=0.0)
    given = parser.parse_args()
    try:
        asyncio.run(serve(given.port, given.script, given.delay_s))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
