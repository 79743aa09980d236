"""Questions to a person in a real Chromium: cards, their buttons, and the list of what waits."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from core.escalations.events import Answered
from core.escalations.record import Approved, Fact, Kind, Label
from core.escalations.token import Act, encode
from core.messages import Message, Press, Refused, RemoteId, Say
from tests.fakes.escalated import command, escalation, secret
from tests.fakes.web_asker import YOU, Asker
from tests.fakes.web_eyes import OFFLINE, Eyes, chromium, looking, tab
from tests.fakes.web_served import Served, serving

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHAT = "asking"
CARD = ".message.asks"
OPEN = ".message.asks.open"
PANEL = "#asked"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    """One Chromium for all tests here; each has a profile of its own."""
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="module")
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """The adapter alone."""
    async with serving(tmp_path) as served:
        yield served


@pytest_asyncio.fixture(loop_scope="module")
async def asker(served: Served) -> AsyncIterator[Asker]:
    """Who asks there."""
    asker = Asker(served, CHAT)
    yield asker
    await asker.done()


@pytest_asyncio.fixture(loop_scope="module")
async def eyes(served: Served, asker: Asker, browser: Browser) -> AsyncIterator[Eyes]:
    """A tab with the chat open, in which nobody finds a fault."""
    async with looking(browser, served) as eyes:
        await eyes.page.goto(f"{served.base}/c/{CHAT}")
        await expect(eyes.page.locator("#welcome")).to_be_visible()
        yield eyes
        assert not [said for said in eyes.complaints if OFFLINE not in said]


def presses(served: Served) -> list[tuple[str, str]]:
    """The command and the message of every press."""
    return [(p.command, p.remote) for p in served.intake.accepted if isinstance(p, Press)]


async def test_a_click_on_a_card_is_one_press_and_the_buttons_go_in_every_tab(
    served: Served, asker: Asker, eyes: Eyes
) -> None:
    page, other = eyes.page, await tab(eyes.context)
    await other.page.goto(page.url)
    await expect(other.page.locator("#welcome")).to_be_visible()
    remote = await asker.ask(command())
    for each in (page, other.page):
        await expect(each.locator(f"{OPEN} .buttons button")).to_have_text(
            ["Approve", "Deny", "Later"]
        )
        await expect(each.locator(OPEN)).to_contain_text("rm -rf /srv/data")
    await page.locator(OPEN).get_by_text("Approve", exact=True).dblclick()
    await expect(page.locator("#toast")).to_contain_text("E7 approved by You")
    for each in (page, other.page):
        await expect(each.locator(f"{CARD}.decided")).to_contain_text("✓ E7 approved by You")
        await expect(each.locator(f"{CARD} .buttons")).to_have_count(0)
    assert presses(served) == [(encode(secret(7), Act.APPROVE), remote)]
    assert await eyes.texts(".you .body") == []
    assert not other.complaints


async def test_the_list_shows_what_waits_and_its_buttons_answer(
    served: Served, asker: Asker, eyes: Eyes
) -> None:
    page = eyes.page
    toggle = page.locator("#asked-toggle")
    await expect(toggle).to_be_hidden()
    card = await asker.ask(escalation(Kind.CHOOSE))
    await asker.ask(command(8))
    await expect(toggle).to_have_text("2 wait for you")
    await expect(page).to_have_title("(2) New chat · Pursuit")
    await toggle.click()
    await expect(page.locator(f"{PANEL} .asked-text")).to_have_text(
        ["rm -rf /srv/data", "Shall I deploy?"]
    )
    await expect(page.locator(f"{PANEL} code").first).to_contain_text("/approve E8")
    await page.locator(PANEL).get_by_text("2. Green").click()
    await expect(page.locator(f"{PANEL} [data-id=E7] .asked-stands")).to_contain_text(
        "✓ E7 answered by You with option 2"
    )
    await expect(page.locator(f"{PANEL} [data-id=E7] .buttons button")).to_have_text(
        ["Show the card"]
    )
    await expect(toggle).to_have_text("1 waits for you")
    await expect(page.locator(f"{CARD}.decided")).to_contain_text("answered by You")
    assert presses(served) == [("/answer E7 2", card)]


async def test_the_list_tells_who_did_what(asker: Asker, eyes: Eyes) -> None:
    page = eyes.page
    await asker.ask(command())
    await page.locator(OPEN).get_by_text("Later", exact=True).click()
    await expect(page.locator("#toast")).to_contain_text("E7 stays open until")
    await page.locator("#asked-toggle").click()
    await page.locator(f"{PANEL} summary").click()
    lines = page.locator(f"{PANEL} .trail li span")
    await expect(lines).to_have_text(["card shown", "no more reminders by You"])
    await page.locator(PANEL).get_by_text("Deny", exact=True).click()
    await expect(lines).to_have_text(["card shown", "no more reminders by You", "answered by You"])
    await expect(page.locator("#asked-toggle")).to_have_text("Questions")


async def test_a_reload_keeps_the_buttons_and_they_work(
    served: Served, asker: Asker, eyes: Eyes
) -> None:
    page = eyes.page
    remote = await asker.ask(command())
    await expect(page.locator(f"{OPEN} .buttons button")).to_have_count(3)
    await page.reload()
    await expect(page.locator("#asked-toggle")).to_have_text("1 waits for you")
    await page.locator(OPEN).get_by_text("Deny", exact=True).click()
    await expect(page.locator(f"{CARD}.decided")).to_contain_text("✗ E7 denied by You")
    await page.reload()
    await expect(page.locator(f"{CARD}.decided")).to_contain_text("✗ E7 denied by You")
    await expect(page.locator("#log .buttons")).to_have_count(0)
    assert presses(served) == [(encode(secret(7), Act.DENY), remote)]


async def test_a_card_that_an_earlier_process_sent_is_answered_by_its_commands(
    served: Served, asker: Asker, eyes: Eyes
) -> None:
    page, old = eyes.page, time.time() - 60
    asker.asked_before(command(), RemoteId("old-card"), old)
    asker.asked_before(escalation(Kind.TEXT, number=8), RemoteId("old-question"), old + 1)
    await page.reload()
    await expect(page.locator(OPEN)).to_have_count(2)
    await page.locator(OPEN).get_by_text("Approve", exact=True).click()
    await expect(page.locator(f"{CARD}.decided")).to_contain_text("✓ E7 approved by You")
    await expect(page.locator(OPEN)).to_have_count(1)
    assert presses(served) == [("/approve E7", "old-card")]


async def test_a_refusal_is_told_and_the_buttons_work_again(
    served: Served, asker: Asker, eyes: Eyes
) -> None:
    page, taking = eyes.page, served.intake.acks
    await asker.ask(command())
    served.intake.acks = lambda _: Refused("You may not answer E7; it takes owners.")
    await page.locator(OPEN).get_by_text("Approve", exact=True).click()
    await expect(page.locator("#toast.wrong")).to_have_text(
        "You may not answer E7; it takes owners."
    )
    served.intake.acks = taking
    await page.locator(OPEN).get_by_text("Approve", exact=True).click()
    await expect(page.locator(f"{CARD}.decided")).to_be_visible()
    assert len(presses(served)) == 2


async def test_a_decision_from_elsewhere_takes_the_buttons_away(asker: Asker, eyes: Eyes) -> None:
    page = eyes.page
    await asker.ask(command())
    await page.locator("#asked-toggle").click()
    await expect(page.locator(f"{PANEL} .waits .buttons button")).to_have_count(3)
    asker.decide(7, Answered(YOU, Approved(), time.time()))
    await expect(page.locator("#log .buttons")).to_have_count(0)
    await expect(page.locator(f"{PANEL} .waits")).to_have_count(0)
    await expect(page).to_have_title("New chat · Pursuit")


async def test_questions_are_answered_by_keyboard_alone(
    served: Served, asker: Asker, eyes: Eyes
) -> None:
    page, keys = eyes.page, eyes.page.keyboard
    await asker.ask(command())
    await asker.ask(escalation(Kind.TEXT, number=8))
    await expect(page.locator("#asked-toggle")).to_be_visible()
    await page.focus("#asked-toggle")
    await keys.press("Enter")
    await expect(page.locator(f"{PANEL} .asked-one")).to_have_count(2)
    while await page.evaluate("document.activeElement.textContent") != "Approve":
        await keys.press("Tab")
    await keys.press("Enter")
    await expect(page.locator(f"{PANEL} .waits")).to_have_count(1)
    await expect(page.locator("#asked-toggle")).to_be_focused()
    while await page.evaluate("document.activeElement.textContent") != "Write an answer":
        await keys.press("Tab")
    await keys.press("Enter")
    await expect(page.locator("#text")).to_be_focused()
    await keys.type("blue, please")
    await keys.press("Enter")
    await served.intake.wait_for(lambda: served.intake.texts)
    assert served.intake.texts == ["/answer E8 blue, please"]
    await page.focus("#asked-toggle")
    await keys.press("Tab")
    await keys.press("Escape")
    await expect(page.locator(PANEL)).to_be_hidden()
    await expect(page.locator("#asked-toggle")).to_be_focused()


async def test_a_typed_token_is_no_press(served: Served, asker: Asker, eyes: Eyes) -> None:
    await asker.ask(command())
    await expect(eyes.page.locator(OPEN)).to_be_visible()
    await eyes.say(encode(secret(7), Act.APPROVE))
    await served.intake.got(1)
    assert served.intake.texts == [encode(secret(7), Act.APPROVE)]
    await expect(eyes.page.locator(f"{OPEN} .buttons")).to_be_visible()


async def test_an_answer_in_words_names_its_card_and_may_be_taken_back(
    served: Served, asker: Asker, eyes: Eyes
) -> None:
    page = eyes.page
    remote = await asker.ask(escalation(Kind.TEXT))
    await served.platform.send(asker.address, Say("By the way: it rains."))
    await page.locator(OPEN).get_by_text("Answer in words").click()
    await expect(page.locator(".chip.replying")).to_contain_text("E7: a question for you")
    await expect(page.locator("#text")).to_be_focused()
    await page.keyboard.type("on Monday")
    await page.keyboard.press("Enter")
    await expect(page.locator(".chip.replying")).to_have_count(0)
    await page.locator(OPEN).get_by_text("Answer in words").click()
    await page.get_by_label("This is no answer").click()
    await eyes.say("hello")
    answer, hello = await served.intake.got(2)
    assert isinstance(answer, Message)
    assert isinstance(hello, Message)
    assert (answer.text, answer.replies_to) == ("on Monday", remote)
    assert "Shall I deploy?" in answer.quoted
    assert (hello.replies_to, hello.quoted) == ("", "")


async def test_another_chat_tells_that_something_waits_here(
    served: Served, asker: Asker, eyes: Eyes
) -> None:
    page = eyes.page
    await eyes.say("deploy it")
    await served.intake.got(1)
    asker.asked_before(command(), RemoteId("old-card"), time.time())
    await page.click("#new")
    served.past.said(asker.address.key, "deploy it")
    await served.platform.send(asker.address, Say("I asked you something."))
    await expect(page.locator(".chats .dot.asks")).to_have_count(1)
    await expect(page).to_have_title("(1) New chat · Pursuit")
    await page.click(".chats >> text=deploy it")
    await expect(page.locator(OPEN)).to_be_visible()


async def test_a_hidden_tab_says_in_its_title_that_something_waits(
    served: Served, asker: Asker, eyes: Eyes
) -> None:
    page = eyes.page
    await page.clock.install()
    await page.reload()
    await expect(page.locator("#welcome")).to_be_visible()
    await eyes.hide()
    await page.clock.fast_forward(31_000)  # its stream is closed by now
    await asker.ask(command())
    await page.clock.fast_forward(60_000)
    await page.clock.fast_forward(1_000)
    await expect(page).to_have_title("(1) New chat · Pursuit")


async def test_a_long_command_is_seen_whole_on_a_phone(served: Served, browser: Browser) -> None:
    phone = {"viewport": {"width": 360, "height": 640}, "has_touch": True, "is_mobile": True}
    asker = Asker(served, CHAT)
    async with looking(browser, served, **phone) as eyes:
        page = eyes.page
        await page.goto(f"{served.base}/c/{CHAT}")
        await asker.ask(escalation(Kind.CHOOSE))
        await asker.ask(command(8, (Fact(Label.COMMAND, "echo " + "verylongword" * 40),)))
        pre = page.locator(f"{OPEN} pre").first
        await expect(page.locator(OPEN)).to_have_count(2)
        await page.locator("#asked-toggle").click()
        await expect(page.locator(f"{PANEL} .asked-one")).to_have_count(2)
        fits = "element => element.scrollWidth <= element.clientWidth"
        for which in (pre, page.locator(PANEL), page.locator("html")):
            assert await which.evaluate(fits)
        for button in await page.locator(f"{PANEL} .buttons button").all():
            box = await button.bounding_box()
            assert box is not None
            assert min(box["width"], box["height"]) >= 32
        assert not eyes.complaints
