"""Gates as a person sees them in the page: while they run, and what became of them."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import expect

from tests.fakes.openai_replies import calls, text, verdict
from tests.fakes.web_eyes import chromium, looking
from tests.fakes.web_rig import web_bot

CHECK = "test -s haiku.txt"
FAILED = f"`{CHECK}` ended with exit code 1"


async def test_a_gate_that_fails_and_passes_is_told_as_it_happens_and_by_the_status(
    tmp_path: Path,
) -> None:
    async with (
        web_bot(tmp_path / "data") as bot,
        chromium() as browser,
        looking(browser, bot) as eyes,
    ):
        bot.models.script(
            "main",
            text("It is done."),
            text("It really is.", gate="second"),
            text("Believe me."),
            calls(("run", {"command": "echo river > haiku.txt"}), gate="next turn"),
            text("Now it is."),
        )
        bot.models.script("judge", verdict(done=True, reason="the file is there"))
        card = eyes.page.locator(".message.card")
        await eyes.say(f"/verify add {CHECK}")
        await eyes.sees(CHECK, ".bot")
        await eyes.say("/goal Write a haiku")
        await eyes.sees(FAILED, "#steps")
        bot.models.open("second")
        await expect(eyes.page.locator(".bot.answer")).to_contain_text(
            f"⚠ Unverified: the verify gate did not pass: {FAILED.replace('`', '')}"
        )
        await expect(card.locator(".verdict")).to_have_text(
            f"Last verdict: the verify gate did not pass: {FAILED}"
        )
        bot.models.open("next turn")
        await eyes.sees("✓ Goal achieved: the file is there", "#log")
        await expect(card.locator(".verdict")).to_have_text("Last verdict: the file is there")
        await eyes.say("/status")
        await eyes.sees(f"[verify] passed: {CHECK}", "#log")
        assert not eyes.complaints
