"""`pursuit eval`: scripted tasks through the whole agent; `eval judge` and `eval critic` score a
model on labelled rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gateway.cli.options import config_option, data_option, log_level_option
from gateway.logs import configure_logs
from gateway.redact import Redactor
from gateway.settings import Choice, Settings, catalogue, data_dir, load, secrets_of
from gateway.settings.choice import no_such
from gateway.settings.load import LOCAL_TIMEOUT_S
from gateway.settings.schema import Logs

if TYPE_CHECKING:
    from gateway.compose.setup import LocalModel
    from gateway.evals.scoring import Asked

FAULT = 1
NOT_SCORED = (
    "{count} of {rows} rows were not scored, since a call failed; {id}: {why}. Nothing of them is "
    "kept: the same command asks them again."
)
NO_SUCH = "There is no task of that name: {names}. There are: {there}."


@click.group(invoke_without_command=True)
@click.option("--accept", is_flag=True, help="Keep the fingerprint as it is now.")
@click.option("--task", "only", multiple=True, metavar="NAME", help="Run this task alone.")
@log_level_option
@click.pass_context
def evals(
    context: click.Context, log_level: str | None, *, accept: bool, only: tuple[str, ...]
) -> int:
    """Run scripted tasks through the whole agent, on models that recite; no network is used.

    Prints a line a task and a fingerprint of turns and tokens, which is kept in a file: exit 1
    when a task goes wrong, or when the fingerprint has moved and the file has not.
    """
    if context.invoked_subcommand is not None:
        return 0
    if accept and only:
        raise click.UsageError("--accept keeps the fingerprint of all tasks; leave --task out.")
    # Faults are part of some tasks; what comes of them is what is looked at.
    logs = Logs.model_validate({"level": log_level or "error"})
    configure_logs(logs, Redactor(), None if log_level else Path(os.devnull))
    return _run(only, accept=accept)


def _run(only: tuple[str, ...], *, accept: bool) -> int:
    from gateway.compose.scripted import run_scripted
    from gateway.evals import fingerprint
    from gateway.evals.task import faults
    from gateway.evals.tasks import TASKS

    there = [task.name for task in TASKS]
    if unknown := sorted(set(only) - set(there)):
        text = NO_SUCH.format(names=", ".join(unknown), there=", ".join(there))
        raise click.BadParameter(text, param_hint="--task")
    counts, wrong = [], False
    for task in TASKS:
        if only and task.name not in only:
            continue
        came, count = run_scripted(task)
        counts.append(count)
        found = faults(task, came)
        wrong = wrong or bool(found)
        click.echo(f"{'✗' if found else '✓'} {count.line}")
        for fault in found:
            click.echo(f"    {fault}", err=True)
    click.echo(fingerprint.fingerprint(counts))
    if wrong:
        return FAULT
    if accept:
        fingerprint.accept(counts)
        return 0
    moved = "" if only else fingerprint.moved(counts)
    if moved:
        click.echo(moved, err=True)
    return FAULT if moved else 0


_MODEL = click.option("--model", required=True, metavar="M", help="A name under `models`.")
_SAMPLE = click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help="Ask N rows only, each kind by its share: for slow models.",
)
_SEED = click.option("--seed", type=int, default=0, metavar="S", help="Which N rows.")
_RESULTS = click.option(
    "--results",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Keep each word there at once; a run that was cut goes on from it.",
)
_JOBS = click.option(
    "--jobs", type=click.IntRange(1, 64), default=4, show_default=True, help="Rows at a time."
)
_ONCE = click.option("--once", is_flag=True, help="Ask no row a second time, reordered.")
_SETS = click.option(
    "--rows",
    "sets",
    multiple=True,
    type=click.Choice(["checks", "receipts", "attacks", "controls"]),
    help="This set of rows alone; may be given several times.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the command line asks for; `sample` None is all rows, `sets` () all sets."""

    model: str
    sample: int | None
    seed: int
    results: Path | None
    jobs: int
    once: bool
    sets: tuple[str, ...]
    config: Path | None
    data: Path | None


def _options(command: Callable[..., int]) -> Callable[..., int]:
    for option in (data_option, config_option, _SETS, _ONCE, _JOBS, _RESULTS, _SEED, _SAMPLE):
        command = option(command)
    return _MODEL(command)


@evals.command()
@click.option(
    "--seat",
    type=click.Choice(["goal", "acceptance"]),
    default="goal",
    show_default=True,
    help="The judge of goals, or of what children deliver.",
)
@_options
def judge(seat: str, **given: object) -> int:
    """Score a model as a judge on the labelled rows; prints a Markdown table.

    Each row is asked with the question that Pursuit itself asks. False pass: not done, and
    passed. False fail: done, and failed. Unverified: no verdict, or none that is believed.
    Exit 1 when calls failed, so that rows are without a score.
    """
    return _score(seat, Wanted(**given))  # type: ignore[arg-type]  # click has seen to their types


@evals.command()
@_options
def critic(**given: object) -> int:
    """Score a model as the critic on the labelled rows; prints a Markdown table.

    As `pursuit eval judge`, from the seat of the critic gate.
    """
    return _score("critic", Wanted(**given))  # type: ignore[arg-type]  # likewise


def _score(seat_name: str, wanted: Wanted) -> int:
    settings = load(wanted.config)
    if wanted.model not in settings.models:
        text = no_such("model", wanted.model, settings.models)
        raise click.BadParameter(text, param_hint="--model")
    redact = Redactor(secrets_of(settings))
    configure_logs(settings.logs, redact)
    from gateway.compose.scored import Trial, score_model
    from gateway.evals.results import Results
    from gateway.evals.rows import Rows, kept
    from gateway.evals.sample import sample
    from gateway.evals.scoring import table
    from gateway.evals.seats import Seat

    seat = Seat(seat_name)
    rows = kept([Rows(name) for name in wanted.sets] or tuple(Rows))
    choice = catalogue(settings, wanted.model)
    trial = Trial(
        choice=choice,
        seat=seat,
        rows=rows if wanted.sample is None else sample(rows, wanted.sample, wanted.seed),
        timeout_s=_timeout_s(settings, choice, seat_name),
        jobs=wanted.jobs,
        twice=not wanted.once,
    )
    results = Results(wanted.results, seat, wanted.model)
    results.open()
    told = _teller(len(trial.rows), redact)
    try:
        asked = score_model(settings, data_dir(wanted.data), trial, results, told, _local(choice))
    finally:
        results.close()
    click.echo(table(asked, f"{seat}, {wanted.model}"))
    return _verdict(asked, redact)


def _teller(rows: int, redact: Redactor) -> Callable[[int, Asked], None]:
    """Says on standard error what came of each row."""

    def tell(count: int, asked: Asked) -> None:
        label = "done" if asked.done else "not done"
        again = "" if asked.again is None else f", reordered {asked.again}"
        click.echo(redact(f"{count}/{rows} {asked.id} ({label}): {asked.said}{again}"), err=True)

    return tell


def _verdict(asked: Sequence[Asked], redact: Redactor) -> int:
    """The exit code; says so where calls failed."""
    failed = [row for row in asked if row.failure]
    if not failed:
        return 0
    why = failed[0].failure.rstrip(".")
    text = NOT_SCORED.format(count=len(failed), rows=len(asked), id=failed[0].id, why=why)
    click.echo(redact(text), err=True)
    return FAULT


def _timeout_s(settings: Settings, choice: Choice, seat: str) -> float:
    """As the product gives that seat; the embedded model takes its time."""
    if seat == "critic" and settings.gates.critic.timeout_s:
        return settings.gates.critic.timeout_s
    tasks = settings.auxiliary
    task = {
        "goal": tasks.goal_judge,
        "acceptance": tasks.acceptance_judge,
        "critic": tasks.critic,
    }[seat]
    return max(task.timeout_s, LOCAL_TIMEOUT_S) if choice.local else task.timeout_s


def _local(choice: Choice) -> LocalModel | None:
    if not choice.local:
        return None
    from gateway.compose.local import serving

    return serving
