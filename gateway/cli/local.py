"""`pursuit local pull|serve`: the embedded model, by itself."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gateway.cli.options import config_option, data_option
from gateway.download_progress import drawn
from gateway.logs import configure_logs
from gateway.redact import Redactor
from gateway.settings import data_dir, load, secrets_of


@click.group()
def local() -> None:
    """The embedded local model."""


@local.command(short_help="Fetch the model and check it.")
@config_option
@data_option
def pull(config: Path | None, data: Path | None) -> None:
    """Fetch the model's file and check it; prints its path."""
    settings = load(config)
    folder = data_dir(data)
    from gateway.compose.local import pull as fetched  # brings the adapter with it

    with drawn("Local model", sys.stderr) as progress:
        path = fetched(settings, folder, progress)
    click.echo(path)


@local.command(short_help="Serve it on loopback.")
@config_option
@data_option
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0 takes a free one.")
def serve(config: Path | None, data: Path | None, port: int) -> int:
    """Serve the model on loopback as an OpenAI-compatible endpoint, until interrupted."""
    settings = load(config)
    folder = data_dir(data)
    configure_logs(settings.logs, Redactor(secrets_of(settings)))
    from gateway.compose.local import serve as served  # brings the adapter with it

    return served(settings, folder, port)
