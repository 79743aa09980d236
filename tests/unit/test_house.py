"""What the settings come to for chat commands."""

from __future__ import annotations

from pathlib import Path

from core.escalations.record import Purpose
from core.goals.judge import JudgeProfile, judge_reads
from core.messages import Role
from core.sessions.facts import House
from gateway.compose.house import house
from gateway.settings import Settings
from gateway.settings.schema import LOCAL_MODEL

REMOTE = {
    "providers": {
        "far": {"base_url": "https://far.example/v1", "api_key": "k"},
        "here": {"kind": "local"},
    },
    "models": {
        "big": {"provider": "far", "model": "big", "price": {"input": 1, "output": 2}},
        "small": {"provider": "here", "model": LOCAL_MODEL},
        "odd": {"provider": "far", "model": "nobody-lists-this"},
    },
}


def house_of(**groups: object) -> House:
    """The house of these settings."""
    settings = Settings.model_validate({**REMOTE, **groups})
    return house(settings, local=True, home=lambda _: Path("/data"))


def test_a_goal_may_be_as_long_as_its_judge_can_read() -> None:
    far = house_of(agent={"model": "big"}, auxiliary={"goal_judge": {"model": "big"}})
    near = house_of(agent={"model": "big"}, auxiliary={"goal_judge": {"model": "small"}})
    assert far.judge_reads == judge_reads(JudgeProfile.FULL)
    assert near.judge_reads == judge_reads(JudgeProfile.LOCAL)


def test_prices_are_known_of_configured_and_free_models_only() -> None:
    mixed = house_of(
        agent={"model": "odd"},
        auxiliary={
            "goal_judge": {"model": "small"},
            "compaction": {"model": "big"},
            "acceptance_judge": {"model": "big"},
        },
    )
    assert mixed.aides == ("small", "big", "big")
    assert [mixed.priced(name) for name in ("odd", "small", "big")] == [False, True, True]


def test_questions_are_put_as_the_settings_say() -> None:
    unset = house_of().asking
    assert (unset.timeout_s, unset.remind_after) == (86_400, (900, 7_200))
    assert unset.also == {purpose: frozenset() for purpose in Purpose}
    own = house_of(
        escalations={
            "timeout_s": 600,
            "reminders_s": [60],
            "approvers": {"command": ["member"], "ask": ["member", "owner"]},
        }
    ).asking
    assert (own.timeout_s, own.remind_after) == (600, (60,))
    assert own.also == {
        Purpose.ASK: frozenset(Role),
        Purpose.COMMAND: {Role.MEMBER},
        Purpose.BRANCH: frozenset(),
        Purpose.PERMISSION: frozenset(),
    }
