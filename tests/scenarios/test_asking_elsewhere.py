"""An approval holds for what its card showed, however much else was said and changed since."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fakes.openai_replies import text
from tests.scenarios.rig import Bot, running_bot
from tests.scenarios.test_asking import ASKING, ask, run


@asynccontextmanager
async def moved(tmp_path: Path, command: Callable[[Path], str]) -> AsyncIterator[tuple[Bot, Path]]:
    """A command was asked for, other things were said, and the chat works in another folder."""
    # Not below /tmp: what is deleted there needs no leave.
    with TemporaryDirectory(dir=Path.home()) as folder:
        site = Path(folder)
        (site / "old").mkdir(parents=True)
        (site / "old" / "file").write_text("kept")
        async with asked_then_moved(tmp_path, site, command(site)) as bot:
            yield bot, site


@asynccontextmanager
async def asked_then_moved(tmp_path: Path, site: Path, command: str) -> AsyncIterator[Bot]:
    """The same, in a folder that is there."""
    workspace = {"allow": [str(site)]}
    async with running_bot(tmp_path / "data", **ASKING, workspace=workspace) as bot:
        bot.models.script("main", run(command), text("Hi."), text("So be it."))
        bot.say("clean up")
        await bot.heard("✋ E1: may this command run?")
        bot.say("hello")
        await bot.heard("Hi.")
        bot.say(f"/workspace {site}")
        await bot.heard("This chat works in")
        yield bot


async def test_a_denied_command_does_not_run_where_it_would_need_no_leave(tmp_path: Path) -> None:
    async with moved(tmp_path, lambda site: f"rm -rf {site}/old") as (bot, site):
        bot.say("/deny E1 never ever")
        await bot.heard("So be it.")
        assert "[Outcome of E1: declined]" in (await bot.asked(3))[2].said()
        assert (site / "old" / "file").exists()


async def test_an_approved_command_runs_in_no_other_folder_than_was_shown(tmp_path: Path) -> None:
    async with moved(tmp_path, lambda site: f"rm -rf {site}/none; touch made") as (bot, site):
        bot.say("/approve E1")
        await bot.heard("So be it.")
        assert "Not run: E1 was approved for other than what would run now" in (
            (await bot.asked(3))[2].said()
        )
        assert not (site / "made").exists()


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
