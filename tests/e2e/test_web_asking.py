"""The whole bot asks in the page, across restarts, and goes on with what a person answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.fakes.openai_replies import calls, text
from tests.fakes.web_eyes import OFFLINE, chromium, looking
from tests.fakes.web_rig import WebBot, web_bot

pytestmark = pytest.mark.asyncio(loop_scope="module")

OPEN = ".message.asks.open"
DECIDED = ".message.asks.decided"
PUSH = "git push --force origin main"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    """One Chromium for all tests here; each has a profile of its own."""
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="module")
async def bot(tmp_path: Path) -> AsyncIterator[WebBot]:
    """The whole bot on a fake model."""
    async with web_bot(tmp_path / "data") as bot:
        yield bot


async def test_a_command_is_approved_in_the_page_and_the_work_goes_on(
    bot: WebBot, browser: Browser
) -> None:
    bot.models.script("main", calls(("run", {"command": PUSH})), text("Pushed, or not."))
    async with looking(browser, bot) as eyes:
        page = eyes.page
        await eyes.say("push it")
        await expect(page.locator(OPEN)).to_contain_text(PUSH)
        await expect(page.locator("#asked-toggle")).to_have_text("1 waits for you")
        await page.locator(OPEN).get_by_text("Approve", exact=True).click()
        await eyes.sees("Pushed, or not.", "#log")
        await expect(page.locator(DECIDED)).to_contain_text("✓ E1 approved by You")
        await expect(page.locator("#log .buttons")).to_have_count(0)
        assert await eyes.texts(".you .body") == ["push it"]
        await page.locator("#asked-toggle").click()
        await page.locator("#asked summary").click()
        trail = page.locator("#asked .trail li span")
        happened = ["asked by You", "card shown", "answered by You", "the work was told"]
        await expect(trail).to_have_text(happened)
        assert not eyes.complaints


async def test_an_open_card_is_answered_after_a_restart_and_stays_decided_after_the_next(
    bot: WebBot, browser: Browser
) -> None:
    bot.models.script("main", calls(("run", {"command": PUSH})), text("I left it."))
    async with looking(browser, bot) as eyes:
        page = eyes.page
        await eyes.say("push it")
        await expect(page.locator(f"{OPEN} .buttons button")).to_have_count(3)
        await bot.restart()
        await page.reload()
        await expect(page.locator(f"{OPEN} .buttons button")).to_have_text(["Approve", "Deny"])
        await page.locator(OPEN).get_by_text("Deny", exact=True).click()
        await eyes.sees("I left it.", "#log")
        await expect(page.locator(DECIDED)).to_contain_text("✗ E1 denied by You")
        before = await eyes.texts(f"{DECIDED} .body")
        await bot.restart()
        await page.reload()
        await expect(page.locator(DECIDED)).to_have_count(1)
        assert await eyes.texts(f"{DECIDED} .body") == before
        await expect(page.locator("#log .buttons")).to_have_count(0)
        await expect(page.locator("#asked-toggle")).to_have_text("Questions")
        assert not [said for said in eyes.complaints if OFFLINE not in said]


async def test_an_answer_in_words_reaches_its_question_past_newer_messages(
    bot: WebBot, browser: Browser
) -> None:
    question = calls(("ask", {"question": "Which day?", "kind": "text"}))
    bot.models.script("main", question, text("Monday it is."))
    async with looking(browser, bot) as eyes:
        page = eyes.page
        await eyes.say("plan it")
        await expect(page.locator(OPEN)).to_contain_text("Which day?")
        await eyes.say("/whoami")
        await eyes.sees("You are", "#log")
        await page.locator(OPEN).get_by_text("Answer in words").click()
        await page.keyboard.type("Monday")
        await page.keyboard.press("Enter")
        await eyes.sees("Monday it is.", "#log")
        await expect(page.locator(DECIDED)).to_contain_text("✓ E1 answered by You")
        assert not eyes.complaints
