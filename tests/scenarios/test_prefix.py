"""Prompt caches hit: over a long goal each request repeats the one before it byte for byte."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

from tests.fakes.openai_replies import calls, text, verdict
from tests.scenarios.rig import running_bot


def cut(raw: bytes) -> tuple[bytes, bytes, bytes]:
    """A request's bytes before its messages, those of its messages, and those after them."""
    head, rest = raw.split(b'"messages":[', 1)
    depth, quoted, escaped = 1, False, False
    for place, byte in enumerate(rest):
        char = chr(byte)
        if quoted:
            quoted, escaped = escaped or char != '"', char == "\\" and not escaped
        elif char == '"':
            quoted = True
        elif char in "[]":
            depth += 1 if char == "[" else -1
            if not depth:
                return head, rest[:place], rest[place:]
    raise AssertionError("the messages have no end")


async def test_the_prefix_stays_identical_over_a_goal_of_twenty_turns(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        for number in range(20):
            write = ("write_file", {"path": f"n{number}.txt", "content": f"ü{number}\n" * 3})
            bot.models.script("main", calls(write), text(f"Wrote n{number}.txt. “Näxt”!"))
        bot.models.default("judge", verdict(reason="There is “more” to dö.", done=False))
        bot.say("/goal write twenty files\nverify: ls")
        await bot.heard("⏸ Goal paused — 20/20 turns used.", within_s=60)
        requests = bot.models.of("main")
        assert len(requests) == 40
        cuts = [cut(request.raw) for request in requests]
        assert all(json.loads(request.raw) == request.body for request in requests)
        assert len({(head, tail) for head, _, tail in cuts}) == 1, "model, tools and options"
        for (_, before, _), (_, after, _) in pairwise(cuts):
            assert after.startswith(before + b",")
        systems = {json.dumps(request.messages()[0]) for request in requests}
        assert len(systems) == 1


async def test_the_prefix_survives_a_restart_and_the_commands_of_people(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("One."), text("Two."), text("Three."))
        bot.say("one")
        await bot.heard("One.")
        bot.say("/whoami")
        bot.say("/subgoal of nothing")
        await bot.all_said()
        await bot.restart()
        bot.say("two")
        await bot.heard("Two.")
        bot.say("three")
        await bot.heard("Three.")
        cuts = [cut(request.raw) for request in bot.models.of("main")]
        assert len({(head, tail) for head, _, tail in cuts}) == 1
        for (_, before, _), (_, after, _) in pairwise(cuts):
            assert after.startswith(before + b",")
