"""The events of the responses API put together."""

from __future__ import annotations

import pytest

from adapters.openai.accumulate import Counted, Heard, StreamError
from adapters.openai.responses import ResponseStream
from core.transcript import ToolCall


def test_responses_events_give_text_calls_and_usage() -> None:
    stream = ResponseStream("7", ("run",))
    call = {"type": "function_call", "id": "fc", "call_id": "a", "name": "run", "arguments": "{}"}
    usage = {
        "input_tokens": 9,
        "output_tokens": 2,
        "input_tokens_details": {"cached_tokens": 4},
    }
    events = [
        {"type": "response.created", "response": {}},
        {"type": "response.output_text.delta", "delta": "Let me "},
        {"type": "response.output_text.delta", "delta": "look"},
        {"type": "response.reasoning_summary_text.delta", "delta": "hm"},
        {"type": "response.output_item.done", "item": call},
        {"type": "response.completed", "response": {"usage": usage}},
    ]
    assert "".join(stream.feed(event) for event in events) == "Let me look"
    expected = (ToolCall("a", "run", "{}"),)
    assert stream.end() == Heard("Let me look", expected, "stop", Counted(9, 4, 2), 16)


@pytest.mark.parametrize(
    ("why", "finish"), [("max_output_tokens", "length"), ("content_filter", "content_filter")]
)
def test_an_incomplete_response_says_why(why: str, finish: str) -> None:
    stream = ResponseStream("7", ())
    response = {"incomplete_details": {"reason": why}, "usage": None}
    stream.feed({"type": "response.incomplete", "response": response})
    assert stream.end().finish == finish


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "code": "server_error", "message": "overloaded"},
        {"type": "response.failed", "response": {"error": {"message": "overloaded"}}},
        {"object": "response", "status": "failed", "error": {"message": "overloaded"}},
    ],
)
def test_a_failed_response_is_raised(event: dict[str, object]) -> None:
    with pytest.raises(StreamError, match="overloaded"):
        ResponseStream("7", ()).feed(event)


def test_a_response_that_comes_whole_is_taken() -> None:
    stream = ResponseStream("7", ("run",))
    output = [
        {"type": "message", "content": [{"type": "output_text", "text": "Hello"}]},
        {"type": "function_call", "call_id": "a", "name": "run", "arguments": "{}"},
    ]
    assert stream.feed({"object": "response", "status": "completed", "output": output}) == "Hello"
    assert (stream.end().text, stream.end().finish) == ("Hello", "stop")
    assert stream.end().calls == (ToolCall("a", "run", "{}"),)
