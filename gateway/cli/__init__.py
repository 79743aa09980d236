"""The command line: `pursuit`.

Imports nothing heavy: `pursuit --help` must answer within 0.15 s, so each command lives in a
module of its own that is loaded when it is called. Standard output carries answers only.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from gateway.cli.lazy import LazyGroup
from gateway.cli.outcome import Outcome

COMMANDS = {
    "up": ("gateway.cli.start:up", "Run the gateway: every enabled platform."),
    "chat": ("gateway.cli.start:chat", "Talk to Pursuit here, in the terminal."),
    "agent": ("gateway.cli.agent:agent", "Carry out one task here, without a chat."),
    "status": ("gateway.cli.status:status", "How the running gateway is."),
    "sessions": ("gateway.cli.sessions:sessions", "The conversations of all chats."),
    "pair": ("gateway.cli.pair:pair", "Let people in who asked the bot for a code."),
    "setup": ("gateway.cli.setup:setup", "Write a first configuration by questions and answers."),
    "doctor": ("gateway.cli.doctor:doctor", "Look for faults here, and how to mend them."),
    "config": ("gateway.cli.config:config", "Check or show the configuration."),
    "eval": ("gateway.cli.eval:evals", "Scripted tasks, and how well a model judges."),
    "service": ("gateway.cli.service:service", "Run Pursuit as a service of systemd."),
    "local": ("gateway.cli.local:local", "The embedded local model."),
}
"""Every command: where it is, and what it does."""


class _Commands(LazyGroup):
    lazy = COMMANDS


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="pursuit", message="%(prog)s %(version)s")
@click.pass_context
def pursuit(context: click.Context) -> None:
    """Pursuit works on a goal turn after turn until an independent judge says it is done.

    Start with `pursuit chat`, type `/goal` and what you want done.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return the exit code (see `gateway.cli.outcome`)."""
    with Outcome() as outcome:
        result = pursuit.main(args=argv, prog_name="pursuit", standalone_mode=False)
        outcome.code = result if isinstance(result, int) else 0
    return outcome.code
