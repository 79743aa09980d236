"""`pursuit sessions`: the conversations of all chats."""

from __future__ import annotations

from pathlib import Path

import click

from core.goals.texts import counted
from gateway.cli.asking import chat_of, json_option, one_line, print_json
from gateway.cli.options import data_option
from gateway.control.client import NotRunning, ask
from gateway.control.wire import Data


@click.command()
@data_option
@json_option
def sessions(data: Path | None, *, as_json: bool) -> int:
    """List the sessions of all chats, newest first, whether the gateway runs or not."""
    from gateway.settings import data_dir

    folder = data_dir(data)
    try:
        found = ask(folder, "sessions")
    except NotRunning:
        from gateway.compose import offline

        found = offline.sessions(folder)
    if as_json:
        print_json(found)
        return 0
    for line in _lines(found) or ["No sessions yet."]:
        click.echo(line)
    return 0


def _lines(found: Data) -> list[str]:
    listed = found["sessions"]
    if not isinstance(listed, list):
        raise TypeError("sessions are not what the desk sends")
    lines: list[str] = []
    for fact in listed:
        if isinstance(fact, dict):
            title = one_line(str(fact["title"])) or "(empty)"
            goal = f", goal {fact['goal']}" if fact["goal"] else ""
            now = ", current" if fact["current"] else ""
            where = chat_of(str(fact["lane"]))
            turns = counted(int(str(fact["turns"])), "turn")
            lines.append(f"#{fact['id']} {where}: {title} ({turns}{goal}{now})")
    return lines
