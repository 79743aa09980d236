"""The front before a native server that behaves, through the `openai` SDK over loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import aiohttp
import openai
import pytest
from aiohttp import web
from openai.types.chat import ChatCompletionFunctionToolParam

from adapters.local_model.front import Front

LS = '{"name": "run", "arguments": {"command": "ls"}}'
RUN: ChatCompletionFunctionToolParam = {
    "type": "function",
    "function": {"name": "run", "parameters": {"type": "object"}},
}


class FakeNative:
    """Says `text` word by word; holds a reply open when told to, until its client is gone."""

    def __init__(self) -> None:
        self.text = "All done."
        self.endless = False
        self.left = asyncio.Event()
        self.last: dict[str, object] = {}

    def application(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._complete)
        return app

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        self.last = await request.json()
        if request.headers.get("Authorization") != "Bearer key":
            return web.json_response({"error": {"message": "no"}}, status=401)
        if not self.last.get("stream"):
            message = {"role": "assistant", "content": self.text}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            return web.json_response({**self._head("chat.completion"), "choices": [choice]})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for at in range(0, len(self.text), 5):
            await response.write(self._event({"content": self.text[at : at + 5]}, None))
        if self.endless:
            try:
                await asyncio.Event().wait()
            finally:
                self.left.set()
        await response.write(self._event({}, "stop") + b"data: [DONE]\n\n")
        return response

    def _event(self, delta: dict[str, str], finish: str | None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk = {**self._head("chat.completion.chunk"), "choices": [choice]}
        return f"data: {json.dumps(chunk)}\n\n".encode()

    @staticmethod
    def _head(kind: str) -> dict[str, object]:
        return {"id": "r", "object": kind, "created": 1, "model": "m"}


async def serve(app: web.Application) -> tuple[web.AppRunner, str]:
    runner = web.AppRunner(app, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}"


@pytest.fixture
def native() -> FakeNative:
    return FakeNative()


@pytest.fixture
async def api(native: FakeNative) -> AsyncIterator[openai.AsyncOpenAI]:
    behind, upstream = await serve(native.application())
    async with aiohttp.ClientSession(upstream, headers={"Authorization": "Bearer key"}) as session:
        front, url = await serve(Front(session, "key", lambda schema: f"G{schema}").application())
        async with openai.AsyncOpenAI(
            base_url=f"{url}/v1", api_key="key", max_retries=0, timeout=10
        ) as client:
            yield client
        await front.cleanup()
    await behind.cleanup()


async def test_a_call_written_as_text_streams_as_a_tool_call(
    api: openai.AsyncOpenAI, native: FakeNative
) -> None:
    native.text = LS
    stream = await api.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "go"}], tools=[RUN], stream=True
    )
    choices = [chunk.choices[0] async for chunk in stream]
    calls = [call for choice in choices for call in choice.delta.tool_calls or []]
    assert [(c.index, c.function.name) for c in calls if c.function] == [(0, "run")]
    assert not any(choice.delta.content for choice in choices)
    assert choices[-1].finish_reason == "tool_calls"


async def test_a_call_written_as_text_comes_back_as_a_tool_call(
    api: openai.AsyncOpenAI, native: FakeNative
) -> None:
    native.text = LS
    reply = await api.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "go"}], tools=[RUN]
    )
    assert reply.choices[0].message.tool_calls is not None
    assert reply.choices[0].finish_reason == "tool_calls"


async def test_text_is_left_alone_where_no_functions_are_offered(
    api: openai.AsyncOpenAI, native: FakeNative
) -> None:
    native.text = LS
    stream = await api.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "go"}], stream=True
    )
    assert "".join([chunk.choices[0].delta.content or "" async for chunk in stream]) == LS


async def test_an_odd_format_is_the_clients_fault(api: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="response_format"):
        await api.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": "go"}],
            extra_body={"response_format": {"type": "xml"}},
        )


async def test_a_client_that_hangs_up_ends_its_generation(
    api: openai.AsyncOpenAI, native: FakeNative
) -> None:
    native.endless = True
    stream = await api.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "go"}], stream=True
    )
    await anext(aiter(stream))
    await stream.close()
    async with asyncio.timeout(5):
        await native.left.wait()
