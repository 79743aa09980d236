"""The local model's process for real: a small model, the native server, the `openai` SDK."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import openai
import platformdirs
import pytest
import pytest_asyncio

from adapters.local_model.catalogue import TEST_MODEL
from adapters.local_model.fetch import fetch
from adapters.local_model.serve import LocalServer
from core.errors import PermanentError

VERDICT = {
    "type": "object",
    "properties": {"reason": {"type": "string", "maxLength": 40}, "done": {"type": "boolean"}},
    "required": ["reason", "done"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def model() -> Path:
    models = Path(platformdirs.user_cache_dir("pursuit")) / "models"
    return fetch(TEST_MODEL, models, lambda _: None)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(
    model: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[LocalServer]:
    log = tmp_path_factory.mktemp("local") / "server.log"
    async with LocalServer(model, log, context_tokens=2048) as running:
        yield running


def client(server: LocalServer, key: str | None = None) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        base_url=server.base_url, api_key=key or server.api_key, max_retries=0, timeout=60
    )


@pytest.mark.asyncio(loop_scope="module")
async def test_a_completion_streams_through_the_openai_sdk(server: LocalServer) -> None:
    async with client(server) as api:
        stream = await api.chat.completions.create(
            model="local",
            messages=[{"role": "user", "content": "Say hello."}],
            max_tokens=16,
            temperature=0,
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
    texts = [
        c.choices[0].delta.content for c in chunks if c.choices and c.choices[0].delta.content
    ]
    assert len(texts) > 1
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens > 1


@pytest.mark.asyncio(loop_scope="module")
async def test_a_schema_is_kept_even_by_a_model_that_cannot_judge(server: LocalServer) -> None:
    async with client(server) as api:
        reply = await api.chat.completions.create(
            model="local",
            messages=[{"role": "user", "content": "Is the sky blue?"}],
            max_tokens=60,
            temperature=0,
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "verdict", "strict": True, "schema": VERDICT},
            },
        )
    verdict = json.loads(reply.choices[0].message.content or "")
    assert verdict.keys() == {"reason", "done"}


@pytest.mark.asyncio(loop_scope="module")
async def test_nobody_without_the_key_is_served(server: LocalServer) -> None:
    async with client(server, "guess") as api:
        with pytest.raises(openai.AuthenticationError):
            await api.models.list()


@pytest.mark.asyncio(loop_scope="module")
async def test_a_killed_server_comes_back_at_the_same_address(server: LocalServer) -> None:
    address, pid = server.base_url, server.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    async with openai.AsyncOpenAI(
        base_url=address, api_key=server.api_key, max_retries=8, timeout=30
    ) as api:
        await api.models.list()
    assert server.pid not in {pid, None}
    assert server.base_url == address


async def test_closing_ends_the_process(model: Path, tmp_path: Path) -> None:
    async with LocalServer(model, tmp_path / "server.log", context_tokens=512) as server:
        pid = server.pid
        assert pid is not None
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_file_that_is_no_model_is_refused_with_the_log(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"not a model")
    with pytest.raises(PermanentError, match="could not be served"):
        async with LocalServer(broken, tmp_path / "server.log"):
            pass
