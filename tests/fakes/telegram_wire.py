"""How a call's parameters travel: as a form, JSON, multipart or in the query. Decoding only."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web

from tests.fakes.telegram_world import Obj

INTS = frozenset({"chat_id", "message_id", "message_thread_id", "draft_id", "offset", "limit"})
TEXTS = frozenset({"text", "caption"})


async def parameters(request: web.Request) -> Obj:
    """The parameters from a form, JSON, multipart or the query; uploads as (name, bytes)."""
    kind = request.content_type
    if kind == "application/json":
        raw: Obj = await request.json()
    elif kind == "multipart/form-data":
        raw = {}
        for key, value in (await request.post()).items():
            if isinstance(value, web.FileField):
                raw[key] = (value.filename, value.file.read())
            else:
                raw[key] = value
    else:
        raw = dict(request.query) | dict(parse_qsl(await request.text(), keep_blank_values=True))
    return {key: _value(key, value) for key, value in raw.items()}


def _value(key: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if key in INTS:
        try:
            return int(value)
        except ValueError:
            return value
    if value[:1] in {"[", "{"} and key not in TEXTS:
        return json.loads(value)
    return value
