"""Reading calls out of text, and the rewriting of requests, replies and streams around it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.local_model.calls import NEXT_CALL, WrittenCall, may_become_call, read_call
from adapters.local_model.decode import CallStream, native_request, wants_calls, with_call

LS = '{"name": "run", "arguments": {"command": "ls"}}'
WRITE = '{"name": "write_file", "arguments": {"path": "a.txt", "content": "1"}}'
ONE = WrittenCall("run", '{"command": "ls"}')


@pytest.mark.parametrize(
    ("text", "call"),
    [
        (LS, ONE),
        (f"\n  {LS}\n", ONE),
        (f"```json\n{LS}\n```", ONE),
        (f"```\n{LS}\n```", ONE),
        (f"{LS}\n{WRITE}", ONE),
        (f"{LS},\n{WRITE}", ONE),
        (f"```json\n{LS}\n```\n```json\n{WRITE}\n```", ONE),
        (f"{LS}\n\nI have listed the files.", ONE),
        (
            '{"name": "run", "arguments": {"command": "a\nb"}}',
            WrittenCall("run", '{"command": "a\\nb"}'),
        ),
    ],
)
def test_a_reply_that_starts_with_call_is_calls(text: str, call: WrittenCall) -> None:
    assert read_call(text, cut=False) == call


@pytest.mark.parametrize("forgotten", [1, 2, 3])
def test_the_last_brackets_of_a_call_may_be_missing(forgotten: int) -> None:
    arguments = '{"criteria": ["a } in a text", "\\"["]}'
    text = f'{{"name": "check", "arguments": {arguments}}}'[:-forgotten]
    call = read_call(text, cut=False)
    assert call is not None
    assert json.loads(call.arguments) == {"criteria": ["a } in a text", '"[']}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "All done.",
        f"The file says: {LS}",
        f"I will run it.\n```json\n{LS}\n```",
        '{"status": "ok"}',
        '{"name": "run"}',
        '{"name": "", "arguments": {}}',
        '{"name": "run", "arguments": "ls"}',
        '{"name": "run", "arguments": {}, "done": true}',
        '{"name": "run", "arguments": {"command": "l',
        "[1, 2]",
        "```python\nprint(1)\n```",
    ],
)
def test_anything_else_is_an_answer(text: str) -> None:
    assert read_call(text, cut=False) is None


def test_a_call_cut_by_the_output_limit_comes_with_what_is_there() -> None:
    cut = '{"name": "write_file", "arguments": {"path": "a.txt", "con'
    assert read_call(cut, cut=True) == WrittenCall("write_file", '{"path": "a.txt", "con')
    assert read_call(cut, cut=False) is None


@given(st.text(max_size=80))
def test_no_text_breaks_the_reader(text: str) -> None:
    for cut in (False, True):
        if read_call(text, cut=cut):
            assert may_become_call(text)


def test_a_schema_goes_to_the_native_server_as_a_grammar() -> None:
    body = {
        "messages": [],
        "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "null"}}},
    }
    assert native_request(body, lambda schema: f"grammar of {schema}") == {
        "messages": [],
        "grammar": 'grammar of {"type": "null"}',
    }
    assert native_request({"response_format": {"type": "text"}}, str) == {}
    loose = native_request({"response_format": {"type": "json_object"}}, str)
    assert loose == {"grammar": '{"type": "object"}'}


@pytest.mark.parametrize("odd", [{"type": "xml"}, {"type": "json_schema"}, "json"])
def test_an_odd_response_format_is_an_error(odd: object) -> None:
    with pytest.raises(ValueError, match="response_format"):
        native_request({"response_format": odd}, str)


@pytest.mark.parametrize(
    ("given_stop", "stops"), [(None, []), ("a", ["a"]), (["a", "b"], ["a", "b"])]
)
def test_a_reply_stops_where_a_second_call_begins(given_stop: object, stops: list[str]) -> None:
    native = native_request({"tools": [{}], "stop": given_stop}, str)
    assert native["stop"] == [*stops, NEXT_CALL]
    assert "stop" not in native_request({"tools": []}, str)


def test_an_odd_stop_is_an_error() -> None:
    with pytest.raises(ValueError, match="stop"):
        native_request({"tools": [{}], "stop": 3}, str)


def test_calls_are_looked_for_only_where_functions_are_offered() -> None:
    assert wants_calls({"tools": [{}]})
    assert not wants_calls({"tools": [{}], "tool_choice": "none"})
    assert not wants_calls({"tools": []})


def reply(text: str, finish: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {"id": "r", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def test_a_whole_reply_that_is_a_call_becomes_a_tool_call() -> None:
    choice = with_call(reply(f"{LS}\n{WRITE}", "stop"))["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    (call,) = choice["message"]["tool_calls"]
    assert call["function"]["name"] == "run"


def test_a_whole_answer_stays_as_it_is() -> None:
    answer = reply("All done.", "stop")
    assert with_call(answer) == answer


def stream(pieces: list[str], finish: str) -> list[dict[str, Any]]:
    """What a client gets when the native server streams these pieces."""
    deltas: list[tuple[dict[str, str], str | None]] = [({"role": "assistant"}, None)]
    deltas += [({"content": piece}, None) for piece in pieces]
    deltas.append(({}, finish))
    rewriter = CallStream()
    out: list[dict[str, Any]] = []
    for delta, end in deltas:
        choice = {"index": 0, "delta": delta, "finish_reason": end}
        out += rewriter.feed({"id": "r", "choices": [choice]})
    out += rewriter.feed({"id": "r", "choices": [], "usage": {"completion_tokens": 3}})
    return out


def text_of(chunks: list[dict[str, Any]]) -> str:
    return "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks if c["choices"])


def test_a_streamed_answer_passes_piece_by_piece() -> None:
    chunks = stream(["All", " done", "."], "stop")
    assert [text_of([chunk]) for chunk in chunks[1:4]] == ["All", " done", "."]
    assert chunks[4]["choices"][0]["finish_reason"] == "stop"
    assert chunks[5]["usage"] == {"completion_tokens": 3}


def test_a_streamed_call_is_never_shown_as_text() -> None:
    chunks = stream([LS[:9], LS[9:20], LS[20:]], "stop")
    assert text_of(chunks) == ""
    choices = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
    assert choices[-2]["delta"]["tool_calls"][0]["function"]["name"] == "run"
    assert choices[-2]["delta"]["tool_calls"][0]["index"] == 0
    assert choices[-1]["finish_reason"] == "tool_calls"


def test_a_cut_streamed_call_keeps_the_reason_of_its_end() -> None:
    chunks = stream([LS[:30]], "length")
    choices = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
    assert choices[-2]["delta"]["tool_calls"][0]["function"]["name"] == "run"
    assert choices[-1]["finish_reason"] == "length"


@given(st.lists(st.sampled_from(["{", "`", "```", '"name"', "x", " ", "\n", LS]), max_size=8))
def test_a_stream_loses_no_answer(pieces: list[str]) -> None:
    text = "".join(pieces)
    expected = "" if read_call(text, cut=False) else text
    assert text_of(stream(pieces, "stop")) == expected


@given(st.text(max_size=30))
def test_arguments_are_always_json(content: str) -> None:
    text = json.dumps({"name": "write_file", "arguments": {"content": content}})
    call = read_call(text, cut=False)
    assert call is not None
    assert json.loads(call.arguments) == {"content": content}
