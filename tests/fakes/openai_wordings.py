"""How servers say that a conversation is longer than the window: status and error object."""

from __future__ import annotations

OVERFLOWS: dict[str, tuple[int, dict[str, object]]] = {
    "openai": (
        400,
        {
            "message": "This model's maximum context length is 8192 tokens. However, your messages"
            " resulted in 9001 tokens. Please reduce the length of the messages.",
            "type": "invalid_request_error",
            "param": "messages",
            "code": "context_length_exceeded",
        },
    ),
    "responses": (
        400,
        {
            "message": "Your input exceeds the context window of this model. Please adjust your"
            " input and try again.",
            "type": "invalid_request_error",
            "code": None,
        },
    ),
    "llama.cpp": (
        400,
        {
            "code": 400,
            "message": "request (9001 tokens) exceeds the available context size (8192 tokens),"
            " try increasing it",
            "type": "exceed_context_size_error",
        },
    ),
    "vllm": (
        400,
        {
            "message": "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's"
            " maximum context length is 8192 tokens and your request has 7000 input tokens",
            "type": "BadRequestError",
            "code": 400,
        },
    ),
    "anthropic": (
        400,
        {
            "message": "prompt is too long: 209001 tokens > 200000 maximum",
            "type": "invalid_request_error",
        },
    ),
    "anthropic-limit": (
        400,
        {
            "message": "input length and `max_tokens` exceed context limit: 199000 + 4096 >"
            " 200000, decrease input length or `max_tokens` and try again",
            "type": "invalid_request_error",
        },
    ),
    "openrouter": (
        400,
        {
            "message": "This endpoint's maximum context length is 131072 tokens. However, you"
            " requested about 140000 tokens (139000 of text input, 1000 in the output).",
            "code": 400,
            "metadata": {"provider_name": None},
        },
    ),
    "openrouter-raw": (
        400,
        {
            "message": "Provider returned error",
            "code": 400,
            "metadata": {"raw": '{"error":{"message":"prompt is too long: 2 > 1 maximum"}}'},
        },
    ),
    "gemini": (
        400,
        {
            "message": "The input token count (1200000) exceeds the maximum number of tokens"
            " allowed (1048576).",
            "code": 400,
            "status": "INVALID_ARGUMENT",
        },
    ),
    "too-large": (413, {"message": "Request too large", "type": "request_too_large"}),
}
