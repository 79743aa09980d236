"""What the commands share that ask a running gateway, or read its folder where none runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta

import click

from core.transcript import Json

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def print_json(data: Mapping[str, Json]) -> None:
    """Data for programs."""
    click.echo(json.dumps(data, ensure_ascii=False, indent=2))


def chat_of(lane: str) -> str:
    """A lane's chat for people: `telegram 123`, with its thread."""
    platform, _, chat, thread, _ = lane.split("|")
    return f"{platform} {chat}" + (f"/{thread}" if thread else "")


def lasted(seconds: float) -> str:
    """A time span as a person reads it."""
    return str(timedelta(seconds=round(seconds)))


def one_line(text: str, limit: int = 60) -> str:
    """A text in one line of a list; what could steer the terminal is left out."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return plain if len(plain) <= limit else plain[: limit - 1].rstrip() + "…"
