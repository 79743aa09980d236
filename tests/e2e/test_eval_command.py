"""`pursuit eval`: the scripted tasks, and a model's scores, in processes of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gateway.evals import fingerprint
from gateway.evals.tasks import TASKS
from tests.e2e.agent_process import configured, environment, pursuit
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import Answer, Refusal, text, verdict
from tests.fakes.openai_seen import Seen

KEY = "test-key-of-the-fake"


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
    false_pass, false_fail = checks.split("|")[4:6]
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


async def test_rows_of_a_dead_model_have_no_score_and_are_asked_again(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    line = ("eval", "critic", "--model", "critic", "--sample", "4", "--results", str(results))
    async with FakeOpenAI(role_of=lambda _: "critic") as models:
        config = ("--config", str(configured(tmp_path, models)))
        body = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}})
        models.default("critic", Refusal(status=401, body=body))
        dead = await pursuit(tmp_path, tmp_path, *line, *config)
        assert dead.code == 1
        *rows, last = dead.err.splitlines()
        assert len(rows) == 4
        assert all("unverified (call failed: " in row for row in rows)
        assert last.startswith("4 of 4 rows were not scored, since a call failed; ")
        assert KEY not in dead.err + dead.out
        assert dead.out.splitlines()[-1] == "| **all** | 4 | 4 | – | – | – | – | – |"
        assert results.read_text() == ""
        models.default("critic", by_label)
        alive = await pursuit(tmp_path, tmp_path, *line, *config)
        assert (alive.code, len(results.read_text().splitlines())) == (0, 4)
        assert "| **all** | 4 | 0 | " in alive.out


async def test_a_reply_that_is_no_verdict_is_told_from_a_call_that_fails(tmp_path: Path) -> None:
    line = ("eval", "judge", "--model", "judge", "--sample", "3", "--once")
    async with FakeOpenAI(role_of=lambda _: "judge") as models:
        config = ("--config", str(configured(tmp_path, models)))
        models.default("judge", text("I would say so."))
        end = await pursuit(tmp_path, tmp_path, *line, *config)
    assert end.code == 0
    assert end.err.count("unverified (no verdict: the judge's reply was not a verdict)") == 3
    cells = [cell.strip() for cell in end.out.splitlines()[-1].split("|")]
    assert cells[2:4] == ["3", "0"]
    assert [cell.split()[0] for cell in cells[6:8]] == ["3/3", "3/3"]


async def test_the_critic_has_the_time_that_its_gate_gives_it(tmp_path: Path) -> None:
    line = ("eval", "critic", "--model", "critic", "--sample", "1", "--once")
    async with FakeOpenAI(role_of=lambda _: "critic") as models:
        models.default("critic", text("late", gate="never"))
        config = configured(tmp_path, models, gates={"critic": {"timeout_s": 1}})
        end = await pursuit(tmp_path, tmp_path, *line, "--config", str(config))
    assert end.code == 1
    assert (
        f"call failed: critic at {models.base_url} did not finish its answer within 1 s" in end.err
    )


def test_the_environment_of_these_processes_names_no_model(tmp_path: Path) -> None:
    assert not [name for name in environment(tmp_path) if name.startswith("OPENAI")]
