"""Writes what the docs derive from code: state diagrams, the command table, the settings, Slack's
manifest.

Run it with `make docs`; a test fails when the files are not what it would write.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import yaml
from pydantic.fields import FieldInfo

from adapters.slack.menu import manifest
from core.branches import machine as branches
from core.commands import COMMANDS
from core.escalations import machine as escalations
from core.goals import machine as goals
from core.sessions import machine as sessions
from gateway.settings.keys import ANY, fields, group_in

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
MACHINES = ROOT / "docs" / "state-machines.md"
SETTINGS = ROOT / "docs" / "configuration.md"
SLACK = ROOT / "docs" / "slack-manifest.yaml"

HEAD = """\
# State machines

Drawn from the `EDGES` table beside each machine (`make docs`); Hypothesis holds them to it.
"""


def diagram(title: str, source: str, first: str, edges: Mapping[str, list[str]]) -> str:
    """One machine as a Mermaid state diagram; states without an edge out are ends."""
    lines = [f"  [*] --> {first}"]
    for state, targets in edges.items():
        lines.extend(f"  {state} --> {target}" for target in targets if target != state)
        if not targets:
            lines.append(f"  {state} --> [*]")
    body = "\n".join(lines)
    return f"\n## {title}\n\n`{source}`\n\n```mermaid\nstateDiagram-v2\n{body}\n```\n"


def state_machines() -> str:
    """The page of all machines."""
    lane = {
        phase.__name__: sorted(target.__name__ for target in targets)
        for phase, targets in sessions.EDGES.items()
    }
    goal = {
        status.value: sorted(target.value for target in targets)
        for status, targets in goals.EDGES.items()
    }
    branch = {
        status.value: sorted(target.value for target in targets)
        for status, targets in branches.EDGES.items()
    }
    escalation = {
        state.value: sorted(target.value for target in targets)
        for state, targets in escalations.EDGES.items()
    }
    return (
        HEAD
        + diagram("A lane", "core/sessions/machine.py", "Idle", lane)
        + diagram("A goal", "core/goals/machine.py", "active", goal)
        + diagram("A branch table's run", "core/branches/machine.py", "validating", branch)
        + diagram("An escalation", "core/escalations/machine.py", "pending_send", escalation)
    )


def command_table() -> str:
    """The README's table of chat commands."""
    rows = [
        f"| `/{spec.name}` | {spec.summary} | {spec.when.value} | {spec.role.value} |"
        for spec in COMMANDS
    ]
    return "\n".join(["| command | what it does | when | for |", "|---|---|---|---|", *rows, ""])


def settings_tables() -> str:
    """Every key of the configuration, a table for each group."""
    tables: list[str] = []
    for path, info in fields():
        said = " ".join((info.description or "").split())
        if len(path) == 1:
            head = "| key | default | meaning |\n|---|---|---|"
            tables.append(f"### `{path[0]}`\n\n{said}\n\n{head}\n")
        elif not group_in(info.annotation) or info.default is None:
            key = ".".join("<name>" if part == ANY else str(part) for part in path)
            tables[-1] += f"| `{key}` | {_default(info)} | {said} |\n"
    return "\n" + "\n".join(tables) + "\n"


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "needed"
    value = info.get_default(call_default_factory=True)
    match value:
        case None | bool():
            return f"`{json.dumps(value)}`"
        case tuple():
            return f"`[{', '.join(map(str, value))}]`"
        case float():
            return f"`{value:g}`"
        case _:
            return f"`{value}`"


def filled(file: Path, mark: str, content: str) -> str:
    """The file with what stands between `<!-- mark -->` and `<!-- /mark -->` as it should be."""
    start, end = f"<!-- {mark} -->\n", f"<!-- /{mark} -->"
    before, _, rest = file.read_text(encoding="utf-8").partition(start)
    return before + start + content + end + rest.partition(end)[2]


def readme() -> str:
    """The README with its table as it should be."""
    return filled(README, "commands", command_table())


def configuration() -> str:
    """The page of all settings as it should be."""
    return filled(SETTINGS, "settings", settings_tables())


def slack_manifest() -> str:
    """The Slack app as Slack's page for new apps takes it."""
    head = "# The Slack app for Pursuit, made of the command table by `make docs`; see slack.md.\n"
    body = yaml.safe_dump(dict(manifest()), sort_keys=False, allow_unicode=True, width=1_000)
    return head + str(body)


def main() -> None:
    """Write the files."""
    MACHINES.write_text(state_machines(), encoding="utf-8")
    README.write_text(readme(), encoding="utf-8")
    SETTINGS.write_text(configuration(), encoding="utf-8")
    SLACK.write_text(slack_manifest(), encoding="utf-8")


if __name__ == "__main__":
    main()
