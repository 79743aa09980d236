"""Text that a model wrote, as JSON and as Unicode; it may be neither. Pure."""

from __future__ import annotations

import json


def json_object(text: str) -> dict[str, object] | None:
    """The object that `text` is, None when it is something else or broken."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def sound(text: str) -> str:
    """`text` without lone surrogates, which no database and no platform takes.

    Servers send them where a token ends inside an emoji. Two halves that have met become one
    character again.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
