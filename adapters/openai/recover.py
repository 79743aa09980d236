"""A tool call that a model wrote as its answer's text, found again. Pure.

Only where the whole text is one call of a tool that the request offered: an answer that merely
quotes a call must stay an answer.
"""

from __future__ import annotations

import json
import re

_WRAPPED = (
    re.compile(r"```[a-zA-Z_]*\s*(.*?)\s*```", re.DOTALL),
    re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>)?", re.DOTALL),
)
_KEYS = frozenset({"name", "arguments", "parameters", "type", "id"})


def written_call(text: str, tools: frozenset[str]) -> tuple[str, str] | None:
    """The name and JSON arguments of the call that `text` is, None when it is not one."""
    inner = text.strip()
    if not tools or not inner.endswith(("}", "```", ">")):
        return None
    # A fence round tags or tags round a fence; never deeper.
    for _ in _WRAPPED:
        for wrapping in _WRAPPED:
            if match := wrapping.fullmatch(inner):
                inner = match[1]
    if not inner.startswith("{"):
        return None
    try:
        call = json.loads(inner)
    except (ValueError, RecursionError):
        return None
    if not isinstance(call, dict) or not call.keys() <= _KEYS or call.get("name") not in tools:
        return None
    arguments = call.get("arguments", call.get("parameters"))
    if isinstance(arguments, str):
        return _from_string(call["name"], arguments)
    if not isinstance(arguments, dict):
        return None
    return call["name"], json.dumps(arguments, ensure_ascii=False)


def _from_string(name: str, arguments: str) -> tuple[str, str] | None:
    """Some models write the arguments as a string that holds JSON."""
    try:
        whole = isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        whole = False
    return (name, arguments) if whole else None
