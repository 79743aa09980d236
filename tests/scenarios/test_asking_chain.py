"""A task that nobody foresaw goes all the way up in a Slack thread: the cheap child, an overseer
that adds a condition, another child, and the person who decides."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

from core.transcript import Json
from tests.fakes.openai_replies import Answer, calls, text
from tests.fakes.openai_seen import Seen
from tests.scenarios.asking_rig import running
from tests.scenarios.test_branch_tables import delegate

MODELS = {
    "main": {"provider": "fake", "model": "main", "context_tokens": 100_000, "tier": 1},
    "judge": {"provider": "fake", "model": "judge"},
    "overseer": {"provider": "fake", "model": "overseer", "tier": 2},
    "checker": {"provider": "fake", "model": "checker", "tier": 3},
}
STAFF = {
    "models": MODELS,
    "agent": {"model": "main", "toolsets": ["terminal", "file", "delegation"]},
    "delegation": {"escalation_model": "overseer"},
}
TABLE: Json = {
    "conditions": [
        {
            "id": "there",
            "condition": "It answers 200",
            "branch": {"action": "report_with_evidence"},
        },
        {
            "id": "moved",
            "condition": "It answers 301, and the new address is somebody else's",
            "branch": {
                "action": "escalate",
                "tier": "human",
                "prompt": "It has moved. Follow it?",
                "human": {"kind": "approve"},
            },
        },
    ],
    "default": {
        "action": "escalate",
        "tier": "overseer",
        "prompt": "Unexpected: {observed_state}",
    },
}
PATCH: Json = {
    "reason": "OVERSEER-THINKS a look at the address would tell",
    "decision": "patch",
    "conditions": [
        {
            "id": "ours",
            "condition": "It answers 301, and the new address is ours",
            "branch": {"action": "report_with_evidence"},
        }
    ],
}


def look(code: int) -> Answer:
    return replace(calls(("run", {"command": f"echo HTTP {code}"})), usage=(400, 0, 50))


def report(seen: Seen, branch: str, observed: str, code: int) -> Answer:
    called = re.match(r"\[(\S+)\]\n", seen.said())
    assert called
    evidence = [{"tool_call_id": called[1], "excerpt": f"HTTP {code}"}]
    said = {"branch": branch, "confidence": "high", "observed": observed, "checks": []}
    made = calls(("report_branch", {**said, "evidence": evidence}))
    return replace(made, usage=(500, 0, 100))


async def test_from_a_cheap_child_over_an_overseer_to_the_person_in_the_thread(
    tmp_path: Path,
) -> None:
    words = iter((("__default__", "FIRST-CHILD saw a redirect"), ("moved", "To example.org")))

    def child(seen: Seen) -> Answer:
        done = seen.said().startswith("[")
        return report(seen, *next(words), 301) if done else look(301)

    async with running("slack-thread", tmp_path, **STAFF) as bot:
        bot.models.script(
            "main",
            replace(delegate(TABLE), usage=(1_000, 0, 200)),
            text("We follow it.", usage=(1_500, 0, 30)),
        )
        bot.models.script("overseer", text(json.dumps(PATCH), usage=(800, 0, 90)))
        bot.models.default("checker", child)
        bot.place.say("check the page")
        card = await bot.card("✋ E1: do you approve this?", "It has moved. Follow it?")
        assert "branch: moved" in card.text
        assert bot.place.elsewhere() == []
        await bot.press(card, "Approve")
        await bot.place.heard("We follow it.")
        decided = await bot.becomes(card, "✓ E1 approved by Anna, ")
        assert decided.labels == ()
        _parent_got_the_final_word_alone(bot.models.of("main"))
        assert [len(bot.models.of(role)) for role in ("overseer", "checker")] == [1, 4]
        usage = await bot.answered("/usage", "checker")
        session = usage.split("Today")[0]
        assert "· main: 2,500 in, 230 out" in session
        assert "· checker: 1,800 in, 300 out" in session
        assert "· overseer: 800 in, 90 out" in session


def _parent_got_the_final_word_alone(asked: list[Seen]) -> None:
    _, after = asked
    result = json.loads(after.said())
    assert (result["status"], result["outcome"], result["branch"]) == ("ok", "resolved", "moved")
    assert (result["decided_by"], result["escalations"]) == ("human", 2)
    assert result["person"] == "Anna"
    assert len(after.messages()) == 4, "the system's, the person's, its call, the result"
    for word in ("OVERSEER-THINKS", "FIRST-CHILD", "is ours", "report_branch"):
        assert word.encode() not in after.raw
