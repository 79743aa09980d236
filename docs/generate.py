"""Writes what the docs derive from code: the state diagrams, and the README's command table.

Run it with `make docs`; a test fails when the files are not what it would write.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from core.commands import COMMANDS
from core.goals import machine as goals
from core.sessions import machine as sessions

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
MACHINES = ROOT / "docs" / "state-machines.md"
START, END = "<!-- commands -->\n", "<!-- /commands -->"

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
    return (
        HEAD
        + diagram("A lane", "core/sessions/machine.py", "Idle", lane)
        + diagram("A goal", "core/goals/machine.py", "active", goal)
    )


def command_table() -> str:
    """The README's table of chat commands."""
    rows = [
        f"| `/{spec.name}` | {spec.summary} | {spec.when.value} | {spec.role.value} |"
        for spec in COMMANDS
    ]
    return "\n".join(["| command | what it does | when | for |", "|---|---|---|---|", *rows, ""])


def readme() -> str:
    """The README with its table as it should be."""
    before, _, rest = README.read_text(encoding="utf-8").partition(START)
    after = rest.partition(END)[2]
    return before + START + command_table() + END + after


def main() -> None:
    """Write both files."""
    MACHINES.write_text(state_machines(), encoding="utf-8")
    README.write_text(readme(), encoding="utf-8")


if __name__ == "__main__":
    main()
