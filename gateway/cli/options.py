"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

config_option = click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The configuration file (default: config.yaml in $PURSUIT_HOME or ~/.config/pursuit).",
)
data_option = click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The data folder (default: $PURSUIT_HOME or ~/.local/state/pursuit).",
)
log_level_option = click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="The least that is logged.",
)
