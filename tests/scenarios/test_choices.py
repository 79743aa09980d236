"""`/model` and `/workspace` in a running bot, and what `/usage` makes of it."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.openai_replies import calls, text
from tests.scenarios.rig import Bot, running_bot

BIG = {"big": {"provider": "fake", "model": "big", "context_tokens": 100_000}}


def asked(bot: Bot) -> list[object]:
    """The models that were asked for answers, in order."""
    return [request.body["model"] for request in bot.models.of("main")]


async def test_the_next_turn_goes_to_the_chosen_model_with_the_same_prompt(
    tmp_path: Path,
) -> None:
    async with running_bot(tmp_path, models=BIG) as bot:
        bot.models.script("main", text("One.", gate="slow"), text("Two."), text("Three."))
        bot.models.script("main", text("Four."))
        bot.say("who are you?")
        await bot.asked(1)
        bot.say("/model big")
        await bot.heard("✓ This session uses big from the next turn on.")
        bot.models.open("slow")
        await bot.heard("One.")
        bot.say("and now?")
        await bot.heard("Two.")
        first, second = bot.models.of("main")
        assert first.body["tools"] == second.body["tools"]
        assert second.messages()[:2] == first.messages()
        await bot.restart()
        bot.say("and after a restart?")
        await bot.heard("Three.")
        bot.say("/new")
        bot.say("and in a new session?")
        await bot.heard("Four.")
        assert asked(bot) == ["main", "big", "big", "main"]
        bot.say("/usage")
        said = await bot.heard("This session:")
        today = said[-1].partition("Today")[2]
        assert "· big:" in today
        assert "· main:" in today


async def test_a_chosen_model_that_is_gone_gives_way_to_the_configured_one(
    tmp_path: Path,
) -> None:
    async with running_bot(tmp_path, models=BIG) as bot:
        bot.models.script("main", text("I am main."))
        bot.say("/model big")
        await bot.heard("✓ This session uses big")
        await bot.stop()
        left = {name: model for name, model in bot.settings.models.items() if name != "big"}
        bot.settings = bot.settings.model_copy(update={"models": left})
        await bot.start()
        bot.say("who are you?")
        await bot.heard("I am main.")
        bot.say("/model")
        await bot.heard("big, which is not configured any more; main stands in")


async def test_a_bound_chat_works_in_that_folder(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    data = tmp_path / "data"
    async with running_bot(data, workspace={"allow": [str(site)]}) as bot:
        write = calls(("write_file", {"path": "index.html", "content": "<h1>Hi</h1>"}))
        bot.models.script("main", write, text("Written."))
        bot.say("/workspace")
        [said] = await bot.heard("This chat works in")
        assert str(data / "workspaces") in said
        assert f"1. {site}" in said
        bot.say("/workspace 1")
        await bot.heard(f"✓ This chat works in {site} from now on.")
        bot.say("write the page")
        await bot.heard("Written.")
        assert (site / "index.html").read_text(encoding="utf-8") == "<h1>Hi</h1>"


async def test_a_bound_folder_that_is_gone_or_not_listed_any_more_is_said(
    tmp_path: Path,
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    async with running_bot(tmp_path / "data", workspace={"allow": [str(site)]}) as bot:
        bot.models.script("main", text("I am back."))
        bot.say("/workspace 1")
        await bot.heard("✓ This chat works in")
        site.rmdir()
        bot.say("write the page")
        await bot.heard(f"{site} is no folder.")
        await bot.stop()
        workspace = bot.settings.workspace.model_copy(update={"allow": ()})
        bot.settings = bot.settings.model_copy(update={"workspace": workspace})
        await bot.start()
        bot.say("write the page")
        await bot.heard(f"{site} may not be a workspace")
        bot.say("/workspace reset")
        bot.say("and now?")
        await bot.heard("I am back.")
        assert bot.models.of("main")[-1].messages()
