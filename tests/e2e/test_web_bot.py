"""The whole bot behind the web chat: what a browser reads back is what it was shown."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest_asyncio

from core.sessions.lane import MAX_WAITING
from tests.fakes.openai_replies import calls, text, verdict
from tests.fakes.web_browser import Window
from tests.fakes.web_rig import TOKEN, WebBot, web_bot

CHAT = "chat01"


@pytest_asyncio.fixture
async def bot(tmp_path: Path) -> AsyncIterator[WebBot]:
    """The whole bot on a fake model."""
    async with web_bot(tmp_path / "data") as bot:
        yield bot


def read(window: Window) -> list[str]:
    return [item.text for item in window.items.values()]


def last(window: Window) -> str:
    return next(reversed(read(window)), "")


async def test_a_chat_reads_the_same_before_and_after_a_restart(bot: WebBot) -> None:
    bot.models.script(
        "main",
        text("one"),
        calls(("run", {"command": "echo hi > a.txt"})),
        calls(("send_file", {"path": "a.txt", "caption": "a file"})),
        text("two"),
    )
    async with bot.browser() as browser:
        window = await browser.open(CHAT)
        for words, answer in (("first", "one"), ("second", "two"), ("/whoami", "You are")):
            browser.say(CHAT, words)
            await browser.until(lambda: last(window).startswith(answer), 20)  # noqa: B023
        before = [(item.what["kind"], item.text, item.content) for item in window.items.values()]
        await bot.stop()
    await bot.start()
    async with bot.browser() as browser:
        window = await browser.open(CHAT)
        after = [(item.what["kind"], item.text, item.content) for item in window.items.values()]
    assert after == before
    assert ("file", "a file", b"hi\n") in after


async def test_a_goals_card_reads_as_the_goal_stands_after_a_restart(bot: WebBot) -> None:
    bot.models.script("main", text("a start"), text("more", gate="never"))
    bot.models.script("judge", verdict(done=False, reason="two lines are missing"))
    async with bot.browser() as browser:
        window = await browser.open(CHAT)
        browser.say(CHAT, "/goal Write a poem")
        await browser.until(lambda: "↻ Continuing toward goal" in last(window), 20)
        browser.say(CHAT, "/stop")
        await browser.until(lambda: "⏹ Stopped." in last(window), 20)
        await bot.stop()
    await bot.start()
    async with bot.browser() as browser:
        window = await browser.open(CHAT)
        [card] = [item.what for item in window.items.values() if item.what["kind"] == "card"]
        assert card["card"] | {"spent": ""} == {
            "goal": "Write a poem",
            "status": "paused",
            "used": 1,
            "most": 20,
            "spent": "",
            "verdict": "two lines are missing",
        }
        assert [button["label"] for button in card["buttons"]] == ["Resume", "Clear"]
        browser.press(CHAT, card["id"], "/goal clear")
        await browser.until(lambda: last(window) == "✗ Goal cleared.", 20)


async def test_a_replaced_goals_card_has_no_buttons_any_more(bot: WebBot) -> None:
    bot.models.default("main", text("done"))
    bot.models.default("judge", verdict(done=True, reason="all there"))
    async with bot.browser() as browser:
        window = await browser.open(CHAT)
        for goal in ("Write a poem", "Write a song"):
            browser.say(CHAT, f"/goal {goal}")
            await browser.until(lambda: "✓ Goal achieved" in last(window), 20)
            browser.say(CHAT, "/whoami")
            await browser.until(lambda: last(window).startswith("You are"), 20)
        await bot.stop()
    await bot.start()
    async with bot.browser() as browser:
        window = await browser.open(CHAT)
        cards = [item.what for item in window.items.values() if item.what["kind"] == "card"]
        assert [card["buttons"] for card in cards] == [[], []]


async def test_a_secret_is_masked_live_and_when_read_back(bot: WebBot) -> None:
    bot.models.script("main", text(f"the token is {TOKEN}, really"))
    async with bot.browser() as browser:
        window = await browser.open(CHAT)
        browser.say(CHAT, "tell me")
        await browser.until(lambda: "really" in last(window), 20)
        assert TOKEN not in last(window)
        await bot.restart()
    async with bot.browser() as browser:
        window = await browser.open(CHAT)
        assert "really" in last(window)
        assert TOKEN not in "".join(read(window))


async def test_many_chats_at_once_each_get_their_own_answer(bot: WebBot) -> None:
    bot.models.default("main", lambda seen: text(f"you said {seen.said()}"))
    chats = [f"manychats{n:02}" for n in range(20)]
    async with bot.browser() as browser:
        windows = {chat: await browser.open(chat) for chat in chats}
        for chat in chats:
            browser.say(chat, f"hello from {chat}")
        await browser.until(lambda: all(len(w.by("bot")) == 1 for w in windows.values()), 30)
        for chat, window in windows.items():
            assert read(window) == [f"hello from {chat}", f"you said hello from {chat}"]
        listed = await browser.get("/api/chats")
        assert {each["chat"] for each in listed["chats"]} == set(chats)


async def test_wrong_tokens_are_one_row_of_the_audit_with_a_count(bot: WebBot) -> None:
    def audited() -> list[tuple[str, str, str, int]]:
        with closing(sqlite3.connect(bot.data / "pursuit.db")) as conn:
            query = "SELECT what, person, detail, times FROM audit WHERE refused = 1"
            return conn.execute(query).fetchall()

    async with bot.browser() as browser:
        for _ in range(7):
            await browser.log_in("a wrong guess")
        assert await browser.log_in() == 303
    await bot.stop()
    row = ("refused login", "127.0.0.1 (login)", "a wrong token", 7)
    assert await asyncio.to_thread(audited) == [row]


async def test_a_full_queue_refuses_a_message_however_often_it_is_sent(bot: WebBot) -> None:
    bot.models.script("main", text("late", gate="never"))
    path, answers = f"/api/chats/{CHAT}/messages", []
    async with bot.browser() as browser:
        window = await browser.open(CHAT)
        browser.say(CHAT, "the one at work")
        await browser.until(lambda: window.activity.get("working"))
        for number in range(MAX_WAITING):
            body = {"id": f"message-{number}", "text": "hi", "files": []}
            assert (await browser.post(path, body))[0] == 200
        for number in range(3):
            body = {"id": f"message-{MAX_WAITING + 5}", "text": f"more {number}", "files": []}
            answers.append(await browser.post(path, body))
    assert [status for status, _ in answers] == [409] * 3
    assert all("was not taken" in told["error"] for _, told in answers)
