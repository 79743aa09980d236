"""Reads the function calls out of what the small model wrote.

Pure. A reply is calls only when it starts with one, bare or in a code fence; a call quoted behind
prose is never taken for one, since it may come from a file that the model only repeats. Calls may
follow each other; what follows the last one was written before any result was seen and is dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"```(?:json)?\s*")
_GAP = re.compile(r"[\s,]*(?:```\s*)?(?:```(?:json)?\s*)?")
_CUT_CALL = re.compile(r'\{\s*"name"\s*:\s*"([^"\\]+)"\s*,\s*"arguments"\s*:\s*(\{.*)', re.DOTALL)
_OPENINGS = ("{", "```")
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call as the model wrote it; `arguments` is the text of a JSON object, perhaps cut off."""

    name: str
    arguments: str


def read_calls(text: str, *, cut: bool) -> tuple[WrittenCall, ...]:
    """The calls that `text` starts with; none when it is an answer.

    `cut` says that the output limit ended the text: an unfinished call then comes with the part
    of its arguments that is there, as from any other server.
    """
    text = text.strip()
    if fence := _FENCE.match(text):
        text = text[fence.end() :]
    return tuple(_calls(text, cut=cut))


def may_become_call(text: str) -> bool:
    """Whether a text that is still growing could turn out to be a call."""
    start = text.lstrip()
    return any(start.startswith(o) or o.startswith(start) for o in _OPENINGS)


def _calls(text: str, *, cut: bool) -> Iterator[WrittenCall]:
    at = 0
    while at < len(text):
        try:
            value, end = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError:
            if cut and (unfinished := _CUT_CALL.match(text, at)):
                yield WrittenCall(unfinished[1], unfinished[2])
            return
        match value:
            case {"name": str(name), "arguments": dict(arguments), **rest} if name and not rest:
                yield WrittenCall(name, json.dumps(arguments, ensure_ascii=False))
            case _:
                return
        gap = _GAP.match(text, end)
        at = gap.end() if gap else end
