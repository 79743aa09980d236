"""A tool call that a model wrote as its answer's text, found again. Pure.

Only where the whole text is one call of a tool that the request offered: an answer that merely
quotes a call must stay an answer.
"""

from __future__ import annotations

import json
import re

from adapters.openai.jsontext import json_object

_WRAPPED = (
    re.compile(r"```[a-zA-Z_]*\s*(.*?)\s*```", re.DOTALL),
    re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>)?", re.DOTALL),
)
_KEYS = frozenset({"name", "arguments", "parameters", "type", "id"})


def written_call(text: str, tools: frozenset[str]) -> tuple[str, str] | None:
    """The name and JSON arguments of the call that `text` is, None when it is not one."""
    inner = _unwrapped(text.strip()) if tools else ""
    call = json_object(inner) if inner.startswith("{") else None
    if call is None or not call.keys() <= _KEYS:
        return None
    name = call.get("name")
    if not isinstance(name, str) or name not in tools:
        return None
    match call.get("arguments", call.get("parameters")):
        case dict() as given:
            return name, json.dumps(given, ensure_ascii=False)
        case str() as given if json_object(given) is not None:
            # Some models write the arguments as a string that holds JSON.
            return name, given
        case _:
            return None


def _unwrapped(text: str) -> str:
    """`text` without a fence and tags round it, in either order but no deeper."""
    if not text.endswith(("}", "```", ">")):
        return ""
    for wrapping in (*_WRAPPED, *_WRAPPED):
        if match := wrapping.fullmatch(text):
            text = match[1]
    return text
