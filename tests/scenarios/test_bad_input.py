"""What should not come in: huge and odd messages, wrong keys, dead models, bad disks. Each is
answered in words, and nothing is lost."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from core.errors import UserError
from gateway.compose.run import Choices, live
from gateway.compose.telegram import telegram
from gateway.router import MAX_MESSAGE
from tests.fakes.openai_replies import text
from tests.fakes.telegram_world import ANNA
from tests.scenarios.rig import counting, idle_bot, running_bot

TAKEN = (
    r"^Another process on this machine already runs the bot of platforms\.telegram\.token "
    r"\(lock file /\S+/telegram-[0-9a-f]{24}\.lock\)\. Stop it, or use another token\.$"
)


async def test_a_goal_of_ten_thousand_words_is_refused_in_words(tmp_path: Path) -> None:
    """Telegram's clients split texts at 4096 units themselves; the API does not care."""
    async with running_bot(tmp_path) as bot:
        bot.say("/goal " + "word " * 10_000)
        [said] = await bot.heard("The goal has 49,999 bytes; at most 20,000 are taken. ")
        assert "Put the details into a file and name it in the goal." in said


@pytest.mark.parametrize("size", [MAX_MESSAGE + 1, 10 * 2**20])
async def test_a_message_that_is_too_long_is_refused_in_words(tmp_path: Path, size: int) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.default("main", counting())
        sent = bot.say("x" * size)
        bot.say("short")
        said = await bot.heard("Step 1.")
        await bot.until(lambda: len(bot.said()) == 2)
        [refusal] = [seen for seen in bot.people.by_bot(ANNA.id) if "Step" not in seen.text]
        assert refusal.text == (
            f"⚠ This message has {size:,} characters; at most {MAX_MESSAGE:,} are taken. "
            "Send it as a file."
        )
        assert refusal.reply_to == sent.id
        assert len(said) <= 2
        assert len(bot.models.of("main")) == 1


async def test_a_hundred_messages_wait_and_the_next_is_refused(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("First.", gate="never"))
        bot.say("work")
        await bot.asked(1)
        for number in range(101):
            bot.say(f"message {number}")
        said = await bot.heard("⚠ 100 messages are waiting here already")
        assert len(said) == 1
        bot.say("/stop")
        await bot.heard("⏹ Stopped. 100 waiting messages dropped.")


async def test_a_wrong_token_ends_the_program_naming_the_key(tmp_path: Path) -> None:
    async with idle_bot(tmp_path) as bot:
        bot.people.token = "4242:another-one"
        with pytest.raises(UserError, match=r"platforms\.telegram\.token"):
            await bot.start()
    async with idle_bot(tmp_path, platforms={"telegram": {"token": "nonsense"}}) as bot:
        with pytest.raises(UserError, match=r"platforms\.telegram\.token"):
            await bot.start()


async def test_an_unreachable_model_fails_in_words_and_pauses_the_goal(tmp_path: Path) -> None:
    providers = {"fake": {"base_url": "http://127.0.0.1:9/v1", "timeout_s": 10}}
    async with running_bot(tmp_path, providers=providers) as bot:
        bot.say("hi")
        bot.say("/status")
        said = await bot.heard("⚠ This turn failed: ")
        assert "127.0.0.1:9" in said[-1]
        bot.say("/goal work")
        await bot.heard("⏸ Goal paused: ")
        assert "127.0.0.1:9" in bot.said()[-1]


async def test_a_second_process_on_the_same_data_is_refused(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.default("main", counting())
        with pytest.raises(UserError, match=rf"\(process {os.getpid()}\) works in {tmp_path}"):
            await live(bot.settings, tmp_path, Choices(platforms=(telegram,)))
        bot.say("hi")
        await bot.heard("Step 1.")


async def test_the_same_token_from_another_folder_is_refused(tmp_path: Path) -> None:
    async with running_bot(tmp_path / "one") as bot:
        bot.models.default("main", counting())
        with pytest.raises(UserError, match=TAKEN):
            await live(bot.settings, tmp_path / "two", Choices(platforms=(telegram,)))
        bot.say("hi")
        await bot.heard("Step 1.")


@pytest.mark.parametrize("damage", ["head", "middle", "text", "newer"])
async def test_a_damaged_database_is_refused_and_left_as_it_is(
    tmp_path: Path, damage: str
) -> None:
    file = tmp_path / "pursuit.db"
    async with idle_bot(tmp_path) as bot:
        bot.models.default("main", counting())
        await bot.start()
        for number in range(1, 6):
            bot.say(f"hello {number} " + "x" * 3000)
            await bot.heard(f"Step {number}.")
        await bot.stop()
        match damage:
            case "head":
                file.write_bytes(b"\xff" * 100 + file.read_bytes()[100:])
            case "middle":
                content = file.read_bytes()
                half = len(content) // 2
                file.write_bytes(content[:half] + b"\xa5" * 8192 + content[half + 8192 :])
            case "text":
                file.write_text("This is not a database. " * 100)
            case _:
                with sqlite3.connect(file) as conn:
                    conn.execute("PRAGMA user_version = 999")
                conn.close()
        before = file.read_bytes()
        words = "newer version" if damage == "newer" else f"database {file} is damaged"
        with pytest.raises(UserError, match=words):
            await bot.start()
        assert file.read_bytes() == before
