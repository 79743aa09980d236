"""The fake Bot API by itself: its rules, and its life as a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from telegram import Bot
from telegram.error import BadRequest, Conflict

from tests.fakes.telegram_api import FakeTelegram
from tests.fakes.telegram_world import ANNA

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
async def fake() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram() as server:
        yield server


@pytest.fixture
async def bot(fake: FakeTelegram) -> AsyncIterator[Bot]:
    async with Bot(fake.token, fake.base_url, fake.base_file_url) as made:
        yield made


async def test_updates_come_again_until_a_higher_offset_forgets_them(
    fake: FakeTelegram, bot: Bot
) -> None:
    first, second = fake.say("a"), fake.say("b")
    for _ in range(2):
        assert [u.update_id for u in await bot.get_updates()] == [
            first.update_id,
            second.update_id,
        ]
    [left] = await bot.get_updates(offset=second.update_id)
    assert left.message is not None
    assert left.message.text == "b"
    assert await bot.get_updates(offset=second.update_id + 1) == ()
    assert await bot.get_updates() == ()


async def test_a_held_poll_ends_with_the_first_update(fake: FakeTelegram, bot: Bot) -> None:
    poll = asyncio.create_task(bot.get_updates(timeout=30))
    await fake.wait_for(lambda: fake.queue.offsets)
    fake.say("now")
    async with asyncio.timeout(2):
        assert len(await poll) == 1


async def test_a_second_poller_ends_the_first_with_a_conflict(
    fake: FakeTelegram, bot: Bot
) -> None:
    poll = asyncio.create_task(bot.get_updates(timeout=30))
    await fake.wait_for(lambda: fake.queue.offsets)
    async with Bot(fake.token, fake.base_url) as other:
        await other.get_updates()
    with pytest.raises(Conflict, match="terminated by other getUpdates"):
        await poll


@pytest.mark.parametrize(
    ("text", "entities", "words"),
    [
        ("", [], "text is empty"),
        ("x" * 4097, [], "too long"),
        ("🎉" * 2049, [], "too long"),
        ("abc", [{"type": "bold", "offset": 2, "length": 2}], "can't parse entities"),
        ("🎉", [{"type": "bold", "offset": 1, "length": 1}], "can't parse entities"),
        ("x" * 101, [{"type": "bold", "offset": n, "length": 1} for n in range(101)], "can't"),
    ],
    ids=["empty", "long", "long in units", "beyond", "in a pair", "many"],
)
async def test_a_text_that_telegram_would_not_take_is_refused(
    fake: FakeTelegram, bot: Bot, text: str, entities: list[dict[str, Any]], words: str
) -> None:
    fake.meet(ANNA)
    with pytest.raises(BadRequest, match=f"(?i){words}"):
        await bot.send_message(ANNA.id, text, api_kwargs={"entities": entities})


@contextlib.asynccontextmanager
async def process() -> AsyncIterator[dict[str, Any]]:
    """The fake as a process; yields what it says of itself."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.fakes.telegram_api",
        "--token",
        "77:abc",
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    try:
        async with asyncio.timeout(20):
            yield json.loads(await child.stdout.readline())
    finally:
        child.kill()
        await child.communicate()


async def test_it_runs_as_a_process_and_is_steered_over_http() -> None:
    async with process() as told, aiohttp.ClientSession() as http:
        base = f"http://127.0.0.1:{told['port']}/control"

        async def post(path: str, **body: object) -> Any:
            async with http.post(f"{base}/{path}", json=body) as response:
                assert response.status == 200
                return await response.json()

        async def get(path: str) -> tuple[int, Any]:
            async with http.get(f"{base}/{path}") as response:
                return response.status, await response.json(content_type=None)

        said = await post("say", text="hello", user={"id": 5, "name": "Eve"})
        async with Bot(told["token"], told["base_url"], told["base_file_url"]) as bot:
            [update] = await bot.get_updates()
            assert update.update_id == said["update_id"]
            await post("fault", method="sendMessage", kind="status", code=400, description="no")
            with pytest.raises(BadRequest):
                await bot.send_message(said["chat"], "hi")
            await bot.send_message(said["chat"], "hi")
        status, [shown] = await get(f"sent?chat={said['chat']}&count=1")
        assert (status, shown["text"], shown["by_bot"]) == (200, "hi", True)
        status, _ = await get(f"sent?chat={said['chat']}&count=2&timeout=0.05")
        assert status == 408
        _, state = await get("state")
        assert state["calls"]["sendmessage"] == 2
        assert state["pending"] == 1
