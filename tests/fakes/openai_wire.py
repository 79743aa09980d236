"""The bytes that the fake OpenAI server sends for an Answer, as chat chunks or as responses
events. Pure; text answers of the same words are rendered once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache

from tests.fakes.openai_replies import Answer, Called

DONE = b"data: [DONE]\n\n"


def sse(data: object, event: str = "") -> bytes:
    """One server-sent event."""
    head = f"event: {event}\n".encode() if event else b""
    return head + b"data: " + json.dumps(data, separators=(",", ":")).encode() + b"\n\n"


@lru_cache(maxsize=256)
def plain_stream(answer: Answer, model: str) -> tuple[bytes, bytes]:
    """`chat_stream` for answers without calls, which are the same every time."""
    return chat_stream(answer, model, "chatcmpl-fake")


def chat_stream(answer: Answer, model: str, answer_id: str) -> tuple[bytes, bytes]:
    """The chunks before the last, and the last, which says why the answer ended."""
    base = {"id": answer_id, "object": "chat.completion.chunk", "created": 0, "model": model}

    def chunk(delta: object, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return sse({**base, "choices": [choice]})

    body = [chunk({"role": "assistant", "content": ""})]
    if answer.noise:
        body += [b": comment\n\n", sse({**base, "choices": None}), sse({**base, "choices": []})]
        body.append(chunk({"content": None, "reasoning_content": "hm", "tool_calls": None}))
    for piece in pieces(answer.text, answer.split):
        body.append(chunk({"content": piece}))
        if answer.noise:
            body.append(chunk({"content": None}))
    body += [chunk({"tool_calls": [fragment]}) for fragment in fragments(answer, answer_id)]
    return b"".join(body), chunk({}, answer.finish or ("tool_calls" if answer.calls else "stop"))


def usage_chunk(answer: Answer, model: str, prompt_tokens: int) -> bytes:
    """The chunk that clients get who ask for usage."""
    usage = chat_usage(answer, prompt_tokens)
    return sse({"id": "chatcmpl-fake", "model": model, "choices": [], "usage": usage})


def chat_whole(answer: Answer, model: str, answer_id: str, prompt_tokens: int) -> bytes:
    """The answer without streaming."""
    message: dict[str, object] = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = [
            {
                "id": call.id or f"call_{answer_id}_{position}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for position, call in enumerate(answer.calls)
        ]
    finish = answer.finish or ("tool_calls" if answer.calls else "stop")
    whole = {
        "id": answer_id,
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": chat_usage(answer, prompt_tokens),
    }
    return json.dumps(whole).encode()


def fragments(answer: Answer, answer_id: str) -> list[dict[str, object]]:
    """The deltas of the tool calls in the order in which they are sent."""
    lines = [list(_fragments(answer, at, answer_id)) for at in range(len(answer.calls))]
    if not answer.interleaved:
        return [fragment for line in lines for fragment in line]
    mixed: list[dict[str, object]] = []
    while any(lines):
        mixed += [line.pop(0) for line in lines if line]
    return mixed


def _fragments(answer: Answer, at: int, answer_id: str) -> Iterator[dict[str, object]]:
    call = answer.calls[at]
    call_id = call.id or ("call_same" if answer.ids == "same" else f"call_{answer_id}_{at}")
    for n, piece in enumerate(pieces(call.arguments, answer.split) or [""]):
        first = n == 0
        function = {"name": call.name, "arguments": piece} if first else {"arguments": piece}
        fragment: dict[str, object] = {"function": function}
        if answer.indexes != "none":
            fragment["index"] = at if answer.indexes == "each" else 0
        if answer.ids != "never" and (first or answer.ids == "always"):
            fragment |= {"id": call_id, "type": "function"}
        yield fragment


def pieces(words: str, split: int) -> list[str]:
    """`words` cut into pieces of `split` characters; 0 leaves them whole."""
    if not words:
        return []
    step = split or len(words)
    return [words[start : start + step] for start in range(0, len(words), step)]


def chat_usage(answer: Answer, prompt_tokens: int) -> dict[str, object]:
    """Token counts in the words of chat completions."""
    taken, cached, given = tokens(answer, prompt_tokens)
    return {
        "prompt_tokens": taken,
        "completion_tokens": given,
        "total_tokens": taken + given,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def tokens(answer: Answer, prompt_tokens: int) -> tuple[int, int, int]:
    """Input, cached and output tokens: as scripted, else by characters."""
    if answer.usage is not None:
        return answer.usage
    size = len(answer.text) + sum(len(call.arguments) + len(call.name) for call in answer.calls)
    return prompt_tokens, 0, size // 4 + 1


def response_stream(
    answer: Answer, model: str, answer_id: str, prompt_tokens: int
) -> tuple[bytes, bytes]:
    """The events of the responses API before and from the last one on."""
    body = [_event("response.created", response=_response(answer_id, model, "in_progress"))]
    body += [
        _event("response.output_text.delta", item_id="msg_1", output_index=0, delta=piece)
        for piece in pieces(answer.text, answer.split)
    ]
    output = [*_message_items(answer.text), *_call_items(answer.calls, answer_id)]
    for at, item in enumerate(output):
        if item["type"] == "function_call":
            deltas = pieces(str(item["arguments"]), answer.split)
            body += [
                _event("response.function_call_arguments.delta", output_index=at, delta=delta)
                for delta in deltas
            ]
        body.append(_event("response.output_item.done", output_index=at, item=item))
    cut = answer.finish == "length"
    status = "incomplete" if cut else "completed"
    ended = _response(answer_id, model, status) | {
        "output": output,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "usage": None if answer.silent else _response_usage(answer, prompt_tokens),
    }
    return b"".join(body), _event(f"response.{status}", response=ended)


def _event(kind: str, **fields: object) -> bytes:
    return sse({"type": kind, **fields}, kind)


def _response(answer_id: str, model: str, status: str) -> dict[str, object]:
    return {"id": answer_id, "object": "response", "model": model, "status": status, "output": []}


def _message_items(words: str) -> list[dict[str, object]]:
    part = {"type": "output_text", "text": words, "annotations": []}
    message: dict[str, object] = {"type": "message", "id": "msg_1", "role": "assistant"}
    return [message | {"content": [part]}] if words else []


def _call_items(made: Sequence[Called], answer_id: str) -> list[dict[str, object]]:
    return [
        {
            "type": "function_call",
            "id": f"fc_{answer_id}_{at}",
            "call_id": call.id or f"call_{answer_id}_{at}",
            "name": call.name,
            "arguments": call.arguments,
        }
        for at, call in enumerate(made)
    ]


def _response_usage(answer: Answer, prompt_tokens: int) -> dict[str, object]:
    taken, cached, given = tokens(answer, prompt_tokens)
    return {
        "input_tokens": taken,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": given,
        "total_tokens": taken + given,
    }
