"""JSON text that a model wrote, which may be anything. Pure."""

from __future__ import annotations

import json


def json_object(text: str) -> dict[str, object] | None:
    """The object that `text` is, None when it is something else or broken."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
