"""`kill -9` of the program while a gate runs: its turn is worked to its end, with its bounces."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.e2e.gateway_process import gateway, written
from tests.fakes.openai_replies import calls, text
from tests.scenarios.rig import eventually, idle_bot, nap, processes

START_S = 90.0
"""For a start and all that the turn needs to come so far."""
DONE = calls(("write_file", {"path": "done.txt", "content": "1"}))


@pytest.mark.timeout(240)
async def test_a_kill_while_a_command_is_verifying_keeps_the_bounces_and_delivers_once(
    tmp_path: Path,
) -> None:
    sleep = nap()
    gates = {"verify": ["test -f done.txt", f"test -f go.txt || {sleep}"]}
    environ = {"XDG_STATE_HOME": str(tmp_path / "state")}
    async with idle_bot(tmp_path / "data", gates=gates) as bot:
        config = written(bot, tmp_path / "config.yaml")
        bot.models.script("main", text("Try 1."), DONE, text("Try 2."))
        bot.models.script("main", text("Try 3."), DONE, text("Try 4."))
        bot.say("write done.txt")
        async with gateway(config, tmp_path / "data", **environ) as running:
            await eventually(lambda: processes(sleep), within_s=START_S)
            running.tell(signal.SIGKILL)
            assert await running.ended() == -signal.SIGKILL
        await eventually(lambda: not processes(sleep))
        (bot.workspace() / "done.txt").unlink()
        (bot.workspace() / "go.txt").touch()
        async with gateway(config, tmp_path / "data", **environ):
            await bot.heard("Try 4.", within_s=START_S)
            assert await bot.all_said() == ["Try 4."]
        assert not processes(sleep)
        asked = bot.models.of("main")
        assert len(asked) == 6
        assert asked[3].raw == asked[2].raw, (
            "the answer that no gate had passed is asked for again"
        )
        told = [str(m["content"]) for m in asked[-1].messages() if m["role"] == "user"]
        bounces = [words.split("]")[0] for words in told if words.startswith("[Check")]
        assert bounces == [f"[Check verify: not passed. Bounce {n} of 2." for n in (1, 2)]
