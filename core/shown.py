"""The reason that the small local model gives first, and how far it is believed. Pure.

Going through a task's parts in words, with the evidence copied, is what makes so small a model
look at them at all; and what it copied can be looked up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.evidence import ARGUMENTS_SHOWN, FILE_NAME, RESULT_SHOWN, SeenCall, named_files
from core.fence import one_line, plain
from core.transcript import Json

REASON: dict[str, Json] = {
    "type": "string",
    "pattern": "^Shown: [^\\n]{1,220} Not shown: [^\\n]{1,120}$",
}
"""The JSON schema of such a reason."""
NOTHING = "Not shown: nothing"
_ANCHORS = re.compile(rf'{FILE_NAME}|"[^"]+"|exit code -?\d+')


def call_line(seen: SeenCall) -> str:
    """A call on one line, shorter than other models are shown it."""
    receipt = seen.receipt
    ended = "ok" if receipt.ok else "failed"
    if receipt.exit_code is not None:
        ended = f"exit code {receipt.exit_code}"
    result = " ".join(plain(seen.result)[-RESULT_SHOWN:].split())
    if receipt.ok and receipt.path:
        result = f"wrote {receipt.path} ({receipt.size} bytes)"
    call = f"{one_line(seen.tool, 60)} {one_line(seen.arguments, ARGUMENTS_SHOWN)}"
    return f"{call}: {ended}" + (f", {result}" if result else "")


def objection(reason: str, calls: Sequence[SeenCall], *, task: str, evidence: str) -> str:
    """What speaks against a "done" with this reason, "" for nothing: a small model is not
    believed on its word.

    Each file that the task names must be in evidence. The reason must say that nothing is
    missing and rest on something in the evidence, and no file, quotation or exit code in it may
    be invented. And the last of the calls must have gone well.
    """
    absent = [name for name in named_files(task) if name not in evidence]
    if absent:
        return f"Not there yet: {', '.join(absent[:10])}."
    cited = _ANCHORS.findall(reason)
    borne_out = cited and all(_stands(anchor, evidence) for anchor in cited)
    if not borne_out or misses(reason):
        return f"No tool call or file proves it yet. ({reason})"
    return "The last call failed." if calls and not calls[-1].receipt.ok else ""


def misses(reason: str) -> bool:
    """Whether the reason itself names something that is missing."""
    return not reason.rstrip().rstrip(".").endswith(NOTHING)


def _stands(anchor: str, evidence: str) -> bool:
    """Whether the evidence has it; a short quotation counts with its marks, since a letter or a
    digit stands somewhere in any text."""
    return anchor in evidence or (len(anchor) > 8 and anchor.strip('"') in evidence)
