"""The page of the web chat in a real Chromium, with the whole bot or the adapter alone behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from adapters.web.decode import address_of
from core.messages import Button, Message, Principal, RemoteId, Role, Say, SendFile
from core.sessions.conversation import Posted, Told
from tests.fakes.openai_replies import calls, text, verdict
from tests.fakes.web_eyes import OFFLINE, chromium, looking, tab
from tests.fakes.web_rig import WebBot, web_bot
from tests.fakes.web_served import Served, serving

pytestmark = pytest.mark.asyncio(loop_scope="module")

ATTACK = (
    '<img src=x onerror="window.hit=1"> <script>window.hit=1</script> '
    "[x](javascript:window.hit=1) ![p](https://evil.example/p.png)\n\n"
    '```"><img src=x onerror=window.hit=1>\n</code></pre><script>window.hit=1</script>\n```\n\n'
    "| <svg onload=window.hit=1> |\n|---|\n| <iframe srcdoc='<script>parent.hit=1</script>'> |"
)


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


@pytest_asyncio.fixture(loop_scope="module")
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """The adapter alone."""
    async with serving(tmp_path) as served:
        yield served


async def test_a_goal_is_set_watched_paused_and_reached_by_keyboard_alone(
    bot: WebBot, browser: Browser
) -> None:
    bot.models.script(
        "main",
        calls(("run", {"command": "echo river > haiku.txt"}), gate="first"),
        text("I wrote **one** line.", gate="second"),
        text("All three lines are in `haiku.txt`."),
    )
    bot.models.script("judge", verdict(done=True, reason="the file has three lines"))
    async with looking(browser, bot) as eyes:
        page, keys = eyes.page, eyes.page.keyboard
        await expect(page.locator("#text")).to_be_focused()
        await keys.type("/go")
        await expect(page.get_by_role("option", selected=True)).to_contain_text("/goal")
        await keys.press("Tab")
        await keys.type("Write a haiku")
        await keys.press("Enter")
        await expect(page.locator(".message.card .goal-text")).to_have_text("Write a haiku")
        await expect(page.locator("#activity")).to_be_visible()
        bot.models.open("first")
        await eyes.sees("echo river > haiku.txt", "#steps")
        while await page.evaluate("document.activeElement.textContent") != "Pause":
            await keys.press("Shift+Tab")
        await keys.press("Enter")
        await eyes.sees("Goal paused", "#log")
        await expect(page.locator(".card .badge")).to_have_text("paused")
        bot.models.open("second")
        await expect(page.locator(".bot.answer strong")).to_have_text("one")
        await expect(page.locator("#activity")).to_be_hidden()
        while await page.evaluate("document.activeElement.textContent") != "Resume":
            await keys.press("Shift+Tab")
        await keys.press("Enter")
        await eyes.sees("✓ Goal achieved: the file has three lines", "#log")
        await expect(page.locator(".bot.answer")).to_have_count(2)
        assert await eyes.texts(".you .body") == ["/goal Write a haiku"]
        assert not eyes.complaints


async def test_a_reload_and_a_restart_in_mid_turn_lose_and_double_nothing(
    bot: WebBot, browser: Browser
) -> None:
    bot.models.script(
        "main",
        text("First answer."),
        calls(("run", {"command": "echo step"})),
        text("Second answer.", gate="never"),
    )
    bot.models.default("main", text("Second answer, after all."))
    async with looking(browser, bot) as eyes:
        page = eyes.page
        await eyes.say("one")
        await eyes.sees("First answer.", "#log")
        await eyes.say("two")
        await eyes.sees("echo step", "#steps")
        await page.reload()
        await eyes.sees("echo step", "#steps")
        assert await eyes.texts(".you .body") == ["one", "two"]
        await bot.stop()
        await eyes.sees("Reconnecting", "#link")
        await eyes.say("three")
        await expect(page.locator(".meta.failed")).to_contain_text("No connection")
        await bot.start()
        await expect(page.locator(".bot.answer")).to_have_count(3)
        await expect(page.locator("#link")).to_be_empty()
        assert await eyes.texts(".you .body") == ["one", "two", "three"]
        assert [words.split("\n")[0] for words in await eyes.texts(".bot.answer .body")] == [
            "First answer.",
            "Second answer, after all.",
            "Second answer, after all.",
        ]
        await page.reload()
        await expect(page.locator(".bot.answer")).to_have_count(3)
        assert await eyes.texts(".you .body") == ["one", "two", "three"]
        others = [said for said in eyes.complaints if OFFLINE not in said]
        assert not others


async def test_files_go_up_and_come_down(bot: WebBot, browser: Browser, tmp_path: Path) -> None:
    bot.models.script(
        "main",
        calls(("run", {"command": "cp inbox/*plan.txt back.txt && echo done >> back.txt"})),
        calls(("send_file", {"path": "back.txt", "caption": "Here it is."})),
        text("Sent."),
    )
    plan = tmp_path / "my plan.txt"
    plan.write_text("step one\n", encoding="utf-8")
    async with looking(browser, bot) as eyes:
        page = eyes.page
        await page.set_input_files("#pick", plan)
        await expect(page.locator(".chip .file-size")).to_have_text("9 bytes")
        await eyes.say("finish this")
        await eyes.sees("Sent.", "#log")
        await expect(page.locator(".you .file-name")).to_have_text("my plan.txt")
        for which, name, content in (
            (".bot .file", "back.txt", "step one\ndone\n"),
            (".you .file", "my plan.txt", "step one\n"),
        ):
            async with page.expect_download() as download:
                await page.click(which)
            saved = await download.value
            assert saved.suggested_filename == name
            assert await asyncio.to_thread(Path(await saved.path()).read_text) == content
        await eyes.sees("Here it is.", ".bot.file")
        assert not eyes.complaints


async def test_nothing_that_is_said_runs_in_the_page(served: Served, browser: Browser) -> None:
    here = address_of("attacked")
    name = "<img src=x onerror=window.hit=1>.png"
    async with looking(browser, served) as eyes:
        page = eyes.page
        await page.goto(f"{served.base}/c/attacked")
        await eyes.say(ATTACK)
        await served.intake.got(1)
        for what in (
            Say(ATTACK, markdown=True),
            Say(ATTACK, buttons=(Button("<b onclick=window.hit=1>x</b>", "/stop"),)),
            Say(f"⊙ Goal set (20-turn budget): {ATTACK}"),
            SendFile(name, ATTACK, content="<script>window.hit=1</script>"),
        ):
            await served.platform.send(here, what)
        await served.platform.show_progress(here, 1, None, ATTACK)
        await expect(page.locator(".message")).to_have_count(5)
        await eyes.sees("onerror", "#steps")
        for marked in ("[onerror]", "#log script", "#log iframe", "#log svg", "#log b"):
            await expect(page.locator(marked)).to_have_count(0)
        assert await page.locator("#log img").count() == 1  # the file, by a path of ours
        links = await page.locator("#log .prose a").evaluate_all("all => all.map(a => a.href)")
        assert links == ["https://evil.example/p.png"]
        assert await page.evaluate("window.hit") is None
        assert not [said for said in eyes.complaints if OFFLINE not in said]


async def test_what_is_not_saved_is_told_and_may_be_sent_again(
    served: Served, browser: Browser
) -> None:
    async with looking(browser, served) as eyes:
        page = eyes.page
        served.intake.failures = 1_000
        await eyes.say("first")
        await eyes.say("second")
        await expect(page.locator(".meta.failed")).to_contain_text("the disk is full")
        served.intake.failures = 0
        await page.click("text=Try again")
        first, second = await served.intake.got(2)
        assert isinstance(first, Message)
        assert isinstance(second, Message)
        assert [first.text, second.text] == ["first", "second"]
        await expect(page.locator(".meta.failed")).to_have_count(0)
        assert await eyes.texts(".you .body") == ["first", "second"]


async def test_chats_are_listed_switched_and_the_same_in_every_browser(
    bot: WebBot, browser: Browser
) -> None:
    bot.models.default("main", lambda seen: text(f"you said {seen.said()}"))
    async with looking(browser, bot) as eyes, looking(browser, bot) as other:
        page = eyes.page
        await eyes.say("about rivers")
        await eyes.sees("you said about rivers", "#log")
        await page.click("#new")
        await eyes.say("about hills")
        await eyes.sees("you said about hills", "#log")
        await expect(page.locator(".chats a")).to_have_text(["about hills", "about rivers"])
        await page.click(".chats >> text=about rivers")
        await eyes.sees("you said about rivers", "#log")
        await expect(page.locator("#title")).to_have_text("about rivers")
        await page.go_back()
        await eyes.sees("you said about hills", "#log")
        await other.page.reload()
        await expect(other.page.locator(".chats a").first).to_be_visible()
        await other.page.click(".chats >> text=about rivers")
        await other.sees("you said about rivers", "#log")
        twin = await tab(eyes.context)
        await twin.page.goto(other.page.url)
        await twin.say("and lakes")
        await other.sees("you said and lakes", "#log")
        assert await other.texts(".you .body") == ["about rivers", "and lakes"]
        assert not eyes.complaints + other.complaints + twin.complaints


async def test_a_phone_shows_everything_and_nothing_beside_it(
    served: Served, browser: Browser
) -> None:
    phone = {"viewport": {"width": 360, "height": 640}, "has_touch": True, "is_mobile": True}
    long = "verylongword" * 30
    async with looking(browser, served, **phone) as eyes:
        page = eyes.page
        await page.goto(f"{served.base}/c/onphone")
        card = f"⊙ Goal set (20-turn budget): Write {long}\nactive · 3/20 turns · 9 tokens · 5s"
        buttons = (Button("Pause", "/goal pause"), Button("Stop", "/stop"))
        for what in (
            Say(card, buttons=buttons),
            Say(
                f"# {long}\n\n`{long}`\n\n```\n{long}\n```\n\n|a|b|\n|-|-|\n|{long}|x|",
                markdown=True,
            ),
            SendFile(f"{long}.txt", content="x"),
        ):
            await served.platform.send(address_of("onphone"), what)
        await expect(page.locator(".message")).to_have_count(3)
        widths = await page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert widths[0] <= widths[1]
        for which in ("#send", "#attach", "#menu", ".buttons button"):
            box = await page.locator(which).first.bounding_box()
            assert box is not None
            assert min(box["width"], box["height"]) >= 32
        await page.tap("#menu")
        await expect(page.locator("#new")).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(page.locator("#menu")).to_be_focused()
        await expect(page.locator("#side")).not_to_be_in_viewport()
        assert not eyes.complaints


async def test_an_old_chat_is_read_page_by_page(served: Served, browser: Browser) -> None:
    lane = address_of("longtalk").key
    owner = Principal("owner", "You", Role.OWNER)
    for n in range(130):
        said = Told(
            dedupe=f"web:longtalk:number-{n:03}", by=owner, text=f"line {n}", at=float(n + 1)
        )
        answer = Posted(remote=RemoteId(f"b{n}"), what=Say(f"re {n}"), at=n + 1.5)
        served.past.lines[lane] += [said, answer]
    async with looking(browser, served) as eyes:
        page = eyes.page
        await expect(page.locator(".message")).to_have_count(100)
        await expect(page.locator(".message").last).to_be_in_viewport()
        for count in (200, 260):
            await page.click("#earlier")
            await expect(page.locator(".message")).to_have_count(count)
        await expect(page.locator("#earlier")).to_be_hidden()
        assert await eyes.texts(".you .body") == [f"line {n}" for n in range(130)]
        assert not eyes.complaints


async def test_a_logout_is_one(served: Served, browser: Browser) -> None:
    async with looking(browser, served) as eyes:
        await eyes.page.click("#leave")
        await eyes.page.wait_for_url("**/login")
        await eyes.page.goto(f"{served.base}/c/somechat")
        await eyes.page.fill("#token", "wrong")
        await eyes.page.keyboard.press("Enter")
        await expect(eyes.page.locator("#wrong")).to_have_text("That is not the token.")
        await eyes.page.fill("#token", served.token)
        await eyes.page.keyboard.press("Enter")
        await eyes.page.wait_for_url("**/c/somechat")
