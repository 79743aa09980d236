"""`pursuit config check|show|schema`."""

from __future__ import annotations

from pathlib import Path

import click

from gateway.cli.options import config_option
from gateway.redact import Redactor
from gateway.settings import config_file, load, secrets_of
from gateway.settings.show import as_yaml, schema_text


@click.group()
def config() -> None:
    """Check or show the configuration."""


@config.command(short_help="Say whether it can be used.")
@config_option
def check(config: Path | None) -> None:
    """Say whether the configuration can be used; exit 78 with every fault if not."""
    load(config)
    file = config_file(config)
    what = f"{file} is valid" if file else "no configuration file; the defaults are in effect"
    click.echo(f"✓ {what}")


@config.command(short_help="Print the settings in effect.")
@config_option
def show(config: Path | None) -> None:
    """Print the settings in effect, from all sources, with secrets masked."""
    settings = load(config)
    click.echo(f"# from {config_file(config) or 'the defaults: there is no configuration file'}")
    click.echo(Redactor(secrets_of(settings))(as_yaml(settings)), nl=False)


@config.command(short_help="Print its JSON schema.")
def schema() -> None:
    """Print the JSON schema of the configuration, for editors."""
    click.echo(schema_text())
