"""`kill -9` of the program while three children work: each ends once, nothing is done twice."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.e2e.gateway_process import gateway, written
from tests.fakes.openai_replies import Answer, calls, text
from tests.fakes.openai_seen import Seen
from tests.scenarios.rig import idle_bot
from tests.scenarios.test_delegation import STAFF, batch, found

NAMES = ("one", "two", "three")


def work(seen: Seen) -> Answer:
    """A child's three steps: it logs its name, looks, and reports."""
    name = str(seen.messages()[1]["content"]).split("\n")[1].removeprefix("do ")
    match sum(message["role"] == "tool" for message in seen.messages()):
        case 0:
            return calls(("run", {"command": f"echo {name} >> log.txt"}))
        case 1:
            return calls(("read_file", {"path": "log.txt"}))
        case _:
            return text(f"{name} is done.")


@pytest.mark.parametrize("kills", [(2, 7), (4, 8), (5, 9)])
async def test_after_every_kill_each_child_goes_on_where_it_was(
    tmp_path: Path, kills: tuple[int, ...]
) -> None:
    async with idle_bot(tmp_path / "data", **STAFF) as bot:
        config = written(bot, tmp_path / "config.yaml")
        bot.models.script("main", batch(*(f"do {name}" for name in NAMES)))
        bot.models.default("main", text("All done."))
        bot.models.default("child", work)
        bot.models.default("checker", found((1, "pass", "it is")))
        bot.say("go")
        environ = {"XDG_STATE_HOME": str(tmp_path / "state")}
        for asked in kills:
            async with gateway(config, tmp_path / "data", **environ) as running:
                await bot.asked(asked, "child")
                running.tell(signal.SIGKILL)
                assert await running.ended() == -signal.SIGKILL
        async with gateway(config, tmp_path / "data", **environ):
            said = await bot.heard("All done.", within_s=30)
        assert said.count("All done.") == 1
        log = bot.workspace() / "log.txt"  # not there when every first call was cut
        logged = log.read_text().split() if log.exists() else []
        assert sorted(logged) == sorted(set(logged)), "a completed call was repeated"
        told = json.loads(bot.models.of("main")[-1].said())
        assert [result["status"] for result in told] == ["ok"] * 3
        assert [result["summary"] for result in told] == [f"{name} is done." for name in NAMES]
        for name in NAMES:
            own = [s for s in bot.models.of("child") if f"do {name}" in str(s.messages()[1])]
            results = [sum(m["role"] == "tool" for m in seen.messages()) for seen in own]
            assert results == sorted(results), "a child went back"
