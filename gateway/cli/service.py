"""`pursuit service install`: Pursuit as a service of systemd."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gateway.cli.options import config_option, data_option


@click.group()
def service() -> None:
    """Run Pursuit as a service of systemd."""


@service.command(short_help="Write the unit files.")
@config_option
@data_option
@click.option("--user", is_flag=True, help="A service of your own user instead of the machine's.")
@click.option(
    "--strict",
    is_flag=True,
    help="Leave out the drop-in that allows the sandbox: the agent can then run no commands.",
)
@click.option("--print", "show", is_flag=True, help="Print the files and write nothing.")
@click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("/"),
    metavar="DIR",
    help="Write below this folder, for packages.",
)
def install(
    config: Path | None, data: Path | None, root: Path, *, user: bool, strict: bool, show: bool
) -> None:
    """Write the unit files, and say what is left to do."""
    from gateway.service.install import check_visible, for_system, for_user
    from gateway.service.install import install as write
    from gateway.service.unit import CONFIG, Start
    from gateway.settings import config_home

    home = config_home()
    usual = home / "pursuit" / "config.yaml" if user else CONFIG
    start = Start(
        program=Path(sys.argv[0]).absolute()
        if Path(sys.argv[0]).name == "pursuit"
        else Path(sys.executable).with_name("pursuit"),
        config=config.absolute() if config else usual,
        data=data.absolute() if data else None,
    )
    what = for_user(start, home) if user else for_system(start, sandbox=not strict, root=root)
    if show:
        for path, text in what.files.items():
            click.echo(f"# {path}\n{text}")
        return
    if not user:
        check_visible(start)
    write(what)
    for path in what.files:
        click.echo(f"✓ {path}")
    click.echo(
        f"Next{'' if user else ', as root'}:\n"
        + "\n".join(f"  {step}" for step in what.next_steps)
    )
