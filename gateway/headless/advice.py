"""What people are advised to do, for a run that is over and hears no command. Pure."""

from __future__ import annotations

import re

_MARKS = ("⏸", "⛔", "⚠")
"""What a pause, a block and a failure begin with; other lines quote what people wrote."""
_CAPS = {"tokens": "max_tokens", "cost": "max_cost", "time": "max_seconds"}
_BUDGET = re.compile(
    r" An owner can raise it, for example /goal budget (\w+)=\S+, then /goal resume\.$"
)
_OTHER = {
    " Use /goal resume to keep going, or /goal clear to stop.": " Raise goals.max_turns for more.",
    " Answer here, or /goal resume after you have changed something.": "",
    " An owner can set the model's price in the configuration, or cap tokens instead: /goal "
    "budget cost=none tokens=N, then /goal resume.": " Set the model's price in the "
    "configuration, or goals.max_tokens in place of goals.max_cost.",
    ", then /goal resume.": ", then run it again.",
    " Start a new session with /new, or use": " Give it a smaller task, or use",
    " Start a new session with /new, or set": " Give it a smaller task, or set",
}


def followable(line: str) -> str:
    """A line that tells how something ended badly, with advice that can be followed; any other
    line as it is."""
    if not line.startswith(_MARKS):
        return line
    line = _BUDGET.sub(lambda found: f" Raise goals.{_CAPS.get(found[1], found[1])}.", line)
    for theirs, ours in _OTHER.items():
        line = line.replace(theirs, ours)
    return line
