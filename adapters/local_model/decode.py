"""Translates between OpenAI's chat completions and what the native server does well.

Pure. The native server's own parser answers 500 to everything that starts like JSON and is not
exactly one known call, which at temperature 0 no retry mends. So it is asked for raw text, and the
call is read out here; raw mode ignores `response_format`, so a schema goes as a grammar.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from adapters.local_model.calls import NEXT_CALL, WrittenCall, may_become_call, read_call

JsonObject = dict[str, Any]


def read_object(text: bytes | str) -> JsonObject:
    """The JSON object in `text`; raises ValueError for anything else."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004  one error for all bad input
    return value


def native_request(body: JsonObject, grammar_of: Callable[[str], str]) -> JsonObject:
    """The request as the native server takes it; `grammar_of` compiles a JSON schema.

    Raises ValueError for a `response_format` or `stop` that is not as OpenAI has them.
    """
    native = {key: value for key, value in body.items() if key != "response_format"}
    if wants_calls(body):
        native["stop"] = [*_stops(body.get("stop")), NEXT_CALL]
    match body.get("response_format"):
        case None | {"type": "text"}:
            return native
        case {"type": "json_object"}:
            schema: JsonObject = {"type": "object"}
        case {"type": "json_schema", "json_schema": {"schema": dict(schema)}}:
            pass
        case other:
            raise ValueError(f"response_format is not understood: {other!r}")
    return {**native, "grammar": grammar_of(json.dumps(schema))}


def _stops(given: object) -> list[str]:
    match given:
        case None:
            return []
        case str(one):
            return [one]
        case [*many] if all(isinstance(each, str) for each in many):
            return [str(each) for each in many]
        case other:
            raise ValueError(f"stop is not understood: {other!r}")


def wants_calls(body: JsonObject) -> bool:
    """Whether a reply may call functions."""
    return bool(body.get("tools")) and body.get("tool_choice") != "none"


def with_call(reply: JsonObject) -> JsonObject:
    """A whole reply with the call that its text is."""
    return {
        **reply,
        "choices": [_choice_with_call(choice, reply["id"]) for choice in reply["choices"]],
    }


def _choice_with_call(choice: JsonObject, reply_id: str) -> JsonObject:
    message, finish = choice["message"], choice["finish_reason"]
    call = read_call(message.get("content") or "", cut=finish == "length")
    if call is None:
        return choice
    return {
        **choice,
        "message": {**message, "content": None, "tool_calls": [_tool_call(call, reply_id)]},
        "finish_reason": _finish(finish),
    }


def _tool_call(call: WrittenCall, reply_id: str) -> JsonObject:
    function = {"name": call.name, "arguments": call.arguments}
    # A transcript holds many replies of one call each, so the id comes from the reply.
    return {"id": f"call_{reply_id}", "type": "function", "function": function}


def _finish(reason: str) -> str:
    return "length" if reason == "length" else "tool_calls"


@dataclass(slots=True)
class CallStream:
    """Rewrites the chunks of one streamed reply, holding text back while it may be a call."""

    held: str = ""
    plain: bool = False

    def feed(self, chunk: JsonObject) -> Iterator[JsonObject]:
        """What to send for the next chunk; a held one becomes an empty delta, a sign of life."""
        if self.plain or not chunk.get("choices"):
            yield chunk
            return
        choice = chunk["choices"][0]
        delta = dict(choice["delta"])
        self.held += delta.pop("content", None) or ""
        finish = choice.get("finish_reason")
        if finish is not None:
            yield from self._end(chunk, finish)
        elif may_become_call(self.held):
            yield _chunk(chunk, delta, None)
        else:
            self.plain = True
            yield _chunk(chunk, {**delta, "content": self.held}, None)

    def _end(self, chunk: JsonObject, finish: str) -> Iterator[JsonObject]:
        if call := read_call(self.held, cut=finish == "length"):
            written = {"index": 0, **_tool_call(call, chunk["id"])}
            yield _chunk(chunk, {"tool_calls": [written]}, None)
            finish = _finish(finish)
        elif self.held:
            yield _chunk(chunk, {"content": self.held}, None)
        yield _chunk(chunk, {}, finish)


def _chunk(like: JsonObject, delta: JsonObject, finish: str | None) -> JsonObject:
    choice = {**like["choices"][0], "delta": delta, "finish_reason": finish}
    return {**like, "choices": [choice]}
