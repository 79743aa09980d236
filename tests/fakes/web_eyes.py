"""A real Chromium with the page open, and everything that it complains of.

`Eyes.complaints` are the console's errors, exceptions of the page and violations of the content
security policy; a test that causes none on purpose ends with `assert not eyes.complaints`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Route,
    async_playwright,
    expect,
)

CHROMIUM = "/usr/bin/chromium"
WATCH = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""
HIDE = """
Object.defineProperty(document, "hidden", { value: true });
document.dispatchEvent(new Event("visibilitychange"));
"""
PATIENCE_MS = 30_000
OFFLINE = "Failed to load resource"


class Opened(Protocol):
    """What is looked at."""

    base: str
    token: str


@dataclass  # no slots: playwright keeps its handlers' wrappers on the object
class Eyes:
    """One tab, logged in."""

    page: Page
    context: BrowserContext
    complaints: list[str] = field(default_factory=list)

    def hear(self, said: ConsoleMessage) -> None:
        """Note an error of the console."""
        if said.type == "error":
            self.complaints.append(said.text)

    async def say(self, text: str) -> None:
        """Type a message and send it."""
        await self.page.fill("#text", text)
        await self.page.keyboard.press("Enter")

    async def hold(self, where: str) -> asyncio.Event:
        """Requests that match wait on their way to the server until the event is set."""
        go_on = asyncio.Event()

        async def held(route: Route) -> None:
            await go_on.wait()
            await route.continue_()

        await self.page.route(where, held)
        return go_on

    async def hide(self) -> None:
        """Let the page believe that another tab is in front."""
        await self.page.evaluate(HIDE)

    async def sees(self, text: str, within: str = "body") -> None:
        """Wait until the words are there."""
        await self.page.locator(within).get_by_text(text).first.wait_for()

    async def texts(self, which: str) -> list[str]:
        """What messages of a kind read, from top to bottom."""
        return [text.strip() for text in await self.page.locator(which).all_inner_texts()]


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Debian's Chromium, headless."""
    expect.set_options(timeout=PATIENCE_MS)
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def looking(browser: Browser, at: Opened, **how: object) -> AsyncIterator[Eyes]:
    """A tab with the page open; `how` are a context's options."""
    context = await browser.new_context(**{"viewport": {"width": 1100, "height": 760}, **how})  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE_MS)
    await context.add_init_script(WATCH)
    try:
        eyes = await tab(context)
        await eyes.page.goto(at.base)
        await eyes.page.fill("#token", at.token)
        await eyes.page.keyboard.press("Enter")
        await eyes.page.wait_for_selector("body[data-ready]")
        yield eyes
    finally:
        await context.close()


async def tab(context: BrowserContext) -> Eyes:
    """A further tab of the same person."""
    eyes = Eyes(await context.new_page(), context)
    eyes.page.on("console", eyes.hear)
    eyes.page.on("pageerror", lambda error: eyes.complaints.append(str(error)))
    return eyes
