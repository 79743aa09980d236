"""Reads the function call out of what the small model wrote.

Pure. A reply is a call only when it starts with one, bare or in a code fence; a call quoted behind
prose is never taken for one, since it may come from a file that the model only repeats. What comes
after it was written before any result was seen, so it is dropped, further calls included.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

NEXT_CALL = '\n{"name"'
"""Where to stop a reply that goes on with another call; the next reply makes that one anew."""

_FENCE = re.compile(r"```(?:json)?\s*")
_CUT_CALL = re.compile(r'\{\s*"name"\s*:\s*"([^"\\]+)"\s*,\s*"arguments"\s*:\s*(\{.*)', re.DOTALL)
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
MOST_FORGOTTEN = 3
_OPENINGS = ("{", "```")
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call as the model wrote it; `arguments` is the text of a JSON object, perhaps cut off."""

    name: str
    arguments: str


def read_call(text: str, *, cut: bool) -> WrittenCall | None:
    """The call that `text` starts with; None when it is an answer.

    `cut` says that the output limit ended the text: an unfinished call then comes with the part
    of its arguments that is there, as from any other server.
    """
    text = text.strip()
    if fence := _FENCE.match(text):
        text = text[fence.end() :]
    try:
        value, _ = _DECODER.raw_decode(text if cut else _closed(text))
    except json.JSONDecodeError:
        unfinished = _CUT_CALL.match(text) if cut else None
        return unfinished and WrittenCall(unfinished[1], unfinished[2])
    match value:
        case {"name": str(name), "arguments": dict(arguments), **rest} if name and not rest:
            return WrittenCall(name, json.dumps(arguments, ensure_ascii=False))
        case _:
            return None


def _closed(text: str) -> str:
    """The text with the closing brackets that it lacks: in a nested call the model now and then
    forgets the last ones. Text in quotes does not count."""
    open_ones: list[str] = []
    for found in _BRACKETS.findall(text):
        if found in _CLOSING:
            open_ones.append(_CLOSING[found])
        elif open_ones and found == open_ones[-1]:
            open_ones.pop()
            if not open_ones:
                return text
    return text + "".join(reversed(open_ones)) if len(open_ones) <= MOST_FORGOTTEN else text


def may_become_call(text: str) -> bool:
    """Whether a text that is still growing could turn out to be a call."""
    start = text.lstrip()
    return any(start.startswith(o) or o.startswith(start) for o in _OPENINGS)
