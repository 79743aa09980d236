"""The fake server itself: strict where the real ones are, and usable from another process."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import aiohttp
import pytest

from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import text


async def post(url: str, body: Mapping[str, object]) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.post(url, json=body) as answer:
        return answer.status, await answer.text()


def call(call_id: str, arguments: str = "{}") -> dict[str, object]:
    function = {"name": "run", "arguments": arguments}
    asked = [{"id": call_id, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": asked}


USER = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("messages", "status", "words"),
    [
        ([], 400, "too short"),
        ([USER, call("a")], 400, "did not have response messages: a"),
        ([USER, call("a"), USER], 400, "did not have response messages: a"),
        ([USER, {"role": "tool", "tool_call_id": "b", "content": ""}], 400, "must be a response"),
        ([USER, call("a", '{"c')], 500, "Failed to parse"),
        ([USER, {"role": "assistant", "content": None}], 400, "got null"),
        ([{"role": "robot", "content": ""}], 400, "robot"),
        ([USER, call("a"), {"role": "tool", "tool_call_id": "a", "content": ""}], 200, "ok"),
    ],
)
async def test_a_broken_history_is_refused(
    messages: list[object], status: int, words: str
) -> None:
    async with FakeOpenAI() as fake:
        fake.default("main", text("ok"))
        body = {"model": "fake", "messages": messages}
        got = await post(f"{fake.base_url}/chat/completions", body)
    assert got[0] == status
    assert words in got[1]


async def test_a_role_without_a_script_is_told_so() -> None:
    async with FakeOpenAI(context_tokens=1_000) as fake:
        url = f"{fake.base_url}/chat/completions"
        assert "nothing is scripted" in (await post(url, {"model": "m", "messages": [USER]}))[1]
        long = {"role": "user", "content": "x" * 5_000}
        assert "context_length" in (await post(url, {"model": "m", "messages": [long]}))[1]


@asynccontextmanager
async def process(*arguments: str) -> AsyncIterator[str]:
    """A fake in a process of its own; yields its base URL."""
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.fakes.openai_api", *arguments, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert server.stdout is not None
        yield (await server.stdout.readline()).decode().strip()
    finally:
        server.terminate()
        await server.wait()


async def test_a_server_of_its_own_is_scripted_from_outside() -> None:
    async with process() as base, aiohttp.ClientSession() as session:
        url, control = f"{base}/chat/completions", base.replace("/v1", "/control")
        body = {"model": "fake", "messages": [USER]}
        assert "Done." in (await post(url, body))[1]
        judged = await post(url, body | {"model": "judge"})
        content = json.loads(judged[1])["choices"][0]["message"]["content"]
        assert json.loads(content)["done"] is True
        answers: list[dict[str, object]] = [
            {"kind": "calls", "asked": [["run", {"c": "ls"}]]},
            {"kind": "text", "words": "scripted", "gate": "g"},
            {"kind": "rate_limited", "retry_after": 3},
            {"kind": "overflow", "style": "vllm"},
        ]
        told = await post(f"{control}/script", {"role": "main", "answers": answers})
        assert told[0] == 200
        assert "tool_calls" in (await post(url, body))[1]
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(post(url, body), name="gated")
            await post(f"{control}/open", {"gate": "g"})
        assert "scripted" in waiting.result()[1]
        assert [(await post(url, body))[0] for _ in range(2)] == [429, 400]
        async with session.get(f"{control}/requests?role=main&since=4") as listed:
            assert [seen["body"]["model"] for seen in await listed.json()] == ["fake"]
        async with session.get(f"{control}/state") as state:
            assert (await state.json())["requests"] == 6
        assert (await post(f"{control}/script", {"answers": [{"kind": "x"}]}))[0] == 400
        assert (await post(f"{control}/nonsense", {}))[0] == 404
        assert (await post(f"{control}/reset", {}))[0] == 200
        assert "nothing is scripted" in (await post(url, body))[1]
