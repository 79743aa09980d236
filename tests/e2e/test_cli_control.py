"""`pursuit status`, `sessions` and `pair` as processes, beside a running gateway and alone."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sqlite3
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.gateway_process import gateway, written
from tests.fakes.openai_replies import text
from tests.fakes.telegram_world import Person
from tests.scenarios.rig import OWNER, Bot, idle_bot

PURSUIT = Path(sys.executable).with_name("pursuit")
EVE = Person(6666, "Eve\x1b[31m", "eve")
PAIRING = {"telegram": {"owners": [OWNER.id], "pairing": True}}


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


async def pursuit(data: Path, *line: str) -> Done:
    """Run a command on a data folder."""
    process = await asyncio.create_subprocess_exec(
        *(str(PURSUIT), *line, "--data", str(data)),
        env={"PATH": os.environ["PATH"], "HOME": str(data.parent), "LANG": "C.UTF-8"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    return Done(process.returncode or 0, out.decode(), err.decode())


async def code_for(bot: Bot, who: Person) -> str:
    """The code that a stranger is told."""
    said = (await bot.heard("This bot does not know you.", chat=who.id))[-1]
    found = re.search(r"pair approve (\w{8})", said)
    assert found is not None
    return found[1]


async def test_a_running_gateway_answers(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with idle_bot(data, access=PAIRING) as bot:
        config = written(bot, tmp_path / "c.yaml")
        bot.models.script("main", text("Half.", gate="slow"))
        async with gateway(config, data) as running:
            bot.say("/goal count the stars")
            await bot.asked(1)
            said = await pursuit(data, "status")
            assert (said.code, said.err) == (0, "")
            assert "✓ telegram up" in said.out
            assert "Turns: 1 under way, 0 messages wait" in said.out
            assert "count the stars (active, 0/20 turns)" in said.out
            found = json.loads((await pursuit(data, "status", "--json")).out)
            assert (found["running"], found["pid"]) == (True, running.process.pid)
            assert found["uptime_s"] > 0
            assert found["outbox"] == {"waiting": 0, "undeliverable": 0}
            bot.models.open("slow")
            running.tell(signal.SIGTERM)
            assert await running.ended() == 0
        alone = await pursuit(data, "status")
        assert alone.code == 69
        assert f"No Pursuit is running in {data}." in alone.out
        assert "count the stars (active, " in alone.out
        assert not (data / "control.sock").exists()


async def test_people_are_let_in_and_out_with_and_without_a_gateway(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with idle_bot(data, access=PAIRING) as bot:
        config = written(bot, tmp_path / "c.yaml")
        async with gateway(config, data) as running:
            bot.say("hi", user=EVE)
            code = await code_for(bot, EVE)
            wrong = await pursuit(data, "pair", "approve", "WRONG222")
            assert (wrong.code, wrong.out) == (1, "")
            assert "4 tries left" in wrong.err
            listed = await pursuit(data, "pair", "list")
            assert f"(telegram:{EVE.id}), 60 min left" in listed.out
            assert "\x1b" not in listed.out
            done = await pursuit(data, "pair", "approve", code, "--role", "owner")
            assert (done.code, done.err) == (0, "")
            assert "is let in as owner." in done.out
            await bot.heard("✓ You were let in as owner.", chat=EVE.id)
            running.tell(signal.SIGTERM)
            assert await running.ended() == 0
        out = await pursuit(data, "pair", "remove", str(EVE.id))
        assert (out.code, out.err) == (0, "")
        again = await pursuit(data, "pair", "remove", str(EVE.id))
        assert (again.code, again.out) == (1, "")
        audit = json.loads((await pursuit(data, "pair", "list", "--json")).out)["audit"]
        assert [row["what"] for row in audit[:2]] == ["let out", "let in as owner"]
        assert audit[0]["detail"] == "by the command line"


async def test_a_person_let_in_while_nothing_runs_is_told_at_the_next_start(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    async with idle_bot(data, access=PAIRING) as bot:
        await bot.start()
        bot.say("hi", user=EVE)
        code = await code_for(bot, EVE)
        await bot.stop()
        assert (await pursuit(data, "pair", "approve", code)).code == 0
        await bot.start()
        await bot.heard("✓ You were let in as member.", chat=EVE.id)
        bot.say("/whoami", user=EVE)
        await bot.heard(", member, in chat", chat=EVE.id)


async def test_the_sessions_of_all_chats_are_listed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with idle_bot(data, access=PAIRING) as bot:
        await bot.start()
        bot.models.script("main", text("Hi."))
        bot.say("hello\nthere \x1b[31mred")
        await bot.heard("Hi.")
        beside = await pursuit(data, "sessions")
        assert re.fullmatch(
            r"#1 telegram 1001: hello there .*red \(1 turn, current\)\n", beside.out
        )
        assert "\x1b" not in beside.out
        await bot.stop()
        assert await pursuit(data, "sessions") == beside
        [fact] = json.loads((await pursuit(data, "sessions", "--json")).out)["sessions"]
        assert (fact["id"], fact["turns"], fact["current"]) == (1, 1, True)


@pytest.mark.parametrize("line", ["status", "sessions", "pair list", "pair remove 7"])
async def test_a_folder_in_which_nothing_ran_is_told_so_and_left_alone(
    tmp_path: Path, line: str
) -> None:
    said = await pursuit(tmp_path / "data", *line.split())
    assert said.code == 69
    assert "Pursuit has not run there yet" in said.out + said.err
    assert list((tmp_path / "data").iterdir()) == []


async def test_a_database_of_another_version_is_not_read_wrongly(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with idle_bot(data) as bot:
        await bot.start()
        await bot.stop()
    with sqlite3.connect(data / "pursuit.db") as conn:
        conn.execute("PRAGMA user_version = 1")
    conn.close()
    said = await pursuit(data, "sessions")
    assert said.code == 69
    assert "of another version of Pursuit" in said.err


@pytest.mark.parametrize("line", [("pair", "approve"), ("pair", "approve", "X", "--role", "boss")])
async def test_a_wrong_use_is_exit_code_2(tmp_path: Path, line: tuple[str, ...]) -> None:
    assert (await pursuit(tmp_path / "data", *line)).code == 2
