"""`pursuit up` and `pursuit chat`: load the settings, then hand over to the composition root."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal, TypeAlias

import click

from gateway.cli.options import config_option, data_option, log_level_option
from gateway.logs import LOG_FILE, configure_logs
from gateway.redact import Redactor
from gateway.settings import Layer, data_dir, load, secrets_of

Attach: TypeAlias = Literal["none", "terminal", "lines"]


@click.command()
@config_option
@data_option
@log_level_option
@click.option(
    "--chat",
    is_flag=True,
    help="Attach a chat: this terminal, or a message a line from standard input.",
)
def up(config: Path | None, data: Path | None, log_level: str | None, *, chat: bool) -> int:
    """Run the gateway: every enabled platform, until it is told to stop."""
    return _start(config, data, log_level, attach=_here() if chat else "none", platforms=True)


@click.command()
@config_option
@data_option
@log_level_option
def chat(config: Path | None, data: Path | None, log_level: str | None) -> int:
    """Talk to Pursuit here, in the terminal; no other platform is started.

    Where standard input is no terminal, each line of it is a message, and the command ends
    when the last one is answered and no goal is at work.
    """
    return _start(config, data, log_level, attach=_here(), platforms=False)


def _here() -> Attach:
    return "terminal" if sys.stdin.isatty() and sys.stdout.isatty() else "lines"


def _start(
    config: Path | None,
    data: Path | None,
    log_level: str | None,
    *,
    attach: Attach,
    platforms: bool,
) -> int:
    flags = Layer({"logs": {"level": log_level}}, {("logs", "level"): "--log-level"})
    settings = load(config, flags=flags if log_level else None)
    folder = data_dir(data)
    redact = Redactor(secrets_of(settings))
    configure_logs(settings.logs, redact, folder / LOG_FILE if attach == "terminal" else None)
    from gateway.compose import run  # after the settings: it takes a second to load the SDKs

    return run(settings, data=folder, attach=attach, platforms=platforms)
