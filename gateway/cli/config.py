"""`pursuit config check|show|schema`."""

from __future__ import annotations

from pathlib import Path

import click

from core.transcript import Json
from gateway.cli.asking import json_option, print_json
from gateway.cli.options import config_option
from gateway.cli.outcome import BAD_CONFIG
from gateway.redact import Redactor
from gateway.settings import ConfigError, config_file, load, secrets_of
from gateway.settings.show import as_data, as_yaml, schema_text


@click.group()
def config() -> None:
    """Check or show the configuration."""


@config.command(short_help="Say whether it can be used.")
@config_option
@json_option
def check(config: Path | None, *, as_json: bool) -> int:
    """Say whether the configuration can be used; exit 78 with every fault if not."""
    file = config_file(config)
    if as_json:
        return _checked(config, file)
    load(config)
    what = f"{file} is valid" if file else "no configuration file; the defaults are in effect"
    click.echo(f"✓ {what}")
    return 0


def _checked(config: Path | None, file: Path | None) -> int:
    problems: list[Json] = []
    try:
        load(config)
    except ConfigError as error:
        problems = [{"where": p.where, "key": p.key, "text": p.text} for p in error.problems]
    print_json({"ok": not problems, "file": str(file) if file else None, "problems": problems})
    return BAD_CONFIG if problems else 0


@config.command(short_help="Print the settings in effect.")
@config_option
@json_option
def show(config: Path | None, *, as_json: bool) -> None:
    """Print the settings in effect, from all sources, with secrets masked."""
    settings = load(config)
    if as_json:
        print_json(as_data(settings))
        return
    click.echo(f"# from {config_file(config) or 'the defaults: there is no configuration file'}")
    click.echo(Redactor(secrets_of(settings))(as_yaml(settings)), nl=False)


@config.command(short_help="Print its JSON schema.")
def schema() -> None:
    """Print the JSON schema of the configuration, for editors."""
    click.echo(schema_text())
