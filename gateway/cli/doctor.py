"""`pursuit doctor`: what is wrong here, why that matters, and how to mend it."""

from __future__ import annotations

from pathlib import Path

import click

from core.findings import Finding, fault, well
from gateway.cli.options import config_option, data_option
from gateway.doctor.report import as_json, as_text, faulty
from gateway.redact import Redactor
from gateway.settings import ConfigError, Settings, config_file, data_place, load, secrets_of

CONFIGURATION = "configuration"


@click.command()
@config_option
@data_option
@click.option("--json", "as_data", is_flag=True, help="Print JSON.")
def doctor(config: Path | None, data: Path | None, *, as_data: bool) -> int:
    """Look for what is wrong: configuration, tokens, models, sandbox, disk, clock and more.

    Platforms, models and MCP servers are asked. Nothing is changed. The exit code is 1 when
    a fault is found.
    """
    redact = Redactor()
    try:
        settings = load(config)
    except ConfigError as error:
        found = [_broken(str(problem)) for problem in error.problems]
        found += _looked_at_anyway(data_place(data))
    else:
        redact = Redactor(secrets_of(settings))
        file = config_file(config)
        found = [well(CONFIGURATION, f"{file or 'the defaults'} can be used")]
        found += _examined(settings, file, data_place(data))
    click.echo(redact(as_json(found) if as_data else as_text(found)))
    return int(faulty(found))


def _broken(problem: str) -> Finding:
    return fault(
        CONFIGURATION,
        problem,
        why="nothing starts with a configuration that is not valid",
        fix="Correct that place; `pursuit config check` looks again, and config.example.yaml "
        "shows every key.",
    )


def _looked_at_anyway(data: Path) -> list[Finding]:
    """What needs no settings."""
    from gateway.doctor.machine import check_disk
    from gateway.doctor.places import check_folder

    return [*check_folder(data), *check_disk(data)]


def _examined(settings: Settings, file: Path | None, data: Path) -> list[Finding]:
    import asyncio

    from gateway.compose.doctor import examine
    from gateway.logs import configure_logs

    quiet = settings.logs.model_copy(update={"level": "error"})  # what fails is a finding
    configure_logs(quiet, Redactor(secrets_of(settings)))
    return asyncio.run(examine(settings, file, data))
