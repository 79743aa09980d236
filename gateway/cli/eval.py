"""`pursuit eval`: scripted tasks through the whole agent; `eval judge` and `eval critic` score a
model on labelled rows."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gateway.cli.options import log_level_option
from gateway.logs import configure_logs
from gateway.redact import Redactor
from gateway.settings.schema import Logs

FAULT = 1
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
