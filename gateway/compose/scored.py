"""Scores a model of the settings on the labelled rows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from core.ports import Model
from gateway.compose.models import Models
from gateway.compose.setup import LocalModel
from gateway.evals.results import Results
from gateway.evals.rows import Row
from gateway.evals.scoring import Asked
from gateway.evals.seats import Judging, Seat, ask
from gateway.settings import Choice, Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A model, the seat it is put into, and the rows; `jobs` are asked at a time. With `twice`
    rows that can be are asked a second time, reordered."""

    choice: Choice
    seat: Seat
    rows: Sequence[Row]
    timeout_s: float
    jobs: int = 4
    twice: bool = True

    def asks_again(self, row: Row) -> bool:
        """Whether the row is asked reordered as well."""
        return self.twice and row.movable

    def knows(self, row: Row, results: Results) -> bool:
        """Whether there is nothing left to ask of it."""
        found = results.known.get(row.id)
        return found is not None and (found[1] is not None or not self.asks_again(row))


Progress = Callable[[int, Asked], None]
"""Told of each row: how many are done, and the word on it."""


def score_model(
    settings: Settings,
    data: Path,
    trial: Trial,
    results: Results,
    progress: Progress,
    local: LocalModel | None,
) -> list[Asked]:
    """Ask the model all rows that the results do not know, and give the words on all."""
    asyncio.run(_score(settings, data, trial, results, progress, local))
    return [results.of(row) for row in trial.rows]


async def _score(
    settings: Settings,
    data: Path,
    trial: Trial,
    results: Results,
    progress: Progress,
    local: LocalModel | None,
) -> None:
    async with AsyncExitStack() as stack:
        endpoint = (
            None if local is None else await stack.enter_async_context(local(settings, data))
        )
        models = Models(settings, endpoint)
        model = models.of(trial.choice)
        await models.load()
        stack.push_async_callback(models.close)
        await ask_all(model, trial, results, progress)


async def ask_all(model: Model, trial: Trial, results: Results, progress: Progress) -> None:
    """Ask a model the rows that are left, some at a time."""
    left = [row for row in trial.rows if not trial.knows(row, results)]
    done = count(len(trial.rows) - len(left) + 1)
    judging = Judging(model, trial.choice.local, trial.timeout_s)
    waiting = iter(left)

    async def work() -> None:
        for row in waiting:
            word = await ask(trial.seat, row, judging)
            again = None
            if trial.asks_again(row):
                again = await ask(trial.seat, row.reordered(), judging)
            results.keep(row, word, again)
            progress(next(done), results.of(row))

    async with asyncio.TaskGroup() as group:
        for n in range(min(trial.jobs, len(left))):
            group.create_task(work(), name=f"rows {n}")
