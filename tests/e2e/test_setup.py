"""`pursuit setup` before a real terminal: what is answered becomes a file that works."""

from __future__ import annotations

import asyncio
import os
import pty
import subprocess
import sys
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from gateway.settings import chosen, load
from tests.fakes.console_program import Seat

PURSUIT = str(Path(sys.executable).with_name("pursuit"))
TOKEN = "123456789:" + "A" * 35
DOWN, SPACE, ENTER = "\x1b[B", " ", "\r"


def environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "xterm-256color"}


@asynccontextmanager
async def before_the_wizard(home: Path) -> AsyncIterator[Seat]:
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (40, 160))
    process = await asyncio.create_subprocess_exec(
        *(PURSUIT, "setup"),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment(home),
        start_new_session=True,
    )
    seat = Seat(process, master, slave)
    try:
        yield seat
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        seat.close()


async def answer(seat: Seat, question: str, keys: str) -> None:
    """Wait for a question that was not there before, and type."""
    await seat.until(question)
    seat.types(keys)


async def test_answers_become_a_private_file_that_loads(tmp_path: Path) -> None:
    async with before_the_wizard(tmp_path) as seat:
        await answer(seat, "Where will you talk to it?", SPACE + DOWN * 3 + SPACE + ENTER)
        await answer(seat, "the token from @BotFather", "nonsense" + ENTER)
        await answer(seat, "copy it whole", "\x15" + TOKEN + ENTER)
        await answer(seat, "your own numeric id", "4711" + ENTER)
        await answer(seat, "Which model?", DOWN + ENTER)
        await answer(seat, "Its address", "http://127.0.0.1:11434/v1" + ENTER)
        await answer(seat, "Its API key", ENTER)
        await answer(seat, "The model's id", "qwen3:14b" + ENTER)
        await seat.until("pursuit doctor")
        assert await seat.ended() == 0
        assert TOKEN.encode() not in seat.written
    file = tmp_path / ".config" / "pursuit" / "config.yaml"
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(file.parent.iterdir()) == [file]
    settings = load(file, environ={})
    telegram = settings.platforms.telegram
    assert (telegram.enabled, settings.platforms.web.enabled) == (True, True)
    assert telegram.token is not None
    assert telegram.token.get_secret_value() == TOKEN
    assert settings.access.telegram.owners == (4711,)
    agent = chosen(settings, "agent")
    assert (agent.model.model, agent.provider.base_url) == (
        "qwen3:14b",
        "http://127.0.0.1:11434/v1",
    )


async def test_who_does_not_know_their_id_comes_in_by_pairing(tmp_path: Path) -> None:
    async with before_the_wizard(tmp_path) as seat:
        await answer(seat, "Where will you talk to it?", DOWN * 2 + SPACE + ENTER)
        await answer(seat, "the bot token", "xoxb-1-abc" + ENTER)
        await answer(seat, "the app-level token", "xapp-1-abc" + ENTER)
        await answer(seat, "your own member id", ENTER)
        await answer(seat, "Which model?", DOWN * 2 + ENTER)
        await seat.until("pursuit pair approve CODE --role owner")
        assert await seat.ended() == 0
    settings = load(tmp_path / ".config" / "pursuit" / "config.yaml", environ={})
    assert settings.access.slack.pairing
    assert settings.platforms.slack.enabled
    assert chosen(settings, "agent").local


async def test_giving_up_writes_nothing(tmp_path: Path) -> None:
    async with before_the_wizard(tmp_path) as seat:
        await answer(seat, "Where will you talk to it?", "\x03")
        assert await seat.ended() == 130
    assert not (tmp_path / ".config").exists()


def piped(home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PURSUIT, "setup"],
        env=environment(home),
        input="y\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_a_terminal_it_says_what_to_do_instead(tmp_path: Path) -> None:
    done = piped(tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs a terminal" in done.stderr
    assert f"config.example.yaml to {tmp_path}/.config/pursuit/config.yaml" in done.stderr


def test_a_configuration_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / ".config" / "pursuit" / "config.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("goals: {max_turns: 3}\n")
    done = piped(tmp_path)
    assert done.returncode == 69
    assert "is not overwritten" in done.stderr
    assert file.read_text() == "goals: {max_turns: 3}\n"
