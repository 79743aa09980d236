"""What the fake OpenAI server refuses, as the real ones do: broken histories above all. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from tests.fakes.openai_replies import Refusal, refusal

_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def complaint(body: Mapping[str, object]) -> Refusal | None:
    """The refusal that a chat request earns, None when it is sound."""
    messages = body.get("messages")
    if not body.get("model"):
        return refusal(400, "you must provide a model parameter", type="invalid_request_error")
    if not isinstance(messages, list) or not messages:
        return refusal(400, "[] is too short - 'messages'", type="invalid_request_error")
    if body.get("stream_options") and not body.get("stream"):
        return refusal(400, "The 'stream_options' parameter is only allowed when 'stream' is on")
    return _tools(body.get("tools")) or _history(messages)


def _tools(tools: object) -> Refusal | None:
    for tool in tools if isinstance(tools, list) else []:
        function = tool.get("function", {})
        if tool.get("type") != "function" or not _TOOL_NAME.fullmatch(function.get("name", "")):
            return refusal(400, "Invalid 'tools[0].function.name'", type="invalid_request_error")
        if function.get("parameters", {}).get("type") != "object":
            return refusal(400, "Invalid schema for function: schema must be of type 'object'")
    return None


def _history(messages: Sequence[Mapping[str, object]]) -> Refusal | None:
    open_calls: list[str] = []
    for message in messages:
        role = message.get("role")
        if role == "tool":
            call_id = str(message.get("tool_call_id"))
            if call_id not in open_calls:
                return refusal(
                    400,
                    "messages with role 'tool' must be a response to a preceeding message with "
                    "'tool_calls'.",
                )
            open_calls.remove(call_id)
            continue
        if open_calls:
            return _unanswered(open_calls)
        if role not in {"system", "developer", "user", "assistant"}:
            return refusal(400, f"Invalid value: '{role}'. Supported values are: 'system', …")
        asked = message.get("tool_calls")
        for call in asked if isinstance(asked, list) else []:
            open_calls.append(str(call.get("id")))
            if not _is_object(call.get("function", {}).get("arguments")):
                # llama.cpp's server: the template parses the arguments and dies.
                return refusal(500, "Failed to parse tool call arguments as JSON", code=500)
        if len(set(open_calls)) < len(open_calls):
            return refusal(400, "Duplicate value for 'tool_call_id'")
        if message.get("content") is None and not asked:
            return refusal(400, "Invalid value for 'content': expected a string, got null.")
    return _unanswered(open_calls) if open_calls else None


def _unanswered(open_calls: Sequence[str]) -> Refusal:
    return refusal(
        400,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        f"each 'tool_call_id'. The following tool_call_ids did not have response messages: "
        f"{', '.join(open_calls)}",
        type="invalid_request_error",
        param="messages",
    )


def _is_object(arguments: object) -> bool:
    try:
        return isinstance(json.loads(str(arguments)), dict)
    except ValueError:
        return False
