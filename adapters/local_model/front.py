"""The HTTP border of the local model: OpenAI's chat completions before the native server.

Runs in the child process only. It checks the key and forwards; what is rewritten on the way is
`decode`'s matter. A client that hangs up ends its generation, since the slot is the only one.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable

import aiohttp
from aiohttp import web

from adapters.local_model.decode import (
    CallStream,
    JsonObject,
    native_request,
    read_object,
    wants_calls,
    with_call,
)

_MAX_BODY = 16 << 20


class Front:
    """The routes before one native server, reached through `native`; clients show `key`."""

    def __init__(
        self, native: aiohttp.ClientSession, key: str, grammar_of: Callable[[str], str]
    ) -> None:
        self._native = native
        self._key = key
        self._grammar_of = grammar_of

    def application(self) -> web.Application:
        """The aiohttp application with both routes."""
        app = web.Application(client_max_size=_MAX_BODY)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._complete)
        return app

    async def _models(self, request: web.Request) -> web.StreamResponse:
        if not self._admits(request):
            return _fault(401, "the key is not right")
        async with self._native.get("/v1/models") as answer:
            return web.json_response(body=await answer.read(), status=answer.status)

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        if not self._admits(request):
            return _fault(401, "the key is not right")
        try:
            body = read_object(await request.read())
            native = native_request(body, self._grammar_of)
        except (ValueError, RuntimeError) as error:
            return _fault(400, str(error))
        async with self._native.post("/v1/chat/completions", json=native) as answer:
            if answer.status == 200 and body.get("stream"):
                return await _stream(request, answer, calls=wants_calls(body))
            text = await answer.read()
        if answer.status == 200 and wants_calls(body):
            text = json.dumps(with_call(read_object(text))).encode()
        return web.json_response(body=text, status=answer.status)

    def _admits(self, request: web.Request) -> bool:
        shown = request.headers.get("Authorization", "").encode()
        return hmac.compare_digest(shown, f"Bearer {self._key}".encode())


async def _stream(
    request: web.Request, answer: aiohttp.ClientResponse, *, calls: bool
) -> web.StreamResponse:
    response = web.StreamResponse(
        headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
    )
    await response.prepare(request)
    rewriter = CallStream(plain=not calls)
    async for line in answer.content:
        for out in _rewritten(line, rewriter):
            await response.write(out)
    await response.write_eof()
    return response


def _rewritten(line: bytes, rewriter: CallStream) -> list[bytes]:
    """A line of the event stream as it goes on; anything but a chunk is left as it is."""
    data = line.removeprefix(b"data:").strip()
    if data == line.strip() or not data.startswith(b"{"):
        return [line]
    return [_event(chunk) for chunk in rewriter.feed(read_object(data))]


def _event(chunk: JsonObject) -> bytes:
    # The blank line ends the event: one line from the server may become several chunks.
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def _fault(status: int, message: str) -> web.Response:
    error = {"message": message, "type": "invalid_request_error"}
    return web.json_response({"error": error}, status=status)
