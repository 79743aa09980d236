"""The control socket's lines: one JSON object asks, one answers. Pure; opens nothing.

`{"do": "status", …}` is answered with `{"ok": true, "data": {…}}`, or with
`{"ok": false, "error": "a sentence"}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from core.errors import UserError
from core.transcript import Json

SOCKET_NAME = "control.sock"
MAX_REQUEST = 8 * 1024
MAX_RESPONSE = 1024 * 1024

Data: TypeAlias = Mapping[str, Json]


class Malformed(UserError):
    """A line that is no request, or no response."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for, with its words."""

    do: str
    words: Mapping[str, str]


def dump_request(request: Request) -> bytes:
    """A request's line."""
    return _line({"do": request.do, **request.words})


def load_request(line: bytes) -> Request:
    """The request in a line. Raises Malformed."""
    found = _object(line)
    do = found.pop("do", None)
    if not isinstance(do, str):
        raise Malformed('A request is a JSON object with a "do".')
    words = {key: value for key, value in found.items() if isinstance(value, str)}
    if len(words) < len(found):
        raise Malformed("The words of a request are strings.")
    return Request(do, words)


def dump_data(data: Data) -> bytes:
    """The line of a good answer."""
    line = _line({"ok": True, "data": dict(data)})
    return line if len(line) <= MAX_RESPONSE else dump_error("The answer is too long.")


def dump_error(text: str) -> bytes:
    """The line of a refusal."""
    return _line({"ok": False, "error": text})


def load_response(line: bytes) -> Data:
    """The answer in a line. Raises UserError with the other side's words, or Malformed."""
    found = _object(line)
    data = found.get("data")
    if found.get("ok") is True and isinstance(data, dict):
        return data
    raise UserError(str(found.get("error", "the gateway gave no reason")))


def _line(value: Mapping[str, Json]) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode() + b"\n"


def _object(line: bytes) -> dict[str, Json]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Malformed("This is no JSON line.") from error
    if not isinstance(found, dict):
        raise Malformed("A line is a JSON object.")
    return found
