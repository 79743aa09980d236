"""Branch tables in the whole bot: a cheap child, its overseer, and the person in the chat."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from core.transcript import Json
from tests.fakes.openai_replies import Answer, calls, text
from tests.fakes.openai_seen import Seen
from tests.scenarios.rig import Bot, running_bot
from tests.scenarios.test_delegation import STAFF, outcome

Report: TypeAlias = Callable[[Seen], Answer]
TABLE: Json = {
    "conditions": [
        {
            "id": "gone",
            "condition": "It answers 404",
            "branch": {"action": "escalate", "tier": "human", "prompt": "Where is it now?"},
        },
        {"id": "there", "condition": "It is there", "branch": {"action": "report_with_evidence"}},
    ],
    "default": {"action": "escalate", "tier": "overseer"},
}
LOOK = calls(("run", {"command": "echo HTTP 200 OK"}))


def delegate(table: Json = TABLE, **fields: object) -> Answer:
    """The parent hands a step with its table to a child of the lowest tier."""
    return calls(("delegate_task", {"goal": "Check the page", "branch_table": table, **fields}))


def reports(branch: str, **fields: object) -> Report:
    """The child reports a branch and quotes its last call."""

    def report(seen: Seen) -> Answer:
        quoted = re.match(r"\[(\S+)\]\n", seen.said())
        assert quoted, seen.said()
        evidence = [{"tool_call_id": quoted[1], "excerpt": "HTTP 200 OK"}]
        said = {"branch": branch, "confidence": "high", "observed": "I looked", "checks": []}
        return calls(("report_branch", {**said, "evidence": evidence, **fields}))

    return report


def children(bot: Bot, *lines: Answer | Report) -> None:
    """What children on the cheap model say, call by call."""
    said = iter(lines)

    def say(seen: Seen) -> Answer:
        line = next(said)
        return line(seen) if callable(line) else line

    bot.models.default("checker", say)


async def test_a_branch_that_the_child_reports_is_the_parents_result(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **STAFF) as bot:
        bot.models.script("main", delegate(), text("It is there."))
        children(bot, LOOK, reports("there"))
        bot.say("check it")
        await bot.heard("It is there.")
        result = await outcome(bot)
        assert (result["status"], result["branch"]) == ("ok", "there")
        assert (result["model"], result["tier"]) == ("checker", 3)
        assert "HTTP 200 OK" in json.dumps(result["evidence"])


async def test_usage_tells_what_each_tier_has_used(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **STAFF) as bot:
        word = {"reason": "", "decision": "resolve", "branch": "there", "summary": "It moved."}
        bot.models.script("main", delegate(), text("It moved."))
        bot.models.script("judge", text(json.dumps(word)))  # main, asked for JSON
        children(bot, LOOK, reports("__default__"))
        bot.say("check it")
        await bot.heard("It moved.")
        result = await outcome(bot)
        assert (result["decided_by"], result["escalations"]) == ("overseer", 1)
        bot.say("/usage")
        told = (await bot.heard("It moved.", "checker"))[-1]
        assert "main" in told


async def test_a_persons_answer_sends_a_new_child_also_after_a_restart(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **STAFF) as bot:
        bot.models.script("main", delegate())
        children(bot, LOOK, reports("gone"))
        bot.say("check it")
        card = (await bot.heard("✋ E1"))[0]
        assert "Where is it now?" in card
        assert "task: Check the page" in card
        await bot.restart()
        bot.models.script("main", text("Found it."))
        children(bot, LOOK, reports("there"))
        bot.say("/answer E1 below v2")
        await bot.heard("E1 answered by Anna", "Found it.")
        assert len(bot.models.of("checker")) == 4
        assert "below v2" in str(bot.models.of("checker")[2].messages()[-1]["content"])
        result = await outcome(bot)
        assert (result["branch"], result["escalations"]) == ("there", 1)


async def test_the_chat_goes_on_while_the_run_waits(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **STAFF) as bot:
        bot.models.script("main", delegate(), text("Four."), text("Found it."))
        children(bot, LOOK, reports("gone"), LOOK, reports("there"))
        bot.say("check it")
        await bot.heard("✋ E1")
        bot.say("what is 2 + 2?")
        await bot.heard("✋ E1", "Four.")
        bot.say("/answer E1 below v2")
        await bot.heard("Found it.")
        told = (await bot.asked(3))[2].said()
        assert '"branch": "there"' in told
        assert len(bot.models.of("checker")) == 4


async def test_a_stop_cancels_a_run_that_waits(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **STAFF) as bot:
        bot.models.script("main", delegate(), text("All right."))
        children(bot, LOOK, reports("gone"))
        bot.say("check it")
        await bot.heard("✋ E1")
        bot.say("/stop")
        await bot.heard("⏹ E1 cancelled")
        bot.say("/answer E1 below v2")
        bot.say("and now?")
        await bot.heard("All right.")
        assert len(bot.models.of("checker")) == 2


async def test_a_childs_own_command_may_need_leave(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **STAFF) as bot:
        push = calls(("run", {"command": "git push --force origin main"}))
        bot.models.script("main", delegate(), text("Looked."))
        children(bot, push, LOOK, reports("there"))
        bot.say("check it")
        await bot.heard("✋ E1: may this command run?")
        await bot.press("Deny")
        await bot.heard("✗ E1 denied by Anna", "Looked.")
        result = await outcome(bot)
        assert (result["branch"], result["escalations"]) == ("there", 1)


async def test_a_bad_table_is_told_to_the_parent_and_nothing_starts(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **STAFF) as bot:
        table: Json = {"conditions": [{"condition": "x", "branch": {"action": "report"}}]}
        bot.models.script("main", delegate(table), text("I shall mend it."))
        bot.say("check it")
        await bot.heard("I shall mend it.")
        told = (await bot.asked(2))[1].said()
        assert "missing_default at default" in told
        assert bot.models.of("checker") == []
