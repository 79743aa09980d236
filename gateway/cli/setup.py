"""`pursuit setup`: a first configuration by questions and answers."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gateway.cli.options import config_option

NO_TERMINAL = (
    "pursuit setup asks questions, and needs a terminal for that. Without one: copy "
    "config.example.yaml to {file}, change what you need (chmod 600), and try it with "
    "`pursuit doctor`."
)


@click.command()
@config_option
def setup(config: Path | None) -> None:
    """Write a first configuration: where you talk to it, your id there, and the model."""
    from gateway.settings import config_home, config_place
    from gateway.settings.first import document, refuse_to_overwrite, write_new

    file = config_place(config)
    refuse_to_overwrite(file)
    if not _is_terminal():
        raise click.UsageError(NO_TERMINAL.format(file=file))
    from gateway.cli.wizard import ask

    answers = ask()
    write_new(file, document(answers))
    click.echo(f"✓ {file} is written, for you alone (0600).")
    named = "" if file == config_home() / "pursuit" / "config.yaml" else f" --config {file}"
    click.echo(f"Next:\n  pursuit doctor{named}     # tries the tokens and the model")
    click.echo(f"  pursuit up{named}         # starts it")
    for bot in answers.bots:
        if bot.owner is None:
            click.echo(
                f"Then write to the bot on {bot.name.capitalize()}; it answers with a code. Let "
                "yourself in with: pursuit pair approve CODE --role owner"
            )


def _is_terminal() -> bool:
    return all(s is not None and s.isatty() for s in (sys.__stdin__, sys.__stdout__))
