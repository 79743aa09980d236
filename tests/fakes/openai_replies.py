"""What the fake OpenAI server can be told to answer. Values only; see `openai_api` for use.

An `Answer` is a model's reply and how it is sent; a `Refusal` is an HTTP error or anything else
that is not a stream.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from tests.fakes.openai_wordings import OVERFLOWS

Fault: TypeAlias = Literal["", "cut", "stall", "drop", "error", "corrupt"]
Indexes: TypeAlias = Literal["each", "none", "zero"]
Ids: TypeAlias = Literal["once", "always", "never", "same"]


@dataclass(frozen=True, slots=True)
class Called:
    """A tool call of an answer; `arguments` is JSON text, which may be cut on purpose."""

    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A reply.

    `split` is how many characters of text or arguments go into a chunk (0: all in one).
    `gate` names a gate that must open before the first byte, `gate_after` one before the last
    chunk; `delay_s` waits instead. `fault` strikes after the last piece and before the finish:
    "cut" ends the stream cleanly, "drop" breaks the connection, "stall" says no more, "error"
    sends an error object, "corrupt" sends broken JSON. `indexes`, `ids` and `interleaved` say how
    the server writes its tool calls. `noise` mixes in the empty chunks that real servers send.
    """

    text: str = ""
    calls: tuple[Called, ...] = ()
    split: int = 0
    gate: str = ""
    gate_after: str = ""
    delay_s: float = 0.0
    finish: str = ""
    fault: Fault = ""
    error: str = "The server had an error while processing your request"
    indexes: Indexes = "each"
    ids: Ids = "once"
    interleaved: bool = False
    noise: bool = False
    whole: bool = False
    """Send one JSON object though the client asked for a stream."""
    usage: tuple[int, int, int] | None = None
    """Input, cached and output tokens; None counts characters, as `silent` sends none."""
    silent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An HTTP answer that is no completion."""

    status: int
    body: str
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    gate: str = ""


Scripted: TypeAlias = Answer | Refusal


def text(words: str, **how: object) -> Answer:
    """A final answer. `how` are fields of Answer."""
    return replace(Answer(text=words), **how)  # type: ignore[arg-type]


def calls(*asked: tuple[str, Mapping[str, object] | str], **how: object) -> Answer:
    """Tool calls: `calls(("run", {"command": "ls"}))`. A string is sent as it is."""
    made = tuple(
        Called(name, given if isinstance(given, str) else json.dumps(given))
        for name, given in asked
    )
    return replace(Answer(calls=made), **how)  # type: ignore[arg-type]


def verdict(*, done: bool, reason: str = "judged", blocked: bool = False) -> Answer:
    """A judge's reply."""
    return text(json.dumps({"reason": reason, "done": done, "blocked": blocked}))


def refusal(status: int, message: str, **error: object) -> Refusal:
    """An error with the usual body; `error` adds to it (`code=`, `type=`, `param=`)."""
    return Refusal(status=status, body=json.dumps({"error": {"message": message, **error}}))


def rate_limited(retry_after: str | float | None = None) -> Refusal:
    """429, with the header where a value is given."""
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    return replace(
        refusal(429, "Rate limit reached", type="requests", code="rate_limit_exceeded"),
        headers=headers,
    )


def server_error(status: int = 500) -> Refusal:
    """A server's own fault."""
    return refusal(status, "The server had an error", type="server_error")


def html(status: int = 200) -> Refusal:
    """A web page, as from a proxy or a wrong base_url."""
    page = "<!doctype html><html><body><h1>Welcome</h1></body></html>"
    return Refusal(status=status, body=page, content_type="text/html")


def overflow(style: str = "openai") -> Refusal:
    """The conversation is too long, in one of OVERFLOWS' wordings."""
    status, error = OVERFLOWS[style]
    return Refusal(status=status, body=json.dumps({"error": error}))


def null_choices(words: str) -> Answer:
    """An answer among chunks with `choices: null`, empty choices and null deltas."""
    return Answer(text=words, split=3, noise=True)
