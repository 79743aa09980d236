"""The page in its first moments, before the gateway has answered it, and in its last ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from adapters.web.decode import address_of
from tests.fakes.web_eyes import OFFLINE, Eyes, chromium, looking
from tests.fakes.web_served import Served, serving

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHAT = "moments"
FEWEST = """
window.fewest = Infinity;
new MutationObserver(() => {
  window.fewest = Math.min(window.fewest, document.querySelectorAll(".you").length);
}).observe(document.getElementById("log"), { childList: true });
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    """One Chromium for all tests here; each has a profile of its own."""
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="module")
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """The adapter alone, with a chat in which something was said."""
    async with serving(tmp_path) as served:
        served.past.said(address_of(CHAT).key, "earlier")
        yield served


@pytest_asyncio.fixture(loop_scope="module")
async def eyes(served: Served, browser: Browser) -> AsyncIterator[Eyes]:
    """A tab that is logged in and shows that chat."""
    async with looking(browser, served) as eyes:
        await expect(eyes.page.locator(".you .body")).to_have_text(["earlier"])
        yield eyes


async def test_what_is_sent_before_the_chat_is_read_shows_at_once_and_is_sent_once(
    served: Served, eyes: Eyes
) -> None:
    page, said = eyes.page, eyes.page.locator(".you .body")
    served.past.gate.clear()
    served.intake.gate.clear()
    await page.reload()
    await eyes.say("first")
    await eyes.say("second")
    await expect(said).to_have_text(["first", "second"])
    await expect(page.locator(".you .note")).to_have_text(["sending …", "sending …"])
    await page.evaluate(FEWEST)
    served.past.gate.set()
    await expect(said).to_have_text(["earlier", "first", "second"])
    await expect(page.locator(".you .note")).to_have_text(["sending …", "sending …"])
    served.intake.gate.set()
    await served.intake.got(2)
    await expect(page.locator(".you .note")).to_have_count(0)
    await expect(said).to_have_text(["earlier", "first", "second"])
    assert await page.evaluate("fewest") >= 2
    assert served.intake.texts == ["first", "second"]
    assert len(served.intake.attempts) == 2
    assert not eyes.complaints


async def test_what_was_taken_before_the_chat_is_read_stays_on_the_page(
    served: Served, eyes: Eyes
) -> None:
    page, said = eyes.page, eyes.page.locator(".you .body")
    served.past.gate.clear()
    await page.reload()
    await eyes.say("taken")
    await served.intake.got(1)
    await expect(page.locator(".you time")).to_have_count(1)
    await page.evaluate(FEWEST)
    stream = await eyes.hold("**/events?**")
    served.past.gate.set()
    await expect(said).to_have_text(["earlier", "taken"])
    stream.set()
    await expect(page.locator("#link")).to_be_empty()
    assert await page.evaluate("fewest") >= 1
    assert await eyes.texts(".you .body") == ["earlier", "taken"]
    assert served.intake.texts == ["taken"]


async def test_what_was_not_sent_stands_below_what_was_said_after_a_reload(
    served: Served, eyes: Eyes
) -> None:
    page, said = eyes.page, eyes.page.locator(".you .body")
    served.intake.failures = 1_000
    await eyes.say("one")
    await eyes.say("two")
    await expect(page.locator(".meta.failed")).to_contain_text("the disk is full")
    await page.reload()
    await expect(said).to_have_text(["earlier", "one", "two"])
    served.intake.failures = 0
    await served.intake.got(2)
    await expect(page.locator(".you .note, .meta.failed")).to_have_count(0)
    await expect(said).to_have_text(["earlier", "one", "two"])
    assert served.intake.texts == ["one", "two"]


async def test_nothing_can_be_pressed_before_it_works_and_what_is_typed_stays(
    served: Served, eyes: Eyes
) -> None:
    page = eyes.page
    await page.fill("#text", "kept and")
    script = await eyes.hold("**/assets/app.js")
    await page.reload(wait_until="commit")
    await page.fill("#text", "typed early")
    for which in ("#send", "#attach", "#new", "#theme", "#leave"):
        await expect(page.locator(which)).to_be_hidden()
    script.set()
    await expect(page.locator("#text")).to_have_value("kept and\ntyped early")
    await page.click("#send")
    await served.intake.got(1)
    assert served.intake.texts == ["kept and\ntyped early"]
    assert not eyes.complaints


async def test_a_page_whose_first_request_fails_asks_again(eyes: Eyes) -> None:
    page = eyes.page
    await page.route("**/api/start", lambda route: route.abort(), times=1)
    await page.reload()
    await expect(page.locator(".you .body")).to_have_text(["earlier"])
    await page.keyboard.type("/go")
    await expect(page.get_by_role("option", selected=True)).to_contain_text("/goal")
    assert not [said for said in eyes.complaints if OFFLINE not in said]


async def test_a_logout_leads_to_the_bare_login_whatever_is_refused_meanwhile(eyes: Eyes) -> None:
    page = eyes.page
    chats = await eyes.hold("**/api/chats")
    login = await eyes.hold("**/login*")
    async with page.expect_request("**/api/chats"):
        await eyes.say("which changes the list")
    async with page.expect_request("**/login"):
        await page.click("#leave")
    async with page.expect_event(
        "requestfinished", lambda request: request.url.endswith("/api/chats")
    ) as asked:
        chats.set()
    answer = await (await asked.value).response()
    assert answer is not None
    assert answer.status == 401
    login.set()
    await page.wait_for_url("**/login")
    await expect(page.locator("#token")).to_be_focused()


async def test_a_login_that_has_ended_is_left_as_any_other(eyes: Eyes) -> None:
    page = eyes.page
    others = await eyes.hold("**/api/chats")  # would be refused, and lead to the login by itself
    await eyes.context.clear_cookies()
    await page.click("#leave")
    await page.wait_for_url("**/login")
    others.set()
