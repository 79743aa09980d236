"""`pursuit agent --goal`: how a goal that did not get done is told, and its exit code."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.agent_desk import WRITE, desk, events
from tests.e2e.agent_process import Ended
from tests.fakes.openai_replies import refusal, text, verdict

RAISED = "its token budget does not cover the next model call. Raise goals.max_tokens."


def last(end: Ended) -> str:
    """The line that says how it went, without what was used."""
    return end.err.splitlines()[-1].rpartition(" (")[0]


def no_command(end: Ended) -> bool:
    """Whether nothing advises a command of a chat that is over."""
    return "/goal" not in end.err + end.out and "Answer here" not in end.err + end.out


async def test_a_spent_turn_budget_ends_with_3(tmp_path: Path) -> None:
    async with desk(tmp_path, goals={"max_turns": 1}) as at:
        at.models.script("main", text("A start."))
        at.models.script("judge", verdict(done=False, reason="more to do"))
        end = await at.agent("write a novel", "--goal")
        assert end.code == 3
        assert "⏸ Goal paused — 1/1 turns used. Raise goals.max_turns for more." in end.err
        assert last(end) == "[spent]: 1/1 turns used: more to do"
        assert no_command(end)


async def test_a_token_budget_that_does_not_reach_ends_with_3(tmp_path: Path) -> None:
    async with desk(tmp_path, goals={"max_tokens": 10}) as at:
        end = await at.agent("write a novel", "--goal")
        assert end.code == 3
        assert f"⏸ Goal paused: {RAISED}" in end.err
        assert last(end) == f"[spent]: {RAISED}"
        assert no_command(end)


async def test_a_token_budget_that_the_judge_meets_is_told_as_it_is(tmp_path: Path) -> None:
    async with desk(tmp_path, goals={"max_tokens": 40_000}) as at:
        at.models.script("main", text("A start.", usage=(39_000, 0, 900)))
        end = await at.agent("write a novel", "--goal")
        assert (end.code, last(end)) == (3, f"[spent]: {RAISED}")


async def test_a_model_that_fails_ends_a_goal_with_69_and_its_reason(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.models.script("main", refusal(401, "no such key"))
        end = await at.agent("do it", "--goal", "--json")
        result = events(end)[-1]
        assert (end.code, result["exit_code"], result["status"]) == (69, 69, "failed")
        assert "no such key" in str(result["reason"])


async def test_a_judge_that_cannot_be_asked_leaves_a_goal_unverified(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        for turn in range(5):
            at.models.script("main", text(f"Step {turn}."))
            at.models.script("judge", refusal(401, "no such key"))
        end = await at.agent("do it", "--goal", "--json")
        result = events(end)[-1]
        assert (end.code, result["exit_code"], result["status"]) == (1, 1, "unverified")
        reason = str(result["reason"])
        assert reason.startswith("the judge could not be asked 5 times in a row")
        assert reason.endswith("Set auxiliary.goal_judge to another model, then run it again.")
        assert no_command(end)


async def test_a_critic_that_cannot_look_leaves_a_goal_unverified(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        for turn in range(3):
            at.models.script("main", WRITE, text(f"Step {turn}."))
            at.models.script("critic", refusal(401, "no such key"))
            at.models.script("judge", verdict(done=True, reason="it is there"))
        end = await at.agent("write a.txt", "--goal", "--critic")
        assert end.code == 1
        assert last(end).startswith(
            "[unverified]: the critic gate could not look 3 times in a row ("
        )
        assert last(end).endswith("Mend that or change gates.critic, then run it again.")
        assert no_command(end)


async def test_turns_that_only_repeat_themselves_block_a_goal(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        for _ in range(3):
            at.models.script("main", text("I cannot."))
            at.models.script("judge", verdict(done=False, reason="nothing was done"))
        end = await at.agent("do it", "--goal")
        assert end.code == 3
        assert last(end).startswith("[blocked]: 3 turns in a row gave the same answer")
        assert no_command(end)


async def test_what_a_judge_calls_impossible_asks_nobody_for_an_answer(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.models.script("main", text("Nobody can."))
        at.models.script("judge", verdict(done=False, blocked=True, reason="no such number"))
        end = await at.agent("divide by zero", "--goal")
        assert (end.code, last(end)) == (3, "[blocked]: no such number")
        assert "⛔ Goal blocked: no such number.\n" in end.err
        assert no_command(end)
