"""`pursuit pair list|approve|remove`: let people in who asked the bot for a code."""

from __future__ import annotations

from pathlib import Path

import click

from gateway.cli.asking import json_option, print_json
from gateway.cli.options import data_option
from gateway.control.client import NotRunning, ask
from gateway.control.wire import Data

FAULT = 1


@click.group()
def pair() -> None:
    """Let people in who asked the bot for a code."""


@pair.command("list", short_help="Who waits and who was let in.")
@data_option
@json_option
def list_(data: Path | None, *, as_json: bool) -> int:
    """Say who waits to be let in, and who was."""
    return _say(_order(data, order="list"), as_json=as_json)


@pair.command(short_help="Let the person with a code in.")
@click.argument("code")
@click.option(
    "--role",
    type=click.Choice(["member", "owner"]),
    default="member",
    show_default=True,
    help="A member talks and sets goals; an owner may do everything.",
)
@data_option
@json_option
def approve(code: str, role: str, data: Path | None, *, as_json: bool) -> int:
    """Let the person in who was given CODE; exit 1 when there is no such code."""
    return _say(_order(data, order="approve", code=code, role=role), as_json=as_json)


@pair.command(short_help="Let a person out again.")
@click.argument("who", metavar="ID")
@data_option
@json_option
def remove(who: str, data: Path | None, *, as_json: bool) -> int:
    """Let the person with ID (or PLATFORM:ID) out again; exit 1 when nobody of it was let in."""
    return _say(_order(data, order="remove", who=who), as_json=as_json)


def _order(data: Path | None, **words: str) -> Data:
    from gateway.settings import data_dir

    folder = data_dir(data)
    try:
        return ask(folder, "pair", **words)
    except NotRunning:
        from gateway.compose import offline

        return offline.pairing(folder, words)


def _say(found: Data, *, as_json: bool) -> int:
    if as_json:
        print_json(found)
    else:
        click.echo(found["text"], err=not found["done"])
    return 0 if found["done"] else FAULT
