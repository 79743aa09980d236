"""Runs scripted tasks through the whole program: real lanes, store, tools and gates, on models
that recite."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from adapters.scripted_model.model import ScriptedModel
from adapters.workspace.listing import OWN_FOLDER
from core.ports import Model
from core.sessions.conversation import Question
from core.transcript import Json
from gateway.compose.agent import Task, spent, work
from gateway.compose.run import Choices
from gateway.evals.fingerprint import Counts
from gateway.evals.task import (
    AGENT,
    CHECKER,
    CHILD,
    CRITIC,
    FOLDER,
    JUDGE,
    Came,
    ScriptedTask,
)
from gateway.headless.report import Report
from gateway.settings import Choice, Settings

PATIENCE_S = 60.0
"""How long a task may take before it counts as one that hangs."""
TIERS = {AGENT: 1, JUDGE: 1, CRITIC: 1, CHILD: 2, CHECKER: 3, FOLDER: 4}
SETTINGS: Mapping[str, Json] = {
    "providers": {"script": {"base_url": "http://127.0.0.1:9/v1", "api_key": "none"}},
    "agent": {"model": AGENT, "toolsets": ["terminal", "file"]},
    "auxiliary": {
        "goal_judge": {"model": JUDGE},
        "acceptance_judge": {"model": CHECKER},
        "compaction": {"model": FOLDER},
    },
    # What the tasks run is harmless, and a sandbox is not everywhere.
    "workspace": {"sandbox": "none"},
    "logs": {"level": "error"},
}


class _Cast:
    """The models of a task, each made once."""

    def __init__(self, task: ScriptedTask) -> None:
        self._task = task
        self.made: dict[str, ScriptedModel] = {}

    def of(self, choice: Choice) -> Model:
        """The model of that name."""
        name, task = choice.name, self._task
        if name not in self.made:
            window = task.windows.get(name, 100_000)
            script = task.scripts.get(name, ())
            self.made[name] = ScriptedModel(name, script, context_tokens=window)
        return self.made[name]

    @property
    def left(self) -> Mapping[str, int]:
        """The lines that were not said, by model."""
        unsaid = {name: len(script) for name, script in self._task.scripts.items()}
        return unsaid | {name: model.left for name, model in self.made.items()}

    @property
    def calls(self) -> int:
        """How often a model was asked."""
        return sum(model.asked for model in self.made.values())


class _ScriptedPerson:
    """Answers what is asked, in order; leaves when nothing is left to say."""

    def __init__(self, answers: Sequence[str]) -> None:
        self._answers = list(answers)

    async def answer(self, question: Question, choices: Sequence[str]) -> str | None:
        """See `Person.answer`."""
        return self._answers.pop(0) if self._answers else None


def run_scripted(task: ScriptedTask) -> tuple[Came, Counts]:
    """Run one task; what came of it, and what it used."""
    told: list[str] = []
    report = Report(
        tell=lambda line, _: told.append(line) if line else None,
        redact=lambda text: text,
        told_answers=True,
    )
    cast = _Cast(task)
    with tempfile.TemporaryDirectory(prefix="pursuit-eval-") as root:
        data, folder = Path(root, "data"), Path(root, "work").resolve()
        folder.mkdir()
        asyncio.run(_run(task, cast, report, data, folder))
        files = {
            str(path.relative_to(folder)): path.read_text(encoding="utf-8")
            for path in sorted(folder.rglob("*"))
            if path.is_file() and OWN_FOLDER not in path.parts
        }
        used = spent(data)
    counts = Counts(
        name=task.name,
        turns=used.turns,
        calls=cast.calls,
        tokens_in=used.usage.input_tokens,
        tokens_out=used.usage.output_tokens,
    )
    return Came(told=told, files=files, left=cast.left), counts


async def _run(task: ScriptedTask, cast: _Cast, report: Report, data: Path, folder: Path) -> None:
    person = None if task.answers is None else _ScriptedPerson(task.answers)
    errand = Task(lines=task.says, folder=folder)
    async with asyncio.timeout(PATIENCE_S):
        await work(_settings(task), data, errand, Choices(cast=cast.of), report, person)


def _settings(task: ScriptedTask) -> Settings:
    models: dict[str, Json] = {
        name: {"provider": "script", "model": name, "tier": tier} for name, tier in TIERS.items()
    }
    tree: dict[str, Json] = {**SETTINGS, "models": models}
    for group, changes in task.settings.items():
        before = tree.get(group)
        both = isinstance(before, dict) and isinstance(changes, dict)
        tree[group] = {**before, **changes} if both else changes  # type: ignore[dict-item]
    return Settings.model_validate(tree)
