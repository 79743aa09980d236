"""`pursuit up` with nothing configured but a model: the web chat, from its first start on."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import text
from tests.fakes.web_browser import FakeBrowser
from tests.fakes.web_rig import free_port

PURSUIT = Path(sys.executable).with_name("pursuit")
START_S = 60.0
"""A process takes seconds of CPU to start and to end, of which a busy machine gives few."""


@asynccontextmanager
async def up(data: Path, models: FakeOpenAI, port: int) -> AsyncIterator[Process]:
    """The process, ended as a service manager ends it."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(data.parent),
        "LANG": "C.UTF-8",
        "OPENAI_BASE_URL": models.base_url,
        "OPENAI_API_KEY": "test",
        "PURSUIT_PLATFORMS__WEB__PORT": str(port),
    }
    process = await asyncio.create_subprocess_exec(
        *(str(PURSUIT), "up", "--data", str(data)), env=environ, stdout=PIPE, stderr=PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(START_S):
                await process.communicate()


async def line(process: Process) -> str:
    """The next line of its standard output."""
    assert process.stdout is not None
    async with asyncio.timeout(START_S):
        return (await process.stdout.readline()).decode().rstrip("\n")


async def test_the_first_start_tells_address_and_token_and_the_next_one_the_address(
    tmp_path: Path,
) -> None:
    data, port = tmp_path / "data", free_port()
    base = f"http://127.0.0.1:{port}"
    async with FakeOpenAI() as models:
        models.default("main", text("Hello to you."))
        async with up(data, models, port) as process:
            assert await line(process) == f"Web chat: {base}"
            told = re.fullmatch(r"Token: +(\S{32,})", await line(process))
            assert told is not None
            token = told[1]
            assert str(data / "web_token") in await line(process)
            async with FakeBrowser(base, token) as browser:
                window = await browser.open("chat01")
                browser.say("chat01", "hello")
                await browser.until(
                    lambda: [item.text for item in window.by("bot")] == ["Hello to you."], 20
                )
        assert process.returncode == 0
        assert process.stderr is not None
        assert token.encode() not in await process.stderr.read()
        async with up(data, models, port) as process:
            assert await line(process) == f"Web chat: {base}"
            async with FakeBrowser(base, token) as browser:
                window = await browser.open("chat01")
                assert [item.text for item in window.items.values()] == ["hello", "Hello to you."]
        assert process.stdout is not None
        assert token.encode() not in await process.stdout.read()


async def test_a_second_one_says_which_setting_to_change(tmp_path: Path) -> None:
    port = free_port()
    async with FakeOpenAI() as models, up(tmp_path / "one", models, port) as first:
        await line(first)
        async with up(tmp_path / "two", models, port) as second:
            async with asyncio.timeout(START_S):
                _, said = await second.communicate()
    assert second.returncode == 69
    assert "PURSUIT_PLATFORMS__WEB__PORT" in said.decode()
    assert "Traceback" not in said.decode()
