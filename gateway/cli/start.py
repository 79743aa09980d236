"""`pursuit up` and `pursuit chat`: load the settings, pick what runs, hand over.

The parts that are not used are not imported: each brings an SDK with it.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from core.errors import Misconfigured, UserError
from gateway.cli.options import config_option, data_option, log_level_option
from gateway.logs import LOG_FILE, configure_logs
from gateway.redact import Redactor
from gateway.service.unit import ENVIRONMENT
from gateway.settings import (
    Layer,
    Settings,
    data_dir,
    load,
    secret_places,
    secrets_of,
    uses_local_model,
)

if TYPE_CHECKING:
    from core.ports import Platform
    from gateway.compose.run import Choices
    from gateway.compose.setup import PlatformMaker, Setup


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What a command starts: the settings' platforms, a chat here, and in which folder it works
    (None: one in the data folder)."""

    platforms: bool
    chat: bool
    folder: Path | None = None


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
    return _start(config, data, log_level, _Wanted(platforms=True, chat=chat))


@click.command()
@config_option
@data_option
@log_level_option
def chat(config: Path | None, data: Path | None, log_level: str | None) -> int:
    """Talk to Pursuit here, in the terminal; no other platform is started.

    The agent works in the current directory, and each directory has a conversation and a goal of
    its own. Where standard input is no terminal, each line of
    it is a message, and the command ends when the last one is answered and no goal is at work.
    """
    wanted = _Wanted(platforms=False, chat=True, folder=here())
    return _start(config, data, log_level, wanted)


def here() -> Path:
    """The current directory, by the one name that it has whatever links led to it."""
    try:
        return Path.cwd().resolve()
    except FileNotFoundError as error:
        raise UserError(
            "The current directory is not there any more; change to another."
        ) from error


def _start(config: Path | None, data: Path | None, log_level: str | None, wanted: _Wanted) -> int:
    gc.disable()  # a fifth of the start is looking for garbage among what is being loaded
    level = Layer({"logs": {"level": log_level}}, {("logs", "level"): "--log-level"})
    flags = level if log_level else None
    settings = load(config, flags=flags)
    folder = data_dir(data)
    # A chat that draws on the terminal would be torn by log lines.
    drawn = wanted.chat and _drawshere()
    target = folder / LOG_FILE if drawn else None
    configure_logs(settings.logs, Redactor(secrets_of(settings)), target)
    from gateway.compose.run import run

    choices = replace(_choices(settings, wanted), hidden=hidden(config))
    if wanted.platforms:
        from gateway.cli.accompany import Way, accompanied

        way = Way(load=partial(load, config, flags=flags), config=config, log=target)
        choices = accompanied(choices, settings, way)
    gc.freeze()  # what is loaded stays: no collection need look at it again
    gc.enable()
    return run(settings, folder, choices)


def hidden(config: Path | None) -> tuple[Path, ...]:
    """What the agent must not see, with the variables of a user's own service."""
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home, as containers have
        return secret_places(config)
    return (*secret_places(config), home / ENVIRONMENT)


def _drawshere() -> bool:
    """Whether a chat would fill this terminal; a closed stream is None."""
    return all(s is not None and s.isatty() for s in (sys.__stdin__, sys.__stdout__))


def _choices(settings: Settings, wanted: _Wanted) -> Choices:
    from gateway.compose.run import Choices

    platforms = list(_platforms(settings)) if wanted.platforms else []
    alone = not platforms and not wanted.chat
    page = _web(settings, wanted, alone=alone, drawn=wanted.chat and _drawshere())
    choices = Choices(platforms=[*platforms, *([page] if page else [])])
    if wanted.chat:
        from gateway.compose.console import console
        from gateway.compose.folders import address_of

        choices = replace(choices, console=console, talk=address_of(wanted.folder))
    if uses_local_model(settings):
        from gateway.compose.local import serving

        choices = replace(choices, local=serving)
    return choices


def _platforms(settings: Settings) -> Sequence[PlatformMaker]:
    makers: list[PlatformMaker] = []
    if settings.platforms.telegram.enabled:
        from gateway.compose.telegram import telegram

        makers.append(telegram)
    if settings.platforms.discord.enabled:
        from gateway.compose.discord import discord

        makers.append(discord)
    if settings.platforms.slack.enabled:
        from gateway.compose.slack import slack

        makers.append(slack)
    return [_of_settings(maker) for maker in makers]


def _of_settings(maker: PlatformMaker) -> PlatformMaker:
    """The maker, whose refusals are faults of the configuration: it looks at nothing else."""

    @wraps(maker)
    def made(setup: Setup) -> Platform:
        try:
            return maker(setup)
        except Misconfigured:
            raise
        except UserError as error:
            raise Misconfigured(str(error)) from error

    return made


def _web(settings: Settings, wanted: _Wanted, *, alone: bool, drawn: bool) -> PlatformMaker | None:
    """The web chat, where it is asked for, or where nothing else is there to talk with."""
    enabled = settings.platforms.web.enabled
    if not wanted.platforms or not (alone if enabled is None else enabled):
        return None
    from gateway.compose.web import web

    # A chat here has standard output for itself; one that draws on the terminal comes after.
    return partial(web, to=sys.stderr if wanted.chat else sys.stdout, early=drawn)
