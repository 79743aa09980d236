"""A full disk: nothing new is taken, nothing is lost, and the log says what to do."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from pathlib import Path

from tests.scenarios.rig import counting, idle_bot


async def order(program: Process, words: str) -> str:
    """Give the program's starter an order; its answer."""
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(f"{words}\n".encode())
    await program.stdin.drain()
    async with asyncio.timeout(40):
        return (await program.stdout.readline()).decode().strip()


async def logged(program: Process, words: str) -> str:
    """The next line of its log with these words."""
    assert program.stderr is not None
    seen: list[str] = []
    async with asyncio.timeout(60):
        while line := (await program.stderr.readline()).decode():
            seen.append(line)
            if words in line:
                return line
    raise AssertionError(f"{words!r} is not in the log:\n{''.join(seen)}")


async def test_a_full_disk_stops_the_intake_and_loses_nothing(tmp_path: Path) -> None:
    async with idle_bot(tmp_path) as bot:
        bot.models.default("main", counting())
        config, data = tmp_path / "config.json", tmp_path / "data"
        data.mkdir()
        settings = bot.settings.model_dump(mode="json", exclude_defaults=True)
        settings["platforms"]["telegram"]["token"] = bot.people.token
        settings["providers"]["fake"]["api_key"] = "test"
        config.write_text(json.dumps(settings))
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.scenarios.small_disk", config, data, "24"),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            start_new_session=True,
        )
        try:
            bot.say("one")
            await bot.heard("Step 1.", within_s=30)
            await order(program, "fill")
            bot.say("two")
            await bot.heard("Step 2.", within_s=30)
            await logged(program, "the disk is full; freeing the reserve file")
            await order(program, "fill")
            for number in range(20):
                bot.say(f"message {number} " + "x" * 4000)
            await logged(program, "are not saved yet: The disk is full")
            full = (
                "⚠ The disk is full, so nothing new can be taken. Free some space on it; "
                "what was accepted is safe and goes on by itself."
            )
            await bot.heard(full, within_s=30)
            await order(program, "free")
            await bot.heard("Step 22.", within_s=40)
            assert [words for words in bot.said() if words != full] == [
                f"Step {number}." for number in range(1, 23)
            ]
            assert bot.said().count(full) == 1
            assert await order(program, "stop") == "0"
        finally:
            if program.returncode is None:
                with suppress(ProcessLookupError):  # it has ended and was not waited for yet
                    os.killpg(program.pid, signal.SIGKILL)  # those inside hold the pipes too
            await program.communicate()
