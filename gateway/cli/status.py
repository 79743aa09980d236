"""`pursuit status`: how the gateway is, asked through its control socket."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from core.errors import UserError
from core.transcript import Json
from gateway.cli.asking import chat_of, json_option, lasted, one_line, print_json
from gateway.cli.options import data_option
from gateway.cli.outcome import UNAVAILABLE
from gateway.control.client import NotRunning, ask
from gateway.control.wire import Data

FAULT = 1
UP = "up"


@click.command()
@data_option
@json_option
def status(data: Path | None, *, as_json: bool) -> int:
    """Say how the running gateway is; exit 69 when none runs, 1 when a platform is not well."""
    from gateway.settings import data_dir

    folder = data_dir(data)
    try:
        found = ask(folder, "status")
    except NotRunning:
        return _not_running(folder, as_json=as_json)
    if as_json:
        print_json(found)
    else:
        click.echo("\n".join([*_head(found), *_work(found)]))
    return 0 if all(p["state"] == UP for p in _list(found, "platforms")) else FAULT


def _not_running(folder: Path, *, as_json: bool) -> int:
    from gateway.compose import offline

    try:
        left: dict[str, Json] = offline.status(folder)
        why = ""
    except UserError as error:
        left, why = {}, str(error)
    if as_json:
        print_json({"running": False, "data": str(folder), **left})
    else:
        click.echo(f"No Pursuit is running in {folder}.")
        click.echo(why or "\n".join(_work(left)))
    return UNAVAILABLE


def _head(found: Data) -> list[str]:
    stopping = ", stopping" if found["stopping"] else ""
    up = lasted(float(str(found["uptime_s"])))
    lines = [
        f"Running for {up}{stopping} (process {found['pid']}, version {found['version']}, "
        f"model {found['model']})",
        f"Data: {found['data']}",
    ]
    for platform in _list(found, "platforms"):
        well = platform["state"] == UP
        said = "" if well else f": {one_line(str(platform['detail']), 200)}"
        heard = f"heard {lasted(float(str(platform['silent_s'])))} ago"
        mark = "✓" if well else "✗"
        lines.append(f"{mark} {platform['name']} {platform['state']}, {heard}{said}")
    return lines


def _work(found: Mapping[str, Json]) -> list[str]:
    working, outbox = found["working"], found["outbox"]
    if not isinstance(working, list) or not isinstance(outbox, dict):
        raise TypeError("status is not what the desk sends")
    lines = [f"Turns: {len(working)} under way, {found['queued']} messages wait"]
    lines.extend(f"· {chat_of(str(lane))}" for lane in working)
    dead = f", {outbox['undeliverable']} undeliverable" if outbox["undeliverable"] else ""
    lines.append(f"To be sent: {outbox['waiting']}{dead}")
    goals = _list(found, "goals")
    lines.append(f"Goals: {len(goals)}" if goals else "Goals: none")
    for goal in goals:
        where, text = chat_of(str(goal["lane"])), one_line(str(goal["text"]))
        lines.append(f"· {where}: {text} ({goal['status']}, {goal['turns']}/{goal['of']} turns)")
    return lines


def _list(found: Mapping[str, Json], key: str) -> list[dict[str, Json]]:
    listed = found[key]
    if not isinstance(listed, list):
        raise TypeError("status is not what the desk sends")
    return [item for item in listed if isinstance(item, dict)]
