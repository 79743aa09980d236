"""A Request as the bytes of a chat completion or of a response. Pure.

The same prefix of a conversation gives the same bytes in every call: keys keep their order,
nothing depends on time or chance, and the messages come last, so that a request is a literal
prefix of the next one up to the end of its own messages. Providers' prompt caches live on that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from adapters.openai.dialect import Dialect
from adapters.openai.jsontext import json_object
from adapters.openai.options import ModelOptions
from core.ports import Request
from core.transcript import Assistant, Entry, Json, Result, ToolCall, User

_CHARS_PER_TOKEN = 4
_IMAGE_TOKENS = 1_000
_EFFORTS = frozenset({"reasoning", "reasoning_effort"})


def chat_body(request: Request, options: ModelOptions, dialect: Dialect) -> bytes:
    """The body for POST /chat/completions."""
    body: dict[str, Json] = {"model": options.model, "stream": True}
    if dialect.stream_options:
        body["stream_options"] = {"include_usage": True}
    limit = request.max_tokens or options.max_output_tokens
    body["max_tokens" if dialect.max_tokens else "max_completion_tokens"] = limit
    _add_temperature(body, request, options, dialect)
    if dialect.effort and (effort := effort_of(request, options)):
        body["reasoning_effort"] = effort
    if request.schema is not None and dialect.json_schema:
        shape: Json = {"name": "reply", "strict": True, "schema": dict(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    body.update(options.params)
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                },
            }
            for tool in request.tools
        ]
    messages: list[Json] = [{"role": "system", "content": request.system}]
    messages.extend(_chat_message(entry, vision=options.vision) for entry in request.messages)
    body["messages"] = messages if request.system else messages[1:]
    return _to_bytes(body)


def responses_body(request: Request, options: ModelOptions, dialect: Dialect) -> bytes:
    """The body for POST /responses; nothing is kept on the server."""
    body: dict[str, Json] = {"model": options.model, "stream": True, "store": False}
    body["max_output_tokens"] = request.max_tokens or options.max_output_tokens
    _add_temperature(body, request, options, dialect)
    if dialect.effort and (effort := effort_of(request, options)):
        body["reasoning"] = {"effort": effort}
    if request.schema is not None and dialect.json_schema:
        shape: dict[str, Json] = {"type": "json_schema", "name": "reply", "strict": True}
        body["text"] = {"format": {**shape, "schema": dict(request.schema)}}
    body.update(options.params)
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
                "strict": False,
            }
            for tool in request.tools
        ]
    if request.system:
        body["instructions"] = request.system
    items: list[Json] = []
    for entry in request.messages:
        items.extend(_response_items(entry, vision=options.vision))
    body["input"] = items
    return _to_bytes(body)


def effort_of(request: Request, options: ModelOptions) -> str:
    """The effort to ask for, "" for none: servers refuse it beside a model's own words for it."""
    return "" if _EFFORTS & options.params.keys() else request.effort


def estimated_input(request: Request) -> int:
    """Tokens of a request, by its characters, for servers that count none."""
    chars = len(request.system)
    images = 0
    for entry in request.messages:
        chars += len(entry.text)
        if isinstance(entry, User):
            images += len(entry.images)
        elif isinstance(entry, Assistant):
            chars += sum(len(call.name) + len(call.arguments) for call in entry.calls)
    for tool in request.tools:
        chars += len(tool.name) + len(tool.description) + len(json.dumps(dict(tool.parameters)))
    return estimated_tokens(chars) + images * _IMAGE_TOKENS


def estimated_tokens(chars: int) -> int:
    """Tokens of so many characters, rounded up."""
    return -(-chars // _CHARS_PER_TOKEN)


def whole_arguments(arguments: str) -> str:
    """A call's arguments as they came when they are a JSON object, else `{}`.

    Several servers parse the arguments of earlier calls and answer 500 to cut ones, for ever.
    """
    return arguments if json_object(arguments) is not None else "{}"


def _add_temperature(
    body: dict[str, Json], request: Request, options: ModelOptions, dialect: Dialect
) -> None:
    heat = options.temperature if request.temperature is None else request.temperature
    if heat is not None and dialect.temperature:
        body["temperature"] = heat


def _chat_message(entry: Entry, *, vision: bool) -> Json:
    match entry:
        case User(text, images) if images and vision:
            parts: list[Json] = [{"type": "text", "text": text}]
            parts.extend({"type": "image_url", "image_url": {"url": url}} for url in images)
            return {"role": "user", "content": parts}
        case User():
            return {"role": "user", "content": _plain(entry)}
        case Assistant(text, ()):
            return {"role": "assistant", "content": text}
        case Assistant(text, calls):
            asked: list[Json] = [_chat_call(call) for call in calls]
            return {"role": "assistant", "content": text or None, "tool_calls": asked}
        case Result(call_id, text):
            return {"role": "tool", "tool_call_id": call_id, "content": text}


def _chat_call(call: ToolCall) -> Json:
    function: Json = {"name": call.name, "arguments": whole_arguments(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _response_items(entry: Entry, *, vision: bool) -> Iterator[Json]:
    match entry:
        case User(text, images) if images and vision:
            parts: list[Json] = [{"type": "input_text", "text": text}]
            parts.extend({"type": "input_image", "image_url": url} for url in images)
            yield {"role": "user", "content": parts}
        case User():
            yield {"role": "user", "content": _plain(entry)}
        case Assistant(text, calls):
            if text or not calls:
                yield {"role": "assistant", "content": text}
            for call in calls:
                # Without the server's own item ids: those would tie a call to a reasoning item
                # that nobody kept.
                yield {
                    "type": "function_call",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": whole_arguments(call.arguments),
                }
        case Result(call_id, text):
            yield {"type": "function_call_output", "call_id": call_id, "output": text}


def _plain(entry: User) -> str:
    """The text of a message for a model without eyes, which is told what it does not see."""
    match len(entry.images):
        case 0:
            return entry.text
        case 1:
            return f"{entry.text}\n\n[An image was left out: this model takes none.]"
        case count:
            return f"{entry.text}\n\n[{count} images were left out: this model takes none.]"


def _to_bytes(body: dict[str, Json]) -> bytes:
    # Lone surrogates come in through servers that cut an emoji in two; echoed as they are they
    # would make every later call of the session fail to encode.
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
