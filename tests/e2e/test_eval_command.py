"""`pursuit eval`: the scripted tasks, and a model's scores, in processes of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gateway.evals import fingerprint
from gateway.evals.tasks import TASKS
from tests.e2e.agent_process import configured, environment, pursuit
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import Answer, text, verdict
from tests.fakes.openai_seen import Seen


async def test_every_task_comes_out_right_and_the_fingerprint_is_the_one_that_is_kept(
    tmp_path: Path,
) -> None:
    end = await pursuit(tmp_path, tmp_path, "eval")
    assert (end.code, end.err) == (0, "")
    *tasks, total = end.out.splitlines()
    assert [line.removeprefix("✓ ") for line in tasks] == fingerprint.FILE.read_text(
        encoding="utf-8"
    ).splitlines()[:-1]
    assert total.startswith(f"tasks={len(TASKS)} turns=")
    assert list((tmp_path / "tmp").iterdir()) == []


async def test_one_task_is_run_by_its_name(tmp_path: Path) -> None:
    end = await pursuit(tmp_path, tmp_path, "eval", "--task", "impossible")
    assert end.code == 0
    assert [line.split()[0] for line in end.out.splitlines()] == ["✓", "tasks=1"]
    wrong = await pursuit(tmp_path, tmp_path, "eval", "--task", "imposible")
    assert wrong.code == 2
    assert "There is no task of that name: imposible." in wrong.err
    both = await pursuit(tmp_path, tmp_path, "eval", "--accept", "--task", "impossible")
    assert both.code == 2


def by_label(seen: Seen) -> Answer:
    """A judge that lets pass whatever it is shown with a line that says hello."""
    shown = "hello" in seen.said()
    if seen.role == "critic":
        return text(json.dumps({"verdict": "APPROVE" if shown else "REJECT", "reason": "seen"}))
    return verdict(done=shown, reason="seen")


@pytest.mark.parametrize("seat", ["judge", "critic"])
async def test_a_model_is_scored_and_a_run_goes_on_where_it_was_cut(
    tmp_path: Path, seat: str
) -> None:
    results = tmp_path / "results.jsonl"
    line = ("--model", seat, "--sample", "20", "--results", str(results))
    async with FakeOpenAI(role_of=lambda _: seat) as models:
        models.default(seat, by_label)
        config = ("--config", str(configured(tmp_path, models)))
        first = await pursuit(tmp_path, tmp_path, "eval", seat, *line, *config)
        assert first.code == 0, first.err
        asked = models.count
        kept = results.read_text().splitlines(keepends=True)
        assert len(kept) == 20
        results.write_text("".join(kept[:15]) + kept[15][:10])
        second = await pursuit(tmp_path, tmp_path, "eval", seat, *line, *config)
        assert second.out == first.out
        assert asked < models.count < 2 * asked
    checks = next(row for row in first.out.splitlines() if row.startswith("| **checks**"))
    false_pass, false_fail = checks.split("|")[3:5]
    assert "100.0 %" in false_pass
    assert " 0.0 %" in false_fail


async def test_scores_want_a_model_that_is_there(tmp_path: Path) -> None:
    async with FakeOpenAI() as models:
        config = ("--config", str(configured(tmp_path, models)))
        end = await pursuit(tmp_path, tmp_path, "eval", "judge", "--model", "juge", *config)
        assert (end.code, models.count) == (2, 0)
        assert "did you mean `judge`?" in end.err


async def test_results_of_another_model_are_not_mixed_in(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    kept = {"seat": "goal", "model": "main", "id": "count-00-done", "word": "pass", "again": None}
    results.write_text(json.dumps(kept) + "\n")
    async with FakeOpenAI() as models:
        config = ("--config", str(configured(tmp_path, models)))
        line = ("eval", "judge", "--model", "judge", "--results", str(results), *config)
        end = await pursuit(tmp_path, tmp_path, *line)
        assert (end.code, models.count) == (69, 0)
        assert "line 1 is of another run" in end.err


def test_the_environment_of_these_processes_names_no_model(tmp_path: Path) -> None:
    assert not [name for name in environment(tmp_path) if name.startswith("OPENAI")]
