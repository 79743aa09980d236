"""The dialogue of a goal, word for word."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.openai_replies import calls, text, verdict
from tests.scenarios.rig import running_bot


async def test_a_message_is_answered(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Hello Anna."))
        bot.say("hi")
        assert await bot.heard("Hello Anna.") == ["Hello Anna."]


async def test_a_goal_runs_to_its_end(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script(
            "main",
            calls(("write_file", {"path": "a.txt", "content": "1"})),
            text("I wrote a.txt."),
            text("b.txt is there as well."),
        )
        bot.models.script(
            "judge",
            verdict(reason="b.txt is missing.", done=False),
            verdict(reason="Both are there.", done=True),
        )
        bot.say("/goal write a.txt and b.txt")
        said = await bot.heard("✓ Goal achieved")
        assert said[1:] == [
            "I wrote a.txt.",
            "↻ Continuing toward goal (1/20): b.txt is missing.",
            "b.txt is there as well.",
            "✓ Goal achieved: Both are there.",
        ]
        assert said[0].startswith("⊙ Goal set (20-turn budget): write a.txt and b.txt")
