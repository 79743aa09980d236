"""An answer holds for what its card showed, however much else was said and changed since."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from gateway.settings import Settings
from tests.fakes.openai_replies import text
from tests.scenarios.rig import Bot, running_bot
from tests.scenarios.test_asking import ASKING, ask, run

COMMAND = "touch made; git push --force origin main"


def another(tmp_path: Path) -> Path:
    """A folder that chats may be bound to."""
    site = tmp_path / "site"
    site.mkdir(exist_ok=True)
    return site


@asynccontextmanager
async def asked(tmp_path: Path) -> AsyncIterator[Bot]:
    """A command was asked for, and other things were said since."""
    workspace = {"allow": [str(another(tmp_path))]}
    async with running_bot(tmp_path / "data", **ASKING, workspace=workspace) as bot:
        bot.models.script("main", run(COMMAND), text("Hi."), text("So be it."))
        bot.say("push it")
        await bot.heard("✋ E1: may this command run?")
        bot.say("hello")
        await bot.heard("Hi.")
        yield bot


async def test_a_denied_command_does_not_run_where_it_needs_no_leave_any_more(
    tmp_path: Path,
) -> None:
    async with asked(tmp_path) as bot:
        await bot.stop()
        settings = bot.settings.model_dump(exclude_unset=True)
        settings["workspace"]["dangerous"] = "allow"
        bot.settings = Settings.model_validate(settings)
        await bot.start()
        bot.say("/deny E1 never ever")
        await bot.heard("So be it.")
        assert "[Outcome of E1: declined]" in (await bot.asked(3))[2].said()
        assert not (bot.workspace() / "made").exists()


async def test_an_approved_command_runs_in_no_other_folder_than_was_shown(tmp_path: Path) -> None:
    site = another(tmp_path)
    async with asked(tmp_path) as bot:
        bot.say(f"/workspace {site}")
        await bot.heard("This chat works in")
        bot.say("/approve E1")
        await bot.heard("So be it.")
        told = (await bot.asked(3))[2].said()
        assert "Not run: E1 was approved for other than what would run now" in told
        assert not (site / "made").exists()
        assert not (bot.workspace() / "made").exists()


async def test_the_rest_of_a_split_message_is_no_answer(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ASKING) as bot:
        which = ask("Shall I go on?", kind="approve")
        bot.models.script("main", which, text("A long one."))
        bot.say("work")
        await bot.heard("✋ E1")
        bot.say("x" * 4096)
        bot.say("yes")
        await bot.heard("A long one.")
        assert "✋ E1" in "\n".join(bot.said())
        assert (await bot.asked(2))[1].said().endswith("yes")
